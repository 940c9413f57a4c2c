package redisstream

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"postrider/subscriptions"
)

// Version bytes. A reader refuses every other one by name.
const (
	formatVersion  = "1"    // of the whole store, of meta, of a subscription's state and of a record
	headVersion    = "1"    // of an entry's h
	ttlVersion     = "2"    // of an entry's h, with a time to live
	messageVersion = '\x01' // of an entry's d
	ownIDVersion   = '\x02' // of an entry's d, with an id of its own
)

// frozenVersion stands in place of formatVersion while a topic's slot is being moved. Every step compares the version first,
// so none of them changes what is copied, nor do those of an older Postrider.
const frozenVersion = formatVersion + " frozen"

// head is an entry's h without the running byte sum, which only the script knows: version, 64-bit hash of the ordering key
// (zeros without one), size. Lua reads it by position.
func head(m subscriptions.Message) string {
	return string(appendHead(make([]byte, 0, headBytes), m))
}

// timesMark begins what publish.lua gets in place of a head when a message has times.
const timesMark = 'T'

// appendGivenHead writes the head of a message that is published, or, if it has times, what the script makes a head of: see
// timed.lua.
func appendGivenHead(b []byte, m subscriptions.Message) []byte {
	at := len(b)
	b = appendHead(b, m)
	if m.Timing == (subscriptions.Timing{}) {
		return b
	}
	b[at] = timesMark
	t := m.Timing
	if t.TTL > 0 {
		b = strconv.AppendInt(b, wholeMillis(t.TTL), 10)
	}
	b = append(b, ':')
	if t.DeliverAt.IsZero() && t.Delay > 0 {
		b = strconv.AppendInt(b, wholeMillis(t.Delay), 10)
	}
	b = append(b, ':')
	if !t.DeliverAt.IsZero() {
		b = strconv.AppendInt(b, max(0, ceilMilli(t.DeliverAt)), 10)
	}
	return b
}

// headBytes is the length of a head.
const headBytes = len(headVersion) + 16 + 8

func appendHead(b []byte, m subscriptions.Message) []byte {
	b = append(b, headVersion...)
	return appendPadded(appendPadded(b, m.KeyHash(), 16, 16), uint64(m.Size()), 16, 8)
}

// appendPadded writes n in a base with so many digits, or more if it has more. Publishes and acknowledgements need it for
// each message, and fmt would cost several times what the rest of their encoding does.
func appendPadded(b []byte, n uint64, base, digits int) []byte {
	start := len(b)
	b = strconv.AppendUint(b, n, base)
	missing := digits - (len(b) - start)
	if missing <= 0 {
		return b
	}
	b = append(b, zeros[:missing]...)
	copy(b[start+missing:], b[start:])
	copy(b[start:], zeros[:missing])
	return b
}

const zeros = "0000000000000000"

// encodeMessage writes an entry's d: version, ordering key, number of attributes, each one's key and value, data. Every
// text is preceded by its length as a varint. The id and with it the publish time are those of the entry. Before a message
// that was delayed scripts put another version, and the message's own id as such a text (delayed.lua).
func encodeMessage(m subscriptions.Message) []byte {
	b := make([]byte, 0, encodedBytes(m))
	return append(appendPrelude(b, m), m.Data...)
}

// encodeLetter is encodeMessage for a redriven message, with its own id before it if that is another one than its place's.
func encodeLetter(l subscriptions.RedriveLetter) []byte {
	if l.PlaceID() == l.Message.ID {
		return encodeMessage(l.Message)
	}
	return append(appendText([]byte{ownIDVersion}, l.Message.ID.String()), encodeMessage(l.Message)...)
}

// encodedBytes is at least the length of an entry's d.
func encodedBytes(m subscriptions.Message) int {
	return m.Size() + 16 + 4*len(m.Attributes)
}

