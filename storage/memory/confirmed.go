package memory

import (
	"maps"

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
	until   map[delivery]int64
	cleanAt int
}

// has tells whether a delivery was acked and its lease would still last.
func (c *confirmed) has(r subscriptions.Receipt, now int64) bool {
	return c.until[deliveryOf(r)] > now
}

// add remembers an ack. Now and then it forgets those whose time is over, so that on the whole each costs as little as any
// other.
func (c *confirmed) add(r subscriptions.Receipt, until, now int64) {
	if len(c.until) >= c.cleanAt {
		maps.DeleteFunc(c.until, func(_ delivery, until int64) bool { return until <= now })
		c.cleanAt = max(1_000, 2*len(c.until))
	}
	c.until[deliveryOf(r)] = until
}
