package storagetest

import (
	"fmt"
	"time"

	"postrider/subscriptions"
)

var trimming = []check{
	{"acks trim to what the slowest needs", trimSlowest},
	{"an unsettled message holds the log", trimHeld},
	{"dropping a subscription", trimDropped},
	{"nothing attached, nothing kept", trimNothing},
	{"a message everybody acked in another order", trimAnyOrder},
	{"lease drops and Trim", trimAfterLease},
	{"nothing is trimmed that is needed", trimNeeded},
}

// holds checks how much the log of a topic holds, give or take the store's slack.
func (t *topic) holds(want int) {
	t.Helper()
	got, most := t.length(), want+t.Slack
	if want == 0 {
		most = 0
	}
	if got < want || got > most {
		t.Fatalf("the log holds %d messages, want %d to %d", got, want, most)
	}
}

// several publishes n messages.
func (t *topic) several(n int) {
	t.Helper()
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprint(i))
	}
	t.publish(texts...)
}

// consume leases and acks n messages.
func (s *sub) consume(n int) {
	s.Helper()
	for n > 0 {
		ds := s.lease(min(n, 100))
		if len(ds) == 0 {
			s.Fatalf("%d messages are missing", n)
		}
		s.ack(ds...)
		n -= len(ds)
	}
}

func trimSlowest(r *rig) {
	t, one := r.one()
	two, three := t.attach(), t.attach()
	t.several(900)
	one.consume(900)
	t.holds(900)
	two.consume(600)
	t.holds(900)
	three.consume(300)
	t.holds(600)
	three.consume(600)
	t.holds(300)
	two.consume(300)
	t.holds(0)
}

func trimHeld(r *rig) {
	t, s := r.one()
	t.several(500)
	first := s.lease(1)
	s.consume(499)
	t.holds(500)
	s.nackAtLeast(time.Second, first...)
	t.trim()
	t.holds(500)
	r.Clock.Advance(time.Second)
	s.leases(1, "0")
	s.ack(first...)
	t.holds(0)
}

func trimDropped(r *rig) {
	t, s := r.one()
	slow := t.attach()
	t.several(500)
	slow.lease(10)
	s.consume(400)
	slow.drop()
	t.trim()
	t.holds(100)
	s.drop()
	t.trim()
	t.holds(0)
}

func trimNothing(r *rig) {
	t := r.topic()
	for range 10 {
		t.several(100)
		same(r, "log", t.length(), 0)
	}
	s := t.attach()
	t.several(10)
	same(r, "log", t.length(), 10)
	s.drop()
	t.trim()
	t.several(10)
	same(r, "log", t.length(), 0)
}

func trimAnyOrder(r *rig) {
	t, s := r.one()
	t.several(300)
	var ds []subscriptions.Delivery
	for len(ds) < 300 {
		ds = append(ds, s.lease(100)...)
	}
	for i := len(ds) - 1; i > 0; i-- {
		s.ack(ds[i])
		same(r, "log", t.length(), 300)
	}
	s.ack(ds[0])
	t.holds(0)
}

func trimAfterLease(r *rig) {
	t, s := r.one()
	s.rules.Retention = time.Hour
	t.several(300)
	s.lease(100)
	r.Clock.Advance(time.Hour + time.Millisecond)
	t.publish("young")
	for more := true; more; {
		result := s.leaseWith(s.request(100))
		more = result.More
	}
	t.trim()
	t.holds(1)
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 5, Expired: 100, Dropped: 300})
}

func trimNeeded(r *rig) {
	t, s := r.one()
	other := t.attach()
	t.several(300)
	s.consume(150)
	t.trim()
	var got int
	for got < 300 {
		for _, d := range other.lease(100) {
			same(r, "data", string(d.Message.Data), fmt.Sprint(got))
			got++
		}
	}
	other.sweep(10)
	s.sweep(10)
	t.holds(300)
}
