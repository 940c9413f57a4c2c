package storagetest

import (
	"time"

	"postrider/subscriptions"
)

var movingDead = []check{
	{"appended once for each source and id", appendOnce},
	{"appended once within a call", appendOnceInCall},
	{"forgotten, it may come again", appendForgotten},
	{"forgetting what was not taken", forgetUnknown},
	{"nothing to append", appendNothing},
	{"the order is kept", appendOrder},
	{"kept without subscriptions", keptAlone},
	{"kept does not mean delivered", keptNotDelivered},
	{"publishes are dropped while dead letters are kept", keptButPublishes},
	{"not kept when somebody reads it", notKeptWhenRead},
	{"settling twice", settleTwice},
	{"settling is no ack, and an ack no settling", settleCounts},
	{"a crash between any two steps", crashes},
}

// keep is how long dead letters are kept in these cases.
const keep = time.Hour

func (t *topic) append(source *sub, msgs ...subscriptions.Message) {
	t.Helper()
	t.ok(t.Store.AppendDead(t.Context(), t.ref, source.ref.Subscription, msgs, keep))
}

func (t *topic) forget(source *sub, ids ...subscriptions.MessageID) {
	t.Helper()
	t.ok(t.Store.ForgetDead(t.Context(), t.ref.UID, source.ref.Subscription, ids))
}

func appendOnce(r *rig) {
	t, reader := r.one()
	_, one := r.one()
	_, two := r.one()
	msgs := letters("a", "b", "c")
	t.append(one, msgs[:2]...)
	t.append(one, msgs[:2]...)
	t.append(two, msgs[0])
	r.Clock.Advance(day)
	t.append(one, msgs...) // only c is new
	reader.leases(10, "a", "b", "a", "c")
}

func appendOnceInCall(r *rig) {
	t, reader := r.one()
	msgs := letters("a", "b")
	t.append(reader, msgs[0], msgs[1], msgs[0])
	reader.leases(10, "a", "b")
}

func appendForgotten(r *rig) {
	t, reader := r.one()
	_, source := r.one()
	_, other := r.one()
	msgs := letters("a", "b")
	t.append(source, msgs...)
	t.append(other, msgs...)
	t.forget(source, msgs[0].ID)
	t.forget(source, msgs[0].ID)
	t.append(source, msgs...)
	t.append(other, msgs...)
	reader.leases(10, "a", "b", "a", "b", "a")
}

func forgetUnknown(r *rig) {
	t, reader := r.one()
	msgs := letters("a", "b")
	t.forget(reader, msgs[0].ID)
	t.forget(reader)
	t.append(reader, msgs[0])
	t.forget(reader, msgs[1].ID)
	t.append(reader, msgs[0])
	reader.leases(10, "a")
}

func appendNothing(r *rig) {
	t, reader := r.one()
	t.append(reader)
	t.append(reader, letters("a")...)
	t.append(reader, letters("a")...)
	same(r, "number", t.publish("b")[0].N(), 2)
	reader.leases(10, "a", "b")
}

func appendOrder(r *rig) {
	t, reader := r.one()
	msgs := letters("a", "b", "c")
	t.publish("before")
	t.append(reader, msgs[2], msgs[0])
	r.Clock.Advance(-time.Hour)
	t.append(reader, msgs[1])
	for i, d := range reader.leases(10, "before", "c", "a", "b") {
		same(r, "number", d.Message.ID.N(), int64(i+1))
		same(r, "publish time", d.Message.PublishTime(), r.Clock.Now().Add(time.Hour))
	}
}

func keptAlone(r *rig) {
	t := r.topic()
	source := &sub{rig: r, ref: subscriptions.Ref{Subscription: unique("s")}}
	msgs := letters("a", "b")
	t.append(source, msgs[0])
	r.Clock.Advance(time.Minute)
	t.append(source, msgs...)
	t.trim()
	same(r, "log", t.length(), 2)
	r.Clock.Advance(keep - time.Minute + time.Millisecond)
	t.trim()
	t.holds(1)
	r.Clock.Advance(time.Minute)
	t.trim()
	t.holds(0)
}

func keptNotDelivered(r *rig) {
	t := r.topic()
	source := &sub{rig: r, ref: subscriptions.Ref{Subscription: unique("s")}}
	t.append(source, letters("a")...)
	s := t.attach()
	same(r, "stats", s.stats(), subscriptions.Stats{})
	t.publish("b")
	s.ack(s.leases(10, "b")...)
	t.trim()
	same(r, "log", t.length(), 2) // a log has one beginning
	r.Clock.Advance(keep + time.Millisecond)
	t.trim()
	t.holds(0)
}

func keptButPublishes(r *rig) {
	t := r.topic()
	source := &sub{rig: r, ref: subscriptions.Ref{Subscription: unique("s")}}
	t.append(source, letters("a")...)
	same(r, "number", t.publish("b", "c")[1].N(), 3)
	same(r, "log", t.length(), 1)
	s := t.attach()
	same(r, "number", t.publish("d")[0].N(), 4)
	same(r, "stats", s.stats(), subscriptions.Stats{Undelivered: 1, Bytes: 1})
	s.leases(10, "d")
}

func notKeptWhenRead(r *rig) {
	t, reader := r.one()
	t.append(reader, letters("a")...)
	reader.ack(reader.leaseOne())
	t.holds(0)
}

func settleTwice(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	s.kill("a", "b")
	dead := s.sweep(10).Dead
	s.settle(dead[0], dead[0])
	s.settle(dead[0])
	same(r, "stats", s.stats(), subscriptions.Stats{Outstanding: 1, Dead: 1, Bytes: 1, Nacked: 2, DeadLettered: 1})
	s.settle(dead...)
	same(r, "stats", s.stats(), subscriptions.Stats{Nacked: 2, DeadLettered: 2})
	t.holds(0)
}

func settleCounts(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	s.kill("a", "b")
	dead := s.sweep(10).Dead
	s.ack(dead[0])
	s.settle(dead[0])
	s.settle(dead[1])
	s.ack(dead[1])
	same(r, "stats", s.stats(), subscriptions.Stats{Nacked: 2, Acked: 1, DeadLettered: 1})
}

// crashes takes the first steps of a move, once one, then two, then three, before somebody else takes all of them.
func crashes(r *rig) {
	for steps := range 4 {
		t, s := r.one()
		letters, reader := r.one()
		t.publish("a")
		s.kill("a")
		move := func(steps int) {
			r.Helper()
			dead := s.sweep(10).Dead
			for _, d := range dead {
				if steps > 0 {
					letters.append(s, d.Message)
				}
				if steps > 1 {
					s.settle(d)
				}
				if steps > 2 {
					letters.forget(s, d.Message.ID)
				}
			}
		}
		move(steps)
		r.Clock.Advance(hold)
		move(3)
		same(r, "stats", s.stats(), subscriptions.Stats{Nacked: 1, DeadLettered: 1})
		reader.leases(10, "a")
	}
}
