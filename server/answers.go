package server

import (
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"postrider/server/wire"
	"postrider/subscriptions"
)

// The two answers that grow with the number of messages are written by hand, from the domain's values: the generated ones
// would be made of these first, and then be looked through by reflection. TestAnswersAreThoseOfTheCodec holds both to the
// same text.

// publishAnswer are the ids of what was published.
type publishAnswer []subscriptions.MessageID

// VisitPublishResponse writes the answer.
func (a publishAnswer) VisitPublishResponse(w http.ResponseWriter) error {
	return wire.WriteBody(w, http.StatusOK, a.append)
}

func (a publishAnswer) append(b []byte) ([]byte, error) {
	b = append(b, `{"messageIds":[`...)
	for i, id := range a {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = id.AppendText(append(b, '"')) // never fails
		b = append(b, '"')
	}
	return append(b, `]}`...), nil
}

// pullAnswer is an answer whose messages go back when it cannot be written: its reader has gone and got no whole answer.
type pullAnswer struct {
	received  []subscriptions.Received
	unwritten func() error
}

// VisitPullResponse writes the answer.
func (a pullAnswer) VisitPullResponse(w http.ResponseWriter) error {
	err := wire.WriteBody(w, http.StatusOK, a.append)
	if err == nil {
		// A short answer lies in a buffer until it is flushed.
		err = http.NewResponseController(w).Flush()
	}
	if err == nil || errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return errors.Join(err, a.unwritten())
}

func (a pullAnswer) append(b []byte) ([]byte, error) {
	b = append(b, `{"receivedMessages":[`...)
	for i, r := range a.received {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, `{"ackId":"`...), r.AckID...) // base64
		b = append(b, `",`...)
		if r.Attempt != 0 {
			b = append(b, `"deliveryAttempt":`...)
			b = append(strconv.AppendInt(b, int64(r.Attempt), 10), ',')
		}
		var err error
		if b, err = appendPulled(append(b, `"message":`...), r.Message); err != nil {
			return b, err
		}
		b = append(b, '}')
	}
	return append(b, `]}`...), nil
}

// appendPulled writes a message as pullers get it.
func appendPulled(b []byte, m subscriptions.Message) ([]byte, error) {
	b = append(b, '{')
	var err error
	if len(m.Attributes) > 0 {
		if b, err = appendAttributes(append(b, `"attributes":`...), m.Attributes); err != nil {
			return b, err
		}
		b = append(b, ',')
	}
	if len(m.Data) > 0 {
		b = base64.StdEncoding.AppendEncode(append(b, `"data":"`...), m.Data)
		b = append(b, `",`...)
	}
	b, _ = m.ID.AppendText(append(b, `"messageId":"`...)) // never fails
	b = append(b, '"')
	if m.OrderingKey != "" {
		if b, err = jsontext.AppendQuote(append(b, `,"orderingKey":`...), m.OrderingKey); err != nil {
			return b, err
		}
	}
	b, err = wire.Timestamp{Time: m.PublishTime()}.AppendText(append(b, `,"publishTime":"`...))
	return append(b, `"}`...), err
}

// appendAttributes sorts the keys, so that equal messages give equal answers.
func appendAttributes(b []byte, attributes map[string]string) ([]byte, error) {
	var few [16]string // on the stack
	keys := slices.AppendSeq(few[:0], maps.Keys(attributes))
	slices.Sort(keys)
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = jsontext.AppendQuote(b, key); err != nil {
			return b, err
		}
		if b, err = jsontext.AppendQuote(append(b, ':'), attributes[key]); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}
