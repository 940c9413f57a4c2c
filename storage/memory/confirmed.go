package memory

import (
	"cmp"
	"slices"

	"postrider/subscriptions"
)

// delivery names one lease of a message.
type delivery struct {
	id            subscriptions.MessageID
	number, epoch int64
}

func deliveryOf(r subscriptions.Receipt) delivery { return delivery{r.ID, r.Number, r.Epoch} }

// confirmed remembers acks that were confirmed, until their leases would have ended, in milliseconds.
type confirmed struct {
	until map[delivery]int64
	line  []ackEnd // the same, in order of time
}

type ackEnd struct {
	until int64
	ack   delivery
}

// has tells whether a delivery was acked and its lease would still last.
func (c *confirmed) has(r subscriptions.Receipt, now int64) bool {
	return c.until[deliveryOf(r)] > now
}

// add remembers an ack.
func (c *confirmed) add(r subscriptions.Receipt, until int64) {
	d := deliveryOf(r)
	c.until[d] = until
	at, _ := slices.BinarySearchFunc(c.line, until+1, func(e ackEnd, at int64) int { return cmp.Compare(e.until, at) })
	c.line = slices.Insert(c.line, at, ackEnd{until, d})
}

// forget drops what need not be remembered any more.
func (c *confirmed) forget(now int64) {
	n := 0
	for n < len(c.line) && c.line[n].until <= now {
		delete(c.until, c.line[n].ack)
		n++
	}
	c.line = c.line[n:]
}
