package server

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"

	"postrider/server/api"
)

// Most bodies are publishes, and decoding was the largest part of what one costs this package, so the usual ones are read by
// hand. Only what is certainly right is taken. Anything else, such as an escape, null, a field that comes twice, or a mistake,
// is left to the codec of package wire: there is one place that knows all rules and says what is wrong. FuzzPublishBody
// holds the two to the same result.

// readPublish reads a usual publish request. It returns false, with v unchanged, for all that it does not know.
func readPublish(data []byte, v any) bool {
	request, ok := v.(*api.PublishRequest)
	if !ok {
		return false
	}
	s := scanner{rest: data}
	messages, ok := s.publish()
	if ok {
		request.Messages = messages
	}
	return ok
}

// scanner takes JSON apart from the front. Its methods return false where the text is not what they are for.
type scanner struct {
	rest []byte
	slab []byte // room for the data of further messages
}

// space skips white space.
func (s *scanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\n' || s.rest[0] == '\t' || s.rest[0] == '\r') {
		s.rest = s.rest[1:]
	}
}

// take skips white space and then c, if it is there.
func (s *scanner) take(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// raw takes what stands between quotes, which must hold no escapes; it may hold what no string may.
func (s *scanner) raw() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	end := bytes.IndexByte(s.rest, '"')
	if end < 0 {
		return nil, false
	}
	text := s.rest[:end]
	s.rest = s.rest[end+1:]
	return text, true
}

// text takes a string.
func (s *scanner) text() (string, bool) {
	raw, ok := s.raw()
	if !ok {
		return "", false
	}
	for _, c := range raw {
		if c < ' ' || c == '\\' {
			return "", false
		}
	}
	return string(raw), utf8.Valid(raw)
}

// list takes what stands between open and shut, separated by commas; item takes one part.
func (s *scanner) list(open, shut byte, item func() bool) bool {
	if !s.take(open) {
		return false
	}
	if s.take(shut) {
		return true
	}
	for item() {
		if s.take(shut) {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
	return false
}

// publish takes a whole body.
func (s *scanner) publish() (messages []api.PubsubMessage, ok bool) {
	once := false
	ok = s.list('{', '}', func() bool {
		name, ok := s.raw()
		if !ok || once || string(name) != "messages" || !s.take(':') {
			return false
		}
		once = true
		messages, ok = s.messages()
		return ok
	})
	s.space()
	return messages, ok && len(s.rest) == 0
}

// fewMessages is for how many there is room at once, if there may be so many: a client that lies about it gets no more.
const fewMessages = 1000

func (s *scanner) messages() (all []api.PubsubMessage, ok bool) {
	ok = s.list('[', ']', func() bool {
		if all == nil {
			all = make([]api.PubsubMessage, 0, min(bytes.Count(s.rest, []byte{'{'}), fewMessages))
		}
		all = append(all, api.PubsubMessage{})
		return s.message(&all[len(all)-1])
	})
	return all, ok
}

func (s *scanner) message(m *api.PubsubMessage) bool {
	key := false
	return s.list('{', '}', func() bool {
		name, ok := s.raw()
		if !ok || !s.take(':') {
			return false
		}
		switch string(name) {
		case "data":
			if m.Data != nil {
				return false
			}
			m.Data, ok = s.data()
		case "attributes":
			if m.Attributes != nil {
				return false
			}
			m.Attributes, ok = s.attributes()
		case "orderingKey":
			if key {
				return false
			}
			key = true
			m.OrderingKey, ok = s.text()
		default:
			return false
		}
		return ok
	})
}

func (s *scanner) attributes() (map[string]string, bool) {
	all := map[string]string{}
	ok := s.list('{', '}', func() bool {
		key, ok := s.text()
		if _, again := all[key]; !ok || again || !s.take(':') {
			return false
		}
		all[key], ok = s.text()
		return ok
	})
	return all, ok
}

// data takes a payload in standard base64, padded or not.
func (s *scanner) data() ([]byte, bool) {
	text, ok := s.raw()
	if !ok {
		return nil, false
	}
	if len(text)%4 == 0 {
		text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte{'='}), []byte{'='})
	}
	if len(text)%4 == 1 { // no base64 is so long
		return nil, false
	}
	decoded := s.room(base64.RawStdEncoding.DecodedLen(len(text)))
	n, err := base64.RawStdEncoding.Decode(decoded, text)
	// The decoder skips line ends, which no string may hold: then it decodes to less than for this length.
	return decoded, err == nil && n == len(decoded)
}

// slabSize is how many bytes of payloads are allocated at once. It is not more, because who keeps one message keeps all that
// were allocated with it.
const slabSize = 16 << 10

// room is n bytes for a payload.
func (s *scanner) room(n int) []byte {
	if n > len(s.slab) || s.slab == nil {
		left := base64.RawStdEncoding.DecodedLen(len(s.rest))
		s.slab = make([]byte, n+min(left, max(slabSize-n, 0)))
	}
	room := s.slab[:n:n]
	s.slab = s.slab[n:]
	return room
}
