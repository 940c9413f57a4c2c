package redisstream_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"postrider/subscriptions"
)

// orderChecker follows what one subscription hands out and what its pullers do about it, and knows what may not come. Steps on
// the subscription happen one at a time here, as they do in the store; sweeps happen beside them, and leases run out. So what
// ends a lease is sure or not: sure is what happened well before its time was over.
type orderChecker struct {
	mu       sync.Mutex
	name     string
	max      int // attempts; 0 for any number
	keys     map[string][]*ordered
	answers  int
	failures []string

	deliveries, redeliveries, lateAcks, refusedAcks int
}

type ackState int

const (
	unacked     ackState = iota
	maybeAcked           // too late to know, or one before it may have been sent back
	provisional          // surely, unless one before it fails from now on
	settled              // surely: never again
)

// ordered is a message of a key.
type ordered struct {
	key             string
	at              int // its place in the key
	number          int64
	attempt, answer int
	lead            bool      // the first of its key in its last answer
	until           time.Time // its last lease holds so long at least
	ended           bool      // that lease was ended by a puller
	counts, repeats bool      // the next attempt has the next number, or the same, for sure
	acked           ackState
	confirmed       int64                            // the delivery whose ack was confirmed
	copies          map[subscriptions.MessageID]bool // in the dead-letter topic
}

func newOrderChecker(name string, maxAttempts int, published [][]string) *orderChecker {
	c := &orderChecker{name: name, max: maxAttempts, keys: map[string][]*ordered{}}
	for _, batch := range published {
		for _, text := range batch {
			key, _, _ := strings.Cut(text, " ")
			c.keys[key] = append(c.keys[key], &ordered{key: key, at: len(c.keys[key]), copies: map[subscriptions.MessageID]bool{}})
		}
	}
	return c
}

func (c *orderChecker) fail(m *ordered, format string, args ...any) {
	c.failures = append(c.failures, fmt.Sprintf("%s: %s/%d (%+v): ", c.name, m.key, m.at, *m)+fmt.Sprintf(format, args...))
}

// of finds a message by its data.
func (c *orderChecker) of(msg subscriptions.Message) *ordered {
	key, place, _ := strings.Cut(string(msg.Data), " ")
	at, err := strconv.Atoi(strings.TrimSuffix(place, " poison"))
	if err != nil || key != msg.OrderingKey {
		panic(fmt.Sprintf("unknown message %q", msg.Data))
	}
	return c.keys[key][at]
}

// before are those before m that are not settled for sure.
func (c *orderChecker) before(m *ordered) (open []*ordered) {
	for i := m.at - 1; i >= 0 && c.keys[m.key][i].acked != settled; i-- {
		open = append(open, c.keys[m.key][i])
	}
	return open
}

func (c *orderChecker) behind(m *ordered) []*ordered { return c.keys[m.key][m.at+1:] }

// holds tells whether m surely is under its last lease at a time: neither it nor one before it can have run out.
func (c *orderChecker) holds(m *ordered, at time.Time) bool {
	for _, p := range append(c.before(m), m) {
		if p.acked == maybeAcked || p.acked != provisional && (p.ended || !at.Before(p.until)) {
			return false
		}
	}
	return m.number > 0
}

// exhausted tells whether m may have gone to the dead-letter topic.
func (c *orderChecker) exhausted(m *ordered) bool { return c.max > 0 && m.attempt >= c.max }

// delivered checks an answer to a lease that was asked for at start and came at end.
func (c *orderChecker) delivered(ds []subscriptions.Delivery, start, end time.Time, deadline time.Duration) {
	c.answers++
	for _, d := range ds {
		m := c.of(d.Message)
		c.deliveries++
		lead := true
		for _, p := range c.before(m) {
			switch {
			case p.answer == c.answers:
				lead = false
			case p.acked != unacked, c.exhausted(p):
				// What is certain now.
				p.acked = settled
			default:
				c.fail(m, "came before %+v was settled", *p)
			}
		}
		c.checkAgain(m, d, end)
		m.number, m.attempt, m.answer, m.lead = d.Number, d.Attempt, c.answers, lead
		m.until, m.acked = start.Add(deadline-2*time.Millisecond), unacked
		m.ended, m.counts, m.repeats = false, false, false
		if m.number > 1 {
			for _, next := range c.behind(m) {
				if next.acked == settled {
					c.fail(m, "came again, though %d behind it is settled", next.at)
				}
				next.acked = unacked
			}
		}
	}
}

// checkAgain checks a delivery against the one before it.
func (c *orderChecker) checkAgain(m *ordered, d subscriptions.Delivery, now time.Time) {
	low, high := m.attempt, m.attempt+1
	if m.number > 0 {
		c.redeliveries++
	}
	if m.number == 0 || m.counts || m.lead && !m.ended {
		low = high
	} else if m.repeats {
		high = low
	}
	switch {
	case d.Number <= m.number || m.number == 0 && d.Number != 1:
		c.fail(m, "delivery %d", d.Number)
	case d.Attempt < low || d.Attempt > high || c.max > 0 && d.Attempt > c.max:
		c.fail(m, "attempt %d, want %d to %d", d.Attempt, low, high)
	case m.acked == settled:
		c.fail(m, "came again after it was settled")
	case m.acked == unacked && !m.ended && c.holds(m, now):
		c.fail(m, "came under its lease")
	}
}

