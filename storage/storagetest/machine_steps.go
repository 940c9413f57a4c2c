package storagetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"postrider/subscriptions"
)

// anySub picks a subscription.
func (m *machine) anySub() *modelSub {
	if len(m.subs) == 0 {
		m.Skip("nothing is attached")
	}
	return m.subs[rapid.IntRange(0, len(m.subs)-1).Draw(m.T, "subscription")]
}

func (m *machine) anyTopic() *modelTopic {
	return m.topics[rapid.IntRange(0, 1).Draw(m.T, "topic")]
}

func (m *machine) publish() {
	t := m.anyTopic()
	msgs := make([]subscriptions.Message, rapid.SampledFrom([]int{1, 2, 5, 10}).Draw(m.T, "messages"))
	for i := range msgs {
		msgs[i].Data = m.text(rapid.IntRange(1, 20).Draw(m.T, "size"))
		if rapid.Bool().Draw(m.T, "attributes") {
			msgs[i].Attributes = map[string]string{"k": rapid.SampledFrom([]string{"v", "w.x"}).Draw(m.T, "value")}
			msgs[i].OrderingKey = rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(m.T, "key")
		}
		msgs[i].Timing = m.drawTiming(msgs[i].OrderingKey)
	}
	m.send(t, msgs)
}

// flood publishes more messages than a store goes through in one step, of which most, or none, or few have an attribute.
func (m *machine) flood() {
	msgs := make([]subscriptions.Message, 250)
	every := rapid.SampledFrom([]int{1, 300, 40}).Draw(m.T, "every")
	for i := range msgs {
		msgs[i].Data = m.text(5)
		if i%every == every-1 {
			msgs[i].Attributes = map[string]string{"k": "v"}
		}
	}
	m.send(m.topics[0], msgs)
}

// text makes data that no other message has.
func (m *machine) text(size int) []byte {
	m.sent++
	return fmt.Appendf(nil, "%*d", size, m.sent)
}

func (m *machine) send(t *modelTopic, msgs []subscriptions.Message) {
	ids := must(m, "publish", func(s subscriptions.Store) ([]subscriptions.MessageID, error) {
		return s.Publish(ctx, t.ref, msgs)
	})
	t.sentTimed(m, msgs, ids)
}

func (m *machine) lease() {
	s := m.anySub()
	m.leaseOne(s, subscriptions.LeaseRequest{
		Max:      rapid.SampledFrom([]int{10, 1, 2, 3, 5, 8, 300}).Draw(m.T, "max"),
		MaxBytes: rapid.SampledFrom([]int{1 << 20, 0, 10, 30}).Draw(m.T, "max bytes"),
		Run:      rapid.SampledFrom([]int{100, 1, 3}).Draw(m.T, "run"),
		Deadline: drawSpell(m.T),
		Use:      rapid.Bool().Draw(m.T, "use"),
		Jitter:   drawJitter(m.T),
	})
}

// leaseOne leases from s, under its rules.
func (m *machine) leaseOne(s *modelSub, r subscriptions.LeaseRequest) subscriptions.LeaseResult {
	r.Ref, r.Rules = s.ref, s.rules
	result := must(m, "lease", func(store subscriptions.Store) (subscriptions.LeaseResult, error) {
		return store.Lease(ctx, r)
	})
	s.leased(m, r, result)
	return result
}

const shortestRetention = time.Minute

// drawMatch draws what selects messages; most subscriptions take all.
func drawMatch(t *rapid.T) *subscriptions.Match {
	filter := rapid.SampledFrom([]string{"", "", "", `attributes:k`, `NOT attributes.k = "v"`, `attributes.k = "v"`, `attributes:none`}).Draw(t, "filter")
	var routing *subscriptions.Routing
	if rapid.IntRange(0, 4).Draw(t, "routing") == 4 {
		routing = &subscriptions.Routing{Attribute: "k", Pattern: "*.#"}
	}
	m, err := subscriptions.NewMatch(filter, routing)
	if err != nil {
		panic(err)
	}
	return m
}

