package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"postrider/subscriptions"
)

var filtering = []check{
	{"what does not match is passed over", filterSome},
	{"nothing matches", filterNone},
	{"everything matches", filterAll},
	{"a filter and a routing pattern", filterRouting},
	{"each subscription has its own", filterTwo},
	{"far ahead", filterFar},
	{"far ahead and many at once", filterManyFar},
	{"large messages between", filterLarge},
	{"passed over behind the last that fits", filterLimits},
	{"nothing is passed over at the bound", filterBound},
	{"messages that come again", filterAgain},
	{"a dead one", filterDead},
	{"retention", filterRetention},
	{"retention while the cursor is behind", filterRetentionEdge},
	{"vanished messages", filterVanished},
	{"a run goes on behind what does not match", filterRun},
	{"nothing is parked that does not match", filterParked},
	{"a key that overflowed", filterOverflow},
	{"a key that overflowed, filled by a sweep", filterOverflowSweep},
	{"a key that overflowed far ahead", filterOverflowFar},
	{"the log is trimmed behind the cursor", filterTrim},
	{"a stale revision", filterStale},
}

// match lets a subscription take what an expression selects.
func (s *sub) match(expression string) {
	s.Helper()
	m, err := subscriptions.NewMatch(expression, nil)
	s.ok(err)
	s.rules.Match = m
}

// picky attaches a subscription that takes the messages of picked with a + behind them.
func (r *rig) picky() (*topic, *sub) {
	r.Helper()
	t, s := r.one()
	s.match(`attributes.pick = "yes"`)
	return t, s
}

// picked publishes texts such as "a1" and "a2+": those with a + get an attribute. The letter is the key.
func (t *topic) picked(texts ...string) []subscriptions.MessageID {
	t.Helper()
	msgs := make([]subscriptions.Message, len(texts))
	for i, text := range texts {
		msgs[i] = subscriptions.Message{Data: []byte(text), OrderingKey: text[:1], Attributes: map[string]string{"pick": "no"}}
		if strings.HasSuffix(text, "+") {
			msgs[i].Attributes["pick"] = "yes"
		}
	}
	return t.publishAll(msgs...)
}

// dull publishes so many messages that do not match, of one key.
func (t *topic) dull(n int) {
	t.Helper()
	for texts := range slices.Chunk(make([]string, n), 1000) {
		for i := range texts {
			texts[i] = "d"
		}
		t.picked(texts...)
	}
}

// eventually leases until something comes, and tells how many leases brought nothing before.
func (s *sub) eventually(limit int) (ds []subscriptions.Delivery, empty int) {
	s.Helper()
	for {
		result := s.leaseWith(s.request(limit))
		if len(result.Deliveries) > 0 || !result.More {
			return result.Deliveries, empty
		}
		empty++
	}
}

func filterSome(r *rig) {
	t, s := r.picky()
	t.picked("a", "b+", "c", "d", "e+", "f")
	result := s.leaseWith(s.request(10))
	same(r, "leased", data(result.Deliveries), []string{"b+", "e+"})
	same(r, "more", result.More, false)
	same(r, "number", result.Deliveries[1].Number, int64(1))
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 2, Bytes: 20, Filtered: 4})
	s.ack(result.Deliveries...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 2, Filtered: 4})
	t.picked("g+")
	s.ack(s.leases(10, "g+")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 3, Filtered: 4})
	t.holds(0)
}

func filterNone(r *rig) {
	t, s := r.picky()
	t.picked("a", "b", "c")
	same(r, "stats", s.stats().Undelivered, int64(3)) // nobody has looked
	result := s.leaseWith(s.request(1))
	same(r, "result", result, subscriptions.LeaseResult{NextDue: -1})
	same(r, "stats", s.stats(), subscriptions.Stats{Filtered: 3})
	t.trim()
	t.holds(0)
}

func filterAll(r *rig) {
	t, s := r.one()
	s.match(`NOT attributes:none`)
	t.publish("a", "b", "c")
	s.leases(2, "a", "b")
	s.leases(2, "c")
	same(r, "filtered", s.stats().Filtered, int64(0))
}