// ack notes that receipts were acked; the answer came at end.
func (c *orderChecker) ack(ds []subscriptions.Delivery, end time.Time) {
	for _, d := range ds {
		m := c.of(d.Message)
		if m.acked == settled {
			continue
		}
		open, current := c.before(m), d.Number == m.number && !m.ended
		held := current && c.holds(m, end)
		unsure := slices.ContainsFunc(open, func(p *ordered) bool { return p.acked == maybeAcked || c.exhausted(p) })
		switch {
		case len(open) == 0:
			c.ackHead(m, held)
		case held:
			m.acked = provisional
		case current || unsure:
			m.acked = maybeAcked
		}
	}
}

// confirm notes which acks were told to have taken effect, with exactly-once delivery: those settle for good, whatever the
// checker thinks of the lease. The others must have been late, or early.
func (c *orderChecker) confirm(ds []subscriptions.Delivery, missed subscriptions.Missed, end time.Time) {
	over, early := map[subscriptions.MessageID]int64{}, map[subscriptions.MessageID]bool{}
	for _, r := range missed.Over {
		over[r.ID] = r.Number
	}
	for _, r := range missed.Early {
		early[r.ID] = true
	}
	for _, d := range ds {
		m := c.of(d.Message)
		current := d.Number == m.number && !m.ended
		switch {
		case early[d.Message.ID]:
			c.fail(m, "one before it is outstanding")
		case over[d.Message.ID] == d.Number:
			c.refusedAcks++
			if m.confirmed == d.Number && end.Before(m.until) {
				c.fail(m, "the repeated ack was refused")
			} else if m.acked != settled && current && c.holds(m, end) {
				c.fail(m, "the ack of a current lease was refused")
			}
		case m.acked == settled && m.confirmed != d.Number:
			c.fail(m, "the acks of deliveries %d and %d were confirmed", m.confirmed, d.Number)
		case m.acked == settled:
		case !current || len(c.before(m)) > 0:
			c.fail(m, "the ack of delivery %d was confirmed", d.Number)
		default:
			m.acked, m.confirmed = settled, d.Number
		}
	}
}

// ackHead is an ack of the first of its key. Whether a late one counts is not looked at.
func (c *orderChecker) ackHead(m *ordered, held bool) {
	if !held {
		c.lateAcks++
		c.shake(m, false)
		m.acked = maybeAcked
		return
	}
	m.acked = settled
	for _, next := range c.behind(m) {
		if next.acked != provisional {
			return
		}
		next.acked = settled
	}
}

// shake says that all behind m was sent back, or may have been.
func (c *orderChecker) shake(m *ordered, sure bool) {
	for _, next := range c.behind(m) {
		held := sure && !next.ended && next.number > 0
		switch {
		case next.acked == provisional && sure:
			next.acked = unacked
		case next.acked == provisional:
			next.acked = maybeAcked
		case next.number == 0:
			return
		}
		next.repeats = next.repeats || held && !next.lead
		next.ended, next.lead = true, false
	}
}

// ended notes that receipts were nacked or, without an attempt, released.
func (c *orderChecker) ended(ds []subscriptions.Delivery, released bool, end time.Time) {
	for _, d := range ds {
		m := c.of(d.Message)
		if d.Number != m.number || m.ended || m.acked != unacked {
			continue
		}
		sure := c.holds(m, end)
		m.counts, m.repeats = sure && !released, sure && released
		if !sure && !released && m.lead {
			m.counts = true // either way
		}
		heldAll := sure
		for _, next := range c.behind(m) {
			heldAll = heldAll && (next.number == 0 || next.acked == provisional || next.ended || end.Before(next.until))
		}
		m.ended = true
		c.shake(m, heldAll)
	}
}

// extended notes that leases were given more time.
func (c *orderChecker) extended(ds []subscriptions.Delivery, start, end time.Time, d time.Duration) {
	for _, del := range ds {
		if m := c.of(del.Message); del.Number == m.number && m.acked == unacked && !m.ended && c.holds(m, end) {
			m.until = start.Add(d - 2*time.Millisecond)
		}
	}
}

// buried notes a message of the dead-letter topic.
func (c *orderChecker) buried(msg subscriptions.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.of(msg)
	m.copies[msg.ID] = true
	if count := msg.Attributes["CloudPubSubDeadLetterSourceDeliveryCount"]; m.attempt != c.max || count != strconv.Itoa(c.max) {
		c.fail(m, "is in the dead-letter topic after %s attempts", count)
	}
}

// finish checks that every message had one end.
func (c *orderChecker) finish(stats subscriptions.Stats) []string {
	total, copies := 0, 0
	for _, msgs := range c.keys {
		total += len(msgs)
		for _, m := range msgs {
			copies += len(m.copies)
			switch {
			case len(m.copies) > 1:
				c.fail(m, "is in the dead-letter topic %d times", len(m.copies))
			case m.acked == unacked && len(m.copies) == 0:
				c.fail(m, "was lost")
			}
		}
	}
	// A late ack may come between the two halves of a move: then a message is acked, and copied.
	if stats.Acked+stats.DeadLettered != int64(total) || stats.Lost+stats.Dropped+stats.Outstanding+stats.Undelivered > 0 ||
		int64(copies) < stats.DeadLettered {
		c.failures = append(c.failures, fmt.Sprintf("%s: of %d messages, %d copied: %+v", c.name, total, copies, stats))
	}
	return c.failures
}