func drawRules(t *rapid.T, ordered bool, match *subscriptions.Match) subscriptions.Rules {
	return subscriptions.Rules{
		Ordered: ordered,
		Match:   match,
		Retry: rapid.SampledFrom([][]subscriptions.Span{
			nil,
			fixed(2*time.Second, 4*time.Second, 8*time.Second),
			subscriptions.RetryPolicy{Minimum: time.Second, Maximum: 6 * time.Second}.Spans(),
			subscriptions.RetryPolicy{Minimum: 0, Maximum: 1500 * time.Millisecond}.Spans(),
		}).Draw(t, "retry"),
		MaxAttempts:    rapid.SampledFrom([]int{0, 1, 2, 3, 1}).Draw(t, "max attempts"),
		DeadLetterLate: rapid.Bool().Draw(t, "dead letter late"),
		Retention:      rapid.SampledFrom([]time.Duration{7 * day, 7 * day, 7 * day, 20 * time.Minute, shortestRetention}).Draw(t, "retention"),
		Outstanding:    rapid.SampledFrom([]int{1000, 1000, 7, 3, 1}).Draw(t, "outstanding"),
	}
}

// drawSpell draws how long a lease lasts: numbers that are not picked are mostly small.
func drawSpell(t *rapid.T) time.Duration {
	ms := rapid.SampledFrom([]int64{10_000, 30_000, 2000, 1}).Draw(t, "ms")
	return time.Duration(ms+rapid.Int64Range(0, 500).Draw(t, "more")) * time.Millisecond
}

func drawJitter(t *rapid.T) float64 {
	return float64(rapid.Int64Range(0, 1<<53-1).Draw(t, "jitter")) / (1 << 53)
}

// receipts picks deliveries that s was given, the last ones or some time ago.
func (m *machine) receipts(s *modelSub) []subscriptions.Receipt {
	if len(s.handed) == 0 {
		m.Skip("nothing was delivered")
	}
	// Most of what was delivered last, or anything with a gap, or the same twice.
	back := rapid.IntRange(1, min(len(s.handed), 12)).Draw(m.T, "back")
	recent := s.handed[len(s.handed)-back:]
	rs := slices.Clone(recent[:rapid.IntRange(1, len(recent)).Draw(m.T, "receipts")])
	return append(rs, s.handed[rapid.IntRange(0, len(s.handed)-1).Draw(m.T, "any")])
}

func (m *machine) ack() {
	s := m.anySub()
	rs := m.receipts(s)
	m.do("ack", func(store subscriptions.Store) error { return store.Acknowledge(ctx, s.ref, rs) })
	s.gone(rs)
}

// seize makes messages dead, in place of an operator who dead-letters them.
func (m *machine) seize() {
	s := m.anySub()
	r := m.receipts(s)[0]
	seized := must(m, "seize", func(store subscriptions.Store) (bool, error) { return store.Seize(ctx, s.ref, r, hold) })
	if msg := s.messages[r.ID]; seized && msg != nil {
		msg.until, msg.unsure = 0, true
	}
}

// unused compares how long all have not been used.
func (m *machine) unused() {
	refs := make([]subscriptions.Ref, len(m.subs))
	for i, s := range m.subs {
		refs[i] = s.ref
	}
	must(m, "unused", func(store subscriptions.Store) ([]time.Duration, error) { return store.Unused(ctx, refs) })
}

func (m *machine) confirm() {
	s := m.anySub()
	rs := m.receipts(s)
	slices.SortFunc(rs, func(a, b subscriptions.Receipt) int {
		return cmp.Or(a.ID.Compare(b.ID), cmp.Compare(b.Number, a.Number))
	})
	rs = slices.Compact(rs)
	missed := must(m, "confirm", func(store subscriptions.Store) (subscriptions.Missed, error) { return store.Confirm(ctx, s.ref, rs) })
	s.confirmed(m, rs, missed)
}

func (m *machine) extend() {
	s := m.anySub()
	rs := m.receipts(s)
	d := drawSpell(m.T)
	must(m, "extend", func(store subscriptions.Store) ([]subscriptions.Receipt, error) {
		return store.Extend(ctx, s.ref, rs, d)
	})
	s.extended(m, rs, d)
}