func filterRouting(r *rig) {
	t, s := r.one()
	var err error
	s.rules.Match, err = subscriptions.NewMatch(`NOT attributes.price = "0"`, &subscriptions.Routing{Attribute: "subject", Pattern: "stock.*.#"})
	r.ok(err)
	subjects := map[string]string{"a": "stock", "b": "stock.ibm", "c": "bond.ibm", "d": "stock.ibm.nyse.x", "e": "stock.free"}
	for _, text := range []string{"a", "b", "c", "d", "e"} {
		m := subscriptions.Message{Data: []byte(text), Attributes: map[string]string{"subject": subjects[text], "price": "5"}}
		if text == "e" {
			m.Attributes["price"] = "0"
		}
		t.publishAll(m)
	}
	t.publish("no attributes")
	s.leases(10, "b", "d")
}

func filterTwo(r *rig) {
	t, yes := r.picky()
	no, all := t.attach(), t.attach()
	no.match(`attributes.pick != "yes"`)
	t.picked("a", "b+", "c")
	yes.ack(yes.leases(10, "b+")...)
	no.ack(no.leases(10, "a", "c")...)
	t.trim()
	t.holds(3)
	all.ack(all.leases(10, "a", "b+", "c")...)
	t.holds(0)
}

func filterFar(r *rig) {
	t, s := r.picky()
	t.dull(2500)
	t.picked("x+")
	ds, empty := s.eventually(1)
	same(r, "leased", data(ds), []string{"x+"})
	if empty != 2 { // each looks at 1,100 messages when none matches
		r.Fatalf("%d leases brought nothing, want 2", empty)
	}
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 10, Filtered: 2500})
}

func filterManyFar(r *rig) {
	t, s := r.picky()
	t.dull(150)
	for i := range 300 {
		t.picked(fmt.Sprintf("x%d+", i), "y")
	}
	ds := s.lease(1000)
	same(r, "leased", len(ds), 25) // of the first 200
	ds = append(ds, s.lease(1000)...)
	same(r, "leased", len(ds), 125)
	ds = append(ds, s.lease(50)...)
	same(r, "leased", len(ds), 175)
	for i, d := range ds {
		same(r, "data", string(d.Message.Data), fmt.Sprintf("x%d+", i))
	}
	same(r, "filtered", s.stats().Filtered, int64(150+175))
}

func filterLarge(r *rig) {
	t, s := r.picky()
	large := subscriptions.Message{Data: make([]byte, 300_000), Attributes: map[string]string{"pick": "no"}}
	for range 4 {
		t.publishAll(large, large)
		t.dull(20)
	}
	large.Attributes = map[string]string{"pick": "yes", "z": "z"}
	t.publishAll(large)
	t.picked("x+")
	ds, _ := s.eventually(10)
	for range 5 {
		if len(ds) < 2 {
			ds = append(ds, s.lease(10)...)
		}
	}
	same(r, "leased", len(ds), 2)
	same(r, "size", len(ds[0].Message.Data), 300_000)
	s.ack(ds...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 2, Filtered: 88})
	t.holds(0)
}

func filterLimits(r *rig) {
	t, s := r.picky()
	t.picked("a+", "b", "c")
	result := s.leaseWith(s.request(1))
	same(r, "more", result.More, false)
	same(r, "undelivered", s.stats().Undelivered, int64(0))
	t.picked("d", "e+", "f", "g+", "h")
	request := s.request(10)
	request.MaxBytes = 15
	result = s.leaseWith(request) // g+ does not fit
	same(r, "leased", data(result.Deliveries), []string{"e+"})
	same(r, "more", result.More, true)
	same(r, "undelivered", s.stats().Undelivered, int64(2))
	s.leases(1, "g+")
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 3, Bytes: 30, Filtered: 5})
}

