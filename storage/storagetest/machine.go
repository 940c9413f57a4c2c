package storagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"postrider/subscriptions"
)

// SideBySide checks that two stores answer the same random operations in the same way. Where they differ, one is wrong. In
// what they agree, a model checks what must hold for every message.
func SideBySide(t *testing.T, a, b Factory) {
	t.Helper()
	rapid.Check(t, Machine(a(t), b(t)))
}

// Machine is one run of SideBySide. The fixtures serve any number of runs one after another: each makes its own topics.
func Machine(a, b Fixture) func(*rapid.T) {
	return func(t *rapid.T) {
		m := &machine{T: t, sides: [2]Fixture{a, b}}
		for i := range m.topics {
			m.open(i)
			m.attach(m.topics[0])
		}
		for range 6 { // since 30 steps, rapid's usual number, are too few for a message to get far
			t.Repeat(m.actions())
		}
		m.finish()
	}
}

// actions are drawn equally often, so what is rare hides behind one.
func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"":            m.with(m.check),
		"publish":     m.with(m.publish),
		"lease":       m.with(m.lease),
		"lease again": m.with(m.lease),
		"ack":         m.with(m.ack),
		"confirm":     m.with(m.confirm),
		"extend":      m.with(m.extend),
		"nack":        m.with(m.nack),
		"nack again":  m.with(m.nack),
		"sweep":       m.with(m.sweep),
		"move":        m.with(m.move),
		"redrive":     m.with(m.redrive),
		"advance":     m.with(m.advance),
		"rare":        m.with(m.rare),
	}
}

func (m *machine) rare() {
	steps := []func(){
		m.trim, m.release, m.revise, m.stale, m.attachAny, m.reattach, m.dropAny, m.closeAny, m.flood, m.remaining, m.retainTopic, m.retainAcked,
		m.blocked, m.peek, m.peek, m.remove, m.remove, m.unused, m.seize, m.attempts, m.report, m.hasten, m.seek, m.seek, m.snapshot,
		m.restore, m.restore, m.dropSnapshot, m.appendDue, m.listDelayed, m.cancelDelayed, m.survey,
	}
	steps[rapid.IntRange(0, len(steps)-1).Draw(m.T, "which")]()
}

// machine drives two stores. topics[1] takes the dead letters of subscriptions to topics[0].
type machine struct {
	*rapid.T
	sides  [2]Fixture
	topics [2]*modelTopic
	subs   []*modelSub // all that are attached, also to topics that were closed
	sent   int
	// latest is the latest time there was: what ran out then stays so when the clock goes back.
	latest int64
}

// with makes an action of a step.
func (m *machine) with(step func()) func(*rapid.T) {
	return func(t *rapid.T) {
		m.T = t
		step()
	}
}

// now is the stores' time in milliseconds.
func (m *machine) now() int64 { return m.sides[0].Clock.Now().UnixMilli() }

// both makes a call on both stores and compares the answers.
func both[T any](m *machine, what string, call func(subscriptions.Store) (T, error)) (T, error) {
	m.Helper()
	a, errA := call(m.sides[0].Store)
	b, errB := call(m.sides[1].Store)
	if errorName(errA) != errorName(errB) {
		m.Fatalf("%s: one says %v, the other %v", what, errA, errB)
	}
	// As text, absent and empty are the same.
	textA, textB := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b)
	if textA != textB {
		m.Fatalf("%s:\none says  %s\nthe other %s", what, textA, textB)
	}
	m.Logf("%s: %s %s", what, textA, errorName(errA))
	return a, errA
}

// must is both for a call that has to succeed.
func must[T any](m *machine, what string, call func(subscriptions.Store) (T, error)) T {
	m.Helper()
	v, err := both(m, what, call)
	if err != nil {
		m.Fatalf("%s: %v", what, err)
	}
	return v
}

// do is must for a call that answers nothing.
func (m *machine) do(what string, call func(subscriptions.Store) error) {
	m.Helper()
	must(m, what, func(s subscriptions.Store) (any, error) { return nil, call(s) })
}

// refused checks that both stores refuse a call.
func (m *machine) refused(what string, want error, call func(subscriptions.Store) error) {
	m.Helper()
	_, err := both(m, what, func(s subscriptions.Store) (any, error) { return nil, call(s) })
	if !errors.Is(err, want) {
		m.Fatalf("%s: got %v, want %v", what, err, want)
	}
}

func errorName(err error) string {
	for _, known := range []error{subscriptions.ErrStale, subscriptions.ErrGone} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return string(subscriptions.CodeOf(err))
}

// ctx is a context for the calls; the machine's steps are never cancelled.
var ctx = context.Background()

// open makes the i-th topic anew.
func (m *machine) open(i int) {
	t := &modelTopic{ref: subscriptions.TopicRef{UID: unique("t"), Revision: 1}, taken: map[takenKey]bool{},
		over: map[subscriptions.MessageID]int64{}, lives: map[subscriptions.MessageID][]int64{}}
	m.do("open", func(s subscriptions.Store) error { return s.OpenTopic(ctx, t.ref) })
	m.topics[i] = t
}