func (m *machine) nack() {
	s := m.anySub()
	r := subscriptions.NackRequest{Ref: s.ref, Rules: s.rules, Jitter: drawJitter(m.T), Use: rapid.Bool().Draw(m.T, "use")}
	rs := m.receipts(s)
	for _, receipt := range rs {
		wait := time.Duration(rapid.SampledFrom([]int64{0, 0, 1, 3000, 12_000}).Draw(m.T, "at least")) * time.Millisecond
		r.Nacks = append(r.Nacks, subscriptions.Nack{
			Receipt: receipt, AtLeast: wait, Failure: drawFailure(m.T),
		})
	}
	must(m, "nack", func(store subscriptions.Store) ([]subscriptions.Receipt, error) { return store.Nack(ctx, r) })
	s.ended(m, rs, false)
}

func (m *machine) release() {
	s := m.anySub()
	rs := m.receipts(s)
	why := drawFailure(m.T)
	m.do("release", func(store subscriptions.Store) error { return store.Release(ctx, s.ref, releases(rs, why)) })
	s.ended(m, rs, true)
}

func (m *machine) sweep() {
	s := m.anySub()
	m.sweepOne(s, rapid.SampledFrom([]int{10, 1, 3, 0}).Draw(m.T, "max"))
}

// sweepOne sweeps s and tells whether there is more to do.
func (m *machine) sweepOne(s *modelSub, limit int) (more bool) {
	r := subscriptions.SweepRequest{Ref: s.ref, Rules: s.rules, Max: limit, Hold: 5 * time.Second, Jitter: drawJitter(m.T)}
	r.Review = rapid.SampledFrom([]int{-1, 0, 3}).Draw(m.T, "review")
	result := must(m, "sweep", func(store subscriptions.Store) (result subscriptions.SweepResult, err error) {
		// A store may drop what is too old in bounded steps, and the other at once.
		for range 10 {
			if result, err = store.Sweep(ctx, r); err != nil || !result.More || len(result.Dead) > 0 {
				break
			}
		}
		return result, err
	})
	s.swept(m, r, result)
	return result.More
}

// move does some of the steps that take dead messages to their topic, for what sweeps have found lately or long ago.
func (m *machine) move() {
	s := m.anySub()
	if len(s.dead) == 0 {
		m.Skip("nothing died")
	}
	back := rapid.IntRange(1, min(len(s.dead), 6)).Draw(m.T, "back")
	dead := s.dead[len(s.dead)-back:]
	dead = dead[:rapid.IntRange(1, len(dead)).Draw(m.T, "dead")]
	for i, step := range []func(*modelSub, []subscriptions.Delivery){m.appendDead, m.settleDead, m.forgetDead} {
		// Each has its turn or not: crashes, and others who do the same, are all possible.
		if rapid.IntRange(0, 4).Draw(m.T, "step") != i {
			step(s, dead)
		}
	}
}

func (m *machine) appendDead(s *modelSub, dead []subscriptions.Delivery) {
	t := m.topics[1]
	msgs := make([]subscriptions.Message, len(dead))
	for i, d := range dead {
		msgs[i] = d.Message
	}
	m.do("append dead", func(store subscriptions.Store) error {
		return store.AppendDead(ctx, t.ref, s.ref.Subscription, msgs, keep)
	})
	for _, msg := range msgs {
		if key := (takenKey{s.ref.Subscription, msg.ID}); !t.taken[key] {
			t.taken[key] = true
			t.n++
			t.attributes = append(t.attributes, msg.Attributes)
		}
	}
}

func (m *machine) settleDead(s *modelSub, dead []subscriptions.Delivery) {
	rs := receipts(dead)
	m.do("settle dead", func(store subscriptions.Store) error { return store.SettleDead(ctx, s.ref, rs) })
	s.gone(slices.DeleteFunc(rs, func(r subscriptions.Receipt) bool { return s.backSince(r) }))
}

func (m *machine) forgetDead(s *modelSub, dead []subscriptions.Delivery) {
	t := m.topics[1]
	ids := make([]subscriptions.MessageID, len(dead))
	for i, d := range dead {
		ids[i] = d.Message.ID
		delete(t.taken, takenKey{s.ref.Subscription, d.Message.ID})
	}
	m.do("forget dead", func(store subscriptions.Store) error {
		return store.ForgetDead(ctx, t.ref.UID, s.ref.Subscription, ids)
	})
}

