package redisstream

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// tally is how much there is of a topic, or of all. Two of them are equal when what was counted is the same, in whatever
// order and pages it came. Entries of logs are compared page by page when they are written, and only counted here.
type tally struct {
	subscriptions, outstanding int64
	messages, bytes            int64
	records                    int64
	sum                        uint64
}

// state is the tally without the log.
func (t tally) state() tally {
	t.messages, t.bytes = 0, 0
	return t
}

func (t *tally) add(other tally) {
	t.subscriptions += other.subscriptions
	t.outstanding += other.outstanding
	t.records += other.records
	t.messages += other.messages
	t.bytes += other.bytes
	t.sum += other.sum
}

// seed makes sums of this process. They are not stored.
var seed = maphash.MakeSeed()

// include adds what stands under a name in a key.
func (t *tally) include(topic, key string, pairs []pair) {
	for _, p := range pairs {
		t.sum += maphash.Comparable(seed, struct {
			topic, key string
			pair       pair
		}{topic, key, p})
	}
}

func (p logPart) count(t *tally) {
	t.messages += int64(len(p.entries))
	for _, e := range p.entries {
		t.bytes += e.size()
	}
}

// A time to live runs, so that only whether there is one can be compared.
func (p keyPart) count(t *tally) {
	switch {
	case strings.HasPrefix(p.name, "confirmed:"):
		return // it may end at any moment, and nothing is lost with it
	case strings.HasPrefix(p.name, "s:"):
		t.subscriptions++
	case strings.HasPrefix(p.name, "out:"):
		t.outstanding += int64(len(p.pairs))
	}
	t.include(p.topic, fmt.Sprintf("%s %c %v", p.name, p.sort, p.ttl >= 0), p.pairs)
}

func (p subscriptionPart) count(t *tally) { t.subscriptions++ }
func (p outstandingPart) count(t *tally)  { t.outstanding += int64(len(p.messages)) }

func (p recordsPart) count(t *tally) {
	t.records += int64(len(p.records))
	t.include(p.project, "", p.records)
}

// differ says in which way what arrived is not what was sent.
func differ(sent, there tally) error {
	if sent == there {
		return nil
	}
	return fmt.Errorf("redisstream: it did not arrive as it was sent: %+v were sent, %+v are there", sent, there)
}

// text writes how much there is for a store or a file to keep; tallyOf reads it.
func (t tally) text() string {
	return fmt.Sprintf("%d %d %d %d", t.messages, t.bytes, t.subscriptions, t.outstanding)
}

func tallyOf(text string) (t tally, err error) {
	_, err = fmt.Sscanf(text, "%d %d %d %d", &t.messages, &t.bytes, &t.subscriptions, &t.outstanding)
	return t, err
}
