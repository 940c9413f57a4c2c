package subscriptions

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"
)

// Message is what a publisher sent. Data and Attributes are not copied: who
// passes a Message on must not change them.
type Message struct {
	// ID is set by the store.
	ID          MessageID
	Data        []byte
	Attributes  map[string]string
	OrderingKey string
	// Timing is for stores, at publish. What they return has none.
	Timing Timing
}

// PublishTime is when the store took the message, in its clock's milliseconds.
func (m Message) PublishTime() time.Time { return m.ID.Time() }

// Size is what a message counts for in limits and sums: the bytes of data,
// ordering key, attribute keys and values.
func (m Message) Size() int {
	n := len(m.Data) + len(m.OrderingKey)
	for k, v := range m.Attributes {
		n += len(k) + len(v)
	}
	return n
}

// KeyHash is the hash by which stores order: 64-bit FNV-1a of the ordering key,
// and 0 without one. Keys that collide are ordered among each other, which does
// no harm.
func (m Message) KeyHash() uint64 {
	if m.OrderingKey == "" {
		return 0
	}
	h := uint64(14695981039346656037)
	for i := range len(m.OrderingKey) {
		h = (h ^ uint64(m.OrderingKey[i])) * 1099511628211
	}
	return h
}

// MessageID is the id of a log entry. Milli is the store's time at publish,
// never lower than that of an earlier entry. Seq is the topic's running count
// of messages followed by four random decimal digits of the batch; so ids rise
// with every message and never repeat, even after a failover to a replica that
// lags behind.
type MessageID struct {
	Milli int64
	Seq   int64
}

// seqDigits is 10 to the number of random digits in Seq.
const seqDigits = 10_000

// NewMessageID joins the parts of an id. salt is the batch's random part, 0 to
// 9,999.
func NewMessageID(milli, n, salt int64) MessageID {
	return MessageID{Milli: milli, Seq: n*seqDigits + salt}
}

// delayedIDs is what the running counts of delayed messages begin above: a
// delayed message gets its id when it is published, but its place in the log,
// with the log's own id, when it is due. So the two kinds of ids never meet, as
// long as a topic has fewer messages than that.
const delayedIDs = 500_000_000_000

// NewDelayedID is NewMessageID for the n-th delayed message of a topic.
func NewDelayedID(milli, n, salt int64) MessageID { return NewMessageID(milli, delayedIDs+n, salt) }

// N is the topic's running count at this message; the first one has 1.
func (id MessageID) N() int64 { return id.Seq / seqDigits }

// Salt is the random part, 0 to 9,999.
func (id MessageID) Salt() int64 { return id.Seq % seqDigits }

// Time is the store's clock when the message was published.
func (id MessageID) Time() time.Time { return time.UnixMilli(id.Milli).UTC() }

// IsZero tells whether the id is unset.
func (id MessageID) IsZero() bool { return id == MessageID{} }

// Compare orders ids as the log does.
func (id MessageID) Compare(other MessageID) int {
	return cmp.Or(cmp.Compare(id.Milli, other.Milli), cmp.Compare(id.Seq, other.Seq))
}

// AppendText appends what String returns.
func (id MessageID) AppendText(b []byte) ([]byte, error) {
	b = append(strconv.AppendInt(b, id.Milli, 10), '-')
	return strconv.AppendInt(b, id.Seq, 10), nil
}

func (id MessageID) String() string {
	b, _ := id.AppendText(make([]byte, 0, 40)) // on the stack: two numbers of 19 digits fit
	return string(b)
}

// ParseMessageID reads what String wrote. It fails with INVALID_ARGUMENT.
func ParseMessageID(s string) (MessageID, error) {
	ms, seq, ok := strings.Cut(s, "-")
	if ok {
		m, err1 := strconv.ParseUint(ms, 10, 63)
		q, err2 := strconv.ParseUint(seq, 10, 63)
		// Only the canonical spelling: one message, one id.
		if err1 == nil && err2 == nil && m <= math.MaxInt64 && (MessageID{int64(m), int64(q)}).String() == s {
			return MessageID{int64(m), int64(q)}, nil
		}
	}
	return MessageID{}, Errorf(InvalidArgument, "%q is not a message id", s)
}