func filterBound(r *rig) {
	t, s := r.picky()
	s.rules.Outstanding = 1
	t.picked("a+", "b+", "c")
	ds := s.leases(10, "a+")
	same(r, "more", s.leaseWith(s.request(10)).More, false)
	same(r, "undelivered", s.stats().Undelivered, int64(2))
	w := r.watch(t.ref.UID)
	s.ack(ds...)
	w.brought(s.due(0))
	s.leases(10, "b+")
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 10, Acked: 1, Filtered: 1})
}

func filterAgain(r *rig) {
	t, s := r.picky()
	t.picked("a", "b+")
	s.nack(s.leases(10, "b+")...)
	t.picked("c", "d+")
	same(r, "leased", data(s.lease(10)), []string{"b+", "d+"})
	r.Clock.Advance(deadline)
	s.ack(s.leases(10, "b+", "d+")...)
	same(r, "stats", s.stats(), subscriptions.Stats{Acked: 2, Nacked: 1, Expired: 2, Filtered: 2})
}

func filterDead(r *rig) {
	t, s := r.picky()
	s.rules.MaxAttempts = 1
	t.picked("a", "b+", "c")
	s.nack(s.leases(10, "b+")...)
	dead := s.sweep(10).Dead
	same(r, "dead", data(dead), []string{"b+"})
	s.settle(dead...)
	same(r, "stats", s.stats(), subscriptions.Stats{Nacked: 1, DeadLettered: 1, Filtered: 2})
	t.holds(0)
}

// What outlived the retention before anybody looked is dropped, match or no match.
func filterRetention(r *rig) {
	t, s := r.picky()
	s.rules.Retention = time.Hour
	t.picked("a", "b+", "c")
	r.Clock.Advance(time.Hour + time.Millisecond)
	t.picked("d", "e+")
	s.leases(10, "e+")
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Bytes: 10, Dropped: 3, Filtered: 1})
	for s.sweep(10).More {
	}
	t.trim()
	t.holds(1)
}

// A subscription whose backlog outlives the retention all the time still gets what comes.
func filterRetentionEdge(r *rig) {
	t, s := r.picky()
	s.rules.Retention = time.Hour
	for i := range 5 {
		t.picked("a", "b", "c", fmt.Sprintf("x%d+", i), "d")
		r.Clock.Advance(time.Minute)
	}
	r.Clock.Advance(time.Hour - 4*time.Minute)
	var got []string
	for range 4 {
		ds := s.lease(1)
		s.ack(ds...)
		got = append(got, data(ds)...)
		r.Clock.Advance(time.Minute)
	}
	same(r, "leased", got, []string{"x1+", "x2+", "x3+", "x4+"})
	same(r, "dropped", s.stats().Dropped, int64(5))
}

func filterVanished(r *rig) {
	t, s := r.picky()
	ids := t.picked("a", "b", "c+", "d", "e+", "f", "g")
	t.vanish(ids[1], ids[2], ids[6])
	s.ack(s.leases(10, "e+")...)
	same(r, "counts", s.counts(), subscriptions.Stats{Acked: 1, Filtered: 3, Lost: 3})
	ids = t.picked("a", "b+")
	t.vanish(ids...)
	s.leases(10)
	same(r, "counts", s.counts(), subscriptions.Stats{Acked: 1, Filtered: 3, Lost: 5})
	t.trim()
	t.holds(0)
}

func filterTrim(r *rig) {
	t, s := r.picky()
	t.dull(1000)
	first := t.picked("x+")
	t.dull(1000)
	ds, _ := s.eventually(1)
	same(r, "id", ds[0].Message.ID, first[0])
	for s.leaseWith(s.request(1)).More {
	}
	t.trim()
	t.holds(1001) // from x on
	s.ack(ds...)
	t.trim()
	t.holds(0)
}

func filterStale(r *rig) {
	t, s := r.picky()
	t.picked("a+")
	s.ref.Revision++
	s.leases(1, "a+")
	s.ref.Revision--
	_, err := s.Store.Lease(s.Context(), s.request(1))
	r.is(err, subscriptions.ErrStale)
	s.drop()
	_, err = s.Store.Lease(s.Context(), s.request(1))
	r.is(err, subscriptions.ErrGone)
}
