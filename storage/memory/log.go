package memory

import (
	"cmp"
	"slices"

	"postrider/subscriptions"
)

// position is a place in a log: after the n-th message ever published, with the sizes of all up to it summed. What lies
// between two positions, in messages and in bytes, is a subtraction.
type position struct{ n, bytes int64 }

// entry is a message in a log.
type entry struct {
	// id is the log's; a message that was delayed has another one of its own.
	id      subscriptions.MessageID
	message subscriptions.Message
	size    int64
	over    int64 // when its time to live is over, in milliseconds; 0 for never
	// at is the position after this entry.
	at position
}

// log is the messages of a topic that are still stored, and how many there ever were.
type log struct {
	entries []entry
	end     position
	last    int64 // Milli of the last message, in the log or not
}

// append gives a message the next id, unless it has one, and stores it if store says so. It returns the log's id.
func (l *log) append(m subscriptions.Message, over, salt int64, store bool) subscriptions.MessageID {
	size := int64(m.Size())
	l.end = position{l.end.n + 1, l.end.bytes + size}
	id := subscriptions.NewMessageID(l.last, l.end.n, salt)
	if store {
		m = cloneMessage(m)
		if m.ID.IsZero() {
			m.ID = id
		}
		l.entries = append(l.entries, entry{id, m, size, over, l.end})
	}
	return id
}

// after returns the entries behind a position.
func (l *log) after(n int64) []entry {
	i, _ := slices.BinarySearchFunc(l.entries, n+1, func(e entry, n int64) int { return cmp.Compare(e.at.n, n) })
	return l.entries[i:]
}

// get returns the entry of an id, or false when it is not stored any more.
func (l *log) get(id subscriptions.MessageID) (entry, bool) {
	rest := l.after(id.N() - 1)
	if len(rest) == 0 || rest[0].id != id {
		return entry{}, false
	}
	return rest[0], true
}

// since is the number of the first message from a time on, or that of the next one to come.
func (l *log) since(milli int64) int64 {
	i, _ := slices.BinarySearchFunc(l.entries, milli, func(e entry, milli int64) int { return cmp.Compare(e.id.Milli, milli) })
	if i == len(l.entries) {
		return l.end.n + 1
	}
	return l.entries[i].at.n
}

// before is the position before the n-th message, or the next one that is stored.
func (l *log) before(n int64) position {
	if rest := l.after(n - 1); len(rest) > 0 {
		return position{rest[0].at.n - 1, rest[0].at.bytes - rest[0].size}
	}
	return l.end
}

// cut removes the entries before the n-th message.
func (l *log) cut(n int64) {
	kept := l.after(n - 1)
	clear(l.entries[:len(l.entries)-len(kept)])
	l.entries = kept
}

// remove takes one entry out.
func (l *log) remove(id subscriptions.MessageID) {
	l.entries = slices.DeleteFunc(l.entries, func(e entry) bool { return e.id == id })
}
