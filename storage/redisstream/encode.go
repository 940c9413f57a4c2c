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
	messageVersion = '\x01' // of an entry's d
)

// frozenVersion stands in place of formatVersion while a topic's slot is being moved. Every step compares the version first,
// so none of them changes what is copied, nor do those of an older Postrider.
const frozenVersion = formatVersion + " frozen"

// head is an entry's h without the running byte sum, which only the script knows: version, 64-bit hash of the ordering key
// (zeros without one), size. Lua reads it by position.
func head(m subscriptions.Message) string {
	return string(appendHead(make([]byte, 0, headBytes), m))
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
// text is preceded by its length as a varint. The id and with it the publish time are those of the entry.
func encodeMessage(m subscriptions.Message) []byte {
	b := make([]byte, 0, encodedBytes(m))
	return append(appendPrelude(b, m), m.Data...)
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
		b = appendPrelude(appendHead(b[:0], m), m)
		ends = append(ends, all.Len()+headBytes, all.Len()+len(b)+len(m.Data))
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

// decodeMessage reads what encodeMessage wrote.
func decodeMessage(id subscriptions.MessageID, d string) (subscriptions.Message, error) {
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
