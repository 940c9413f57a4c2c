package pusher

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"postrider/subscriptions"
)

// payload is what a push brings: its body, and what it has in place of the
// header of an envelope, which is nil for one.
type payload struct {
	body   []byte
	header http.Header
}

// payloadOf writes a message as its subscription wants it.
func payloadOf(sub *subscriptions.Subscription, d *subscriptions.Delivery) payload {
	if sub.Push == nil || sub.Push.Wrapper != subscriptions.NoWrapper {
		return payload{body: envelope(sub, d)}
	}
	p := payload{body: d.Message.Data, header: http.Header{}}
	if sub.Push.WriteMetadata {
		p.header = metadata(sub, d)
	}
	return p
}

// envelopeBase is more than the names, ids and times of an envelope take.
const envelopeBase = 320

// envelope is the body of a wrapped push. It is written by hand because each
// message passes here once an attempt and there is only this one shape.
func envelope(sub *subscriptions.Subscription, d *subscriptions.Delivery) []byte {
	m := &d.Message
	b := make([]byte, 0, envelopeSize(sub, m))
	b = append(b, `{"message":{`...)
	if len(m.Data) > 0 {
		b = append(b, `"data":"`...)
		b = base64.StdEncoding.AppendEncode(b, m.Data)
		b = append(b, `",`...)
	}
	b = appendAttributes(b, m.Attributes)
	b = appendTwice(b, `"messageId":"`, `","message_id":"`, func(b []byte) []byte {
		b, _ = m.ID.AppendText(b) // never fails
		return b
	})
	b = appendTwice(b, `","publishTime":"`, `","publish_time":"`, func(b []byte) []byte {
		return appendTime(b, m.PublishTime())
	})
	b = append(b, '"')
	if m.OrderingKey != "" {
		b = append(b, `,"orderingKey":`...)
		b = appendString(b, m.OrderingKey)
	}
	b = append(b, `},"subscription":"`...)
	b = append(b, sub.Name.String()...) // names hold nothing to be escaped
	b = append(b, '"')
	if sub.DeadLetter != nil {
		b = append(b, `,"deliveryAttempt":`...)
		b = strconv.AppendInt(b, int64(d.Attempt), 10)
	}
	return append(b, '}')
}

// envelopeSize is what an envelope takes unless many characters need escapes.
func envelopeSize(sub *subscriptions.Subscription, m *subscriptions.Message) int {
	n := envelopeBase + base64.StdEncoding.EncodedLen(len(m.Data)) + len(m.OrderingKey) +
		len(sub.Name.Project) + len(sub.Name.ID)
	for k, v := range m.Attributes {
		n += len(k) + len(v) + len(`"":"",`)
	}
	return n
}

// appendAttributes writes them in order, so that a message always looks the same.
func appendAttributes(b []byte, attributes map[string]string) []byte {
	if len(attributes) == 0 {
		return b
	}
	b = append(b, `"attributes":{`...)
	var few [8]string // usually enough, and then on the stack
	keys := slices.AppendSeq(few[:0], maps.Keys(attributes))
	slices.Sort(keys)
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, k)
		b = append(b, ':')
		b = appendString(b, attributes[k])
	}
	return append(b, `},`...)
}

// appendTwice writes a value under its two names.
func appendTwice(b []byte, name, again string, value func([]byte) []byte) []byte {
	b = append(b, name...)
	start := len(b)
	b = value(b)
	end := len(b)
	b = append(b, again...)
	return append(b, b[start:end]...)
}

// appendTime writes a time as protobuf's JSON does: with no fraction, or three
// digits of it; there is nothing finer than a millisecond.
func appendTime(b []byte, t time.Time) []byte {
	ms := t.Nanosecond() / 1_000_000
	b = t.Truncate(time.Second).UTC().AppendFormat(b, time.RFC3339) // which package time has a short way for
	if ms == 0 {
		return b
	}
	return append(b[:len(b)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}

// appendString writes a JSON string. What is no UTF-8 is replaced; publishes
// were checked for it, so that an error would have nothing to say.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