// revise changes the rules, as a PATCH does.
func (m *machine) revise() {
	s := m.anySub()
	s.rules = drawRules(m.T, s.rules.Ordered, s.rules.Match)
	s.ref.Revision += rapid.Int64Range(0, 2).Draw(m.T, "by")
	m.do("revise", func(store subscriptions.Store) error { return store.Revise(ctx, s.ref) })
}

// retainTopic changes how long a topic keeps every message.
func (m *machine) retainTopic() {
	m.retain(m.anyTopic(), rapid.SampledFrom([]time.Duration{0, 10 * time.Minute, time.Hour, 2 * day}).Draw(m.T, "retention"))
}

func (m *machine) retain(t *modelTopic, d time.Duration) {
	m.trim() // what is not cut off yet, which may differ, would be kept now
	if d > t.ref.Retention {
		t.raised = max(m.latest, m.now()) + 1
	}
	t.ref.Revision++
	t.ref.Retention = d
	m.do("retain", func(store subscriptions.Store) error { return store.OpenTopic(ctx, t.ref) })
}

// retainAcked changes how long what a subscription acked is kept.
func (m *machine) retainAcked() {
	s := m.anySub()
	m.trim() // as in retain
	s.ref.Revision++
	d := rapid.SampledFrom([]time.Duration{0, 10 * time.Minute, time.Hour}).Draw(m.T, "retention")
	if d > s.ref.Retain {
		s.raised = max(m.latest, m.now()) + 1
	}
	s.ref.Retain = d
	m.do("retain acked", func(store subscriptions.Store) error { return store.Revise(ctx, s.ref) })
}

func (m *machine) reattach() {
	s := m.anySub()
	if s.topic.closed {
		m.refused("attach again", subscriptions.ErrGone, func(store subscriptions.Store) error {
			return store.Attach(ctx, s.ref, s.name)
		})
		return
	}
	s.ref.Revision += rapid.Int64Range(0, 2).Draw(m.T, "by")
	m.do("attach again", func(store subscriptions.Store) error { return store.Attach(ctx, s.ref, s.name) })
}

func (m *machine) stale() {
	s := m.anySub()
	rs := m.receipts(s)
	ref := s.ref
	ref.Revision--
	m.refused("stale ack", subscriptions.ErrStale, func(store subscriptions.Store) error {
		return store.Acknowledge(ctx, ref, rs)
	})
	m.refused("stale lease", subscriptions.ErrStale, func(store subscriptions.Store) error {
		_, err := store.Lease(ctx, subscriptions.LeaseRequest{Ref: ref, Rules: s.rules, Max: 10, MaxBytes: 100, Deadline: deadline})
		return err
	})
}

func (m *machine) attachAny() {
	if len(m.subs) >= 4 {
		m.Skip("enough is attached")
	}
	m.attach(m.anyTopic())
}

func (m *machine) dropAny() {
	if rapid.IntRange(0, 3).Draw(m.T, "really") < 3 {
		m.Skip("rarely")
	}
	m.drop(m.anySub())
}

// closeAny closes a topic for good and goes on with another in its place.
func (m *machine) closeAny() {
	if rapid.IntRange(0, 7).Draw(m.T, "really") < 7 {
		m.Skip("rarely")
	}
	i := rapid.IntRange(0, 1).Draw(m.T, "topic")
	t := m.topics[i]
	m.do("close", func(s subscriptions.Store) error { return s.CloseTopic(ctx, t.ref.UID) })
	t.closed, t.ref.Retention, t.delayed = true, 0, nil
	m.refused("publish", subscriptions.ErrGone, func(s subscriptions.Store) error {
		_, err := s.Publish(ctx, t.ref, letters("late"))
		return err
	})
	m.refused("append dead", subscriptions.ErrGone, func(s subscriptions.Store) error {
		return s.AppendDead(ctx, t.ref, "source", letters("late"), keep)
	})
	m.refused("open", subscriptions.ErrGone, func(s subscriptions.Store) error { return s.OpenTopic(ctx, t.ref) })
	m.open(i)
}