// appendPrelude writes what stands before the data.
func appendPrelude(b []byte, m subscriptions.Message) []byte {
	b = append(b, messageVersion)
	b = appendText(b, m.OrderingKey)
	b = binary.AppendUvarint(b, uint64(len(m.Attributes)))
	if len(m.Attributes) > 0 {
		for _, k := range slices.Sorted(maps.Keys(m.Attributes)) {
			b = appendText(b, k)
			b = appendText(b, m.Attributes[k])
		}
	}
	return binary.AppendUvarint(b, uint64(len(m.Data)))
}

// entries are messages as the publish script takes them: h and d of each in turn. All lie in one string, and the arguments
// point to its parts, so that a message takes no memory of its own.
func entries(msgs []subscriptions.Message) []any {
	room := 0
	for _, m := range msgs {
		room += headBytes + encodedBytes(m)
	}
	var all strings.Builder
	all.Grow(room)
	ends := make([]int, 0, 2*len(msgs))
	var b []byte
	for _, m := range msgs {
		b = appendGivenHead(b[:0], m)
		head := len(b)
		b = appendPrelude(b, m)
		ends = append(ends, all.Len()+head, all.Len()+len(b)+len(m.Data))
		all.Write(b)
		all.Write(m.Data)
	}
	parts, args, start := make([]string, len(ends)), make([]any, len(ends)), 0
	for i, end := range ends {
		parts[i], args[i] = all.String()[start:end], &parts[i]
		start = end
	}
	return args
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// ownID takes a message's own id off an entry's d, if it has one.
func ownID(id subscriptions.MessageID, d string) (own subscriptions.MessageID, rest string, err error) {
	if d == "" || d[0] != ownIDVersion {
		return id, d, nil
	}
	r := reader{rest: d[1:]}
	own, err = subscriptions.ParseMessageID(r.text())
	if err != nil {
		return id, "", fmt.Errorf("redisstream: message %s is damaged: %w", id, err)
	}
	return own, r.rest, nil
}

// decodeMessage reads what encodeMessage wrote, and the message's own id before it. id is the entry's.
func decodeMessage(id subscriptions.MessageID, d string) (subscriptions.Message, error) {
	id, d, err := ownID(id, d)
	if err != nil {
		return subscriptions.Message{}, err
	}
	if d == "" || d[0] != messageVersion {
		return subscriptions.Message{}, fmt.Errorf("redisstream: message %s has an unknown version", id)
	}
	r := reader{rest: d[1:]}
	m := subscriptions.Message{ID: id, OrderingKey: r.text()}
	if n := r.length(); n > 0 {
		m.Attributes = make(map[string]string, min(n, 100))
		for range n {
			k := r.text()
			m.Attributes[k] = r.text()
			if r.broken {
				break
			}
		}
	}
	if data := r.text(); data != "" {
		m.Data = []byte(data)
	}
	if r.broken || r.rest != "" {
		return subscriptions.Message{}, fmt.Errorf("redisstream: message %s is damaged", id)
	}
	return m, nil
}

// decodeAttributes reads the attributes of what encodeMessage wrote into m, in place of what it holds. It tells whether they can
// be read.
func decodeAttributes(d string, m map[string]string) bool {
	clear(m)
	if _, rest, err := ownID(subscriptions.MessageID{}, d); err == nil {
		d = rest
	}
	if d == "" || d[0] != messageVersion {
		return false
	}
	r := reader{rest: d[1:]}
	r.text() // the ordering key
	for range r.length() {
		k := r.text()
		m[k] = r.text()
		if r.broken {
			break
		}
	}
	return !r.broken
}

// reader takes texts off a stored message. After the first mistake everything reads as empty.
type reader struct {
	rest   string
	broken bool
}

// length reads a varint that cannot be more than what is left.
func (r *reader) length() int {
	// A varint has at most ten bytes.
	n, size := binary.Uvarint([]byte(r.rest[:min(len(r.rest), binary.MaxVarintLen64)]))
	if size <= 0 || n > uint64(len(r.rest)-size) {
		r.rest, r.broken = "", true
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

func (r *reader) text() string {
	n := r.length()
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}
