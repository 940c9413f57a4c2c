package redisstream

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"postrider/subscriptions"
)

// Version bytes. A reader refuses every other one by name.
const (
	formatVersion  = "1"    // of the whole store, of meta, of a subscription's state and of a record
	headVersion    = "1"    // of an entry's h
	messageVersion = '\x01' // of an entry's d
)

// head is an entry's h without the running byte sum, which only the script knows: version, 64-bit hash of the ordering key
// (zeros without one), size. Lua reads it by position.
func head(m subscriptions.Message) string {
	return fmt.Sprintf("%s%016x%08x", headVersion, m.KeyHash(), m.Size())
}

// encodeMessage writes an entry's d: version, ordering key, number of attributes, each one's key and value, data. Every
// text is preceded by its length as a varint. The id and with it the publish time are those of the entry.
func encodeMessage(m subscriptions.Message) []byte {
	b := make([]byte, 0, m.Size()+16+4*len(m.Attributes))
	b = append(b, messageVersion)
	b = appendText(b, m.OrderingKey)
	b = binary.AppendUvarint(b, uint64(len(m.Attributes)))
	for _, k := range slices.Sorted(maps.Keys(m.Attributes)) {
		b = appendText(b, k)
		b = appendText(b, m.Attributes[k])
	}
	b = binary.AppendUvarint(b, uint64(len(m.Data)))
	return append(b, m.Data...)
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