func (m *machine) attach(t *modelTopic) {
	id := unique("s")
	t.becomeDue(m.now())
	s := &modelSub{
		topic: t, ref: subscriptions.Ref{Topic: t.ref.UID, Subscription: id, Revision: 1},
		name:     subscriptions.SubscriptionName{Project: "p", ID: id},
		rules:    drawRules(m.T, rapid.Bool().Draw(m.T, "ordered"), drawMatch(m.T)),
		from:     t.n,
		settled:  t.n,
		messages: map[subscriptions.MessageID]*modelMessage{},
		acks:     map[subscriptions.Receipt]int64{},
		final:    map[subscriptions.MessageID]bool{},
		back:     map[subscriptions.MessageID]int64{},
		bodies:   map[subscriptions.MessageID]subscriptions.Message{},
	}
	m.do("attach", func(store subscriptions.Store) error { return store.Attach(ctx, s.ref, s.name) })
	m.subs = append(m.subs, s)
}

func (m *machine) drop(s *modelSub) {
	m.do("drop", func(store subscriptions.Store) error { return store.Drop(ctx, s.ref.Topic, s.ref.Subscription) })
	m.subs = slices.DeleteFunc(m.subs, func(other *modelSub) bool { return other == s })
}

// check runs after every step.
func (m *machine) check() {
	seen := map[*modelTopic]bool{m.topics[0]: true, m.topics[1]: true}
	for _, s := range m.subs {
		seen[s.topic] = true
		s.topic.becomeDue(m.now())
		s.checkStats(m, m.stats(s))
	}
	for t := range seen {
		uid := t.ref.UID
		names := must(m, "attached", func(s subscriptions.Store) ([]subscriptions.SubscriptionName, error) {
			return s.Attached(ctx, uid)
		})
		if len(names) != m.attachedTo(t) {
			m.Fatalf("%d subscriptions are attached, want %d", len(names), m.attachedTo(t))
		}
	}
}

func (m *machine) attachedTo(t *modelTopic) (n int) {
	for _, s := range m.subs {
		if s.topic == t {
			n++
		}
	}
	return n
}

func (m *machine) stats(s *modelSub) subscriptions.Stats {
	m.Helper()
	return must(m, "stats", func(store subscriptions.Store) (subscriptions.Stats, error) {
		return store.Stats(ctx, s.ref)
	})
}

// trim cuts the logs and compares what they hold then.
func (m *machine) trim() {
	seen := map[*modelTopic]bool{m.topics[0]: true, m.topics[1]: true}
	for _, s := range m.subs {
		seen[s.topic] = true
	}
	for t := range seen {
		var held [2]int
		for i, side := range m.sides {
			for more := true; more; {
				var err error
				if more, err = side.Store.Trim(ctx, t.ref.UID); err != nil {
					m.Fatal(err)
				}
			}
			held[i] = side.LogLength(t.ref.UID)
		}
		// Each may hold its own slack, but neither less than is needed. What was put back has its contents beside the log, so whether
		// that holds it, too, is each store's affair.
		back := slices.ContainsFunc(m.subs, func(s *modelSub) bool { return s.topic == t && s.redriven > 0 })
		if held[0]+m.sides[1].Slack < held[1] || held[1]+m.sides[0].Slack < held[0] || !back && (held[0] == 0) != (held[1] == 0) {
			m.Fatalf("one log holds %d messages, the other %d", held[0], held[1])
		}
	}
}

// advance moves both clocks, sometimes back: the clock of a new master may lag.
func (m *machine) advance() {
	ms := rapid.SampledFrom([]int64{1, 1000, 5000, 10_000, 20_000, 60_000, 3_600_000, -700}).Draw(m.T, "ms")
	ms += rapid.Int64Range(0, 500).Draw(m.T, "more")
	for _, side := range m.sides {
		side.Clock.Advance(time.Duration(ms) * time.Millisecond)
	}
	m.latest = max(m.latest, m.now())
}

// finish takes what is left: every message has one end, and then nothing is kept.
func (m *machine) finish() {
	for _, side := range m.sides {
		side.Clock.Advance(day)
	}
	m.latest = m.now()
	for _, t := range m.topics {
		m.retain(t, 0)
		for len(t.snaps) > 0 {
			m.removeSnapshot(t, 0)
		}
	}
	for _, s := range m.subs {
		s.topic.becomeDue(m.now())
		s.ref.Revision++
		s.ref.Retain = 0
		s.rules = subscriptions.Rules{Retention: 7 * day, Outstanding: 1000, Ordered: s.rules.Ordered, Match: s.rules.Match}
		for m.sweepOne(s, 10) {
		}
		for more := true; more; {
			result := m.leaseOne(s, subscriptions.LeaseRequest{Max: 100, MaxBytes: 1 << 20, Run: 100, Deadline: deadline})
			more = result.More || len(result.Deliveries) > 0 // what is acked may let others come
			m.do("ack", func(store subscriptions.Store) error {
				return store.Acknowledge(ctx, s.ref, receipts(result.Deliveries))
			})
			s.gone(receipts(result.Deliveries))
		}
		stats := m.stats(s)
		s.checkStats(m, stats)
		if stats.Undelivered+stats.Outstanding > 0 {
			m.Fatalf("messages were left: %+v", stats)
		}
		if want := s.unmatched(); stats.Dropped+stats.Late == 0 && s.epoch == 0 && stats.Filtered != want {
			m.Fatalf("%d messages were passed over, want %d", stats.Filtered, want)
		}
	}
	m.trim()
	for _, side := range m.sides {
		for _, t := range m.topics {
			if n := side.LogLength(t.ref.UID); n > 0 {
				m.Fatalf("a log that nobody needs holds %d messages", n)
			}
		}
	}
}
