package storagetest

import (
	"time"

	"postrider/subscriptions"
)

var waking = []check{
	{"a publish", wakePublish},
	{"a publish with nothing attached", wakePublishAlone},
	{"a publish that is refused", wakePublishRefused},
	{"dead letters", wakeAppendDead},
	{"the first lease, and an earlier one", wakeLease},
	{"a lease of what waited", wakeLeaseAgain},
	{"a nack", wakeNack},
	{"a nack that is due later than others", wakeNackLater},
	{"a shorter lease", wakeExtend},
	{"a release", wakeRelease},
	{"a message that dies", wakeDead},
	{"a message that dies in a lease or a sweep", wakeDeadExpired},
	{"a message that lives again", wakeRevived},
	{"a place at the bound", wakeFreed},
	{"a place freed by a move or a sweep", wakeFreedOtherwise},
	{"an ack that frees nothing", wakeAck},
	{"a revision", wakeRevised},
	{"a revision that another call brings", wakeAdopted},
	{"a dropped subscription", wakeDropped},
	{"a closed topic", wakeClosed},
}

func wakePublish(r *rig) {
	t, _ := r.one()
	t.attach()
	w := r.watch(t.ref.UID)
	t.publish("a", "b", "c")
	w.brought(published)
	t.publish("d")
	t.publish("e")
	w.brought(published, published)
}

func wakePublishAlone(r *rig) {
	t := r.topic()
	w := r.watch(t.ref.UID)
	t.publish("a")
	w.brought()
}

func wakePublishRefused(r *rig) {
	t, _ := r.one()
	t.ref.Revision++
	t.publish()
	w := r.watch(t.ref.UID)
	stale := t.ref
	stale.Revision = 0
	_, err := r.Store.Publish(r.Context(), stale, letters("a"))
	r.is(err, subscriptions.ErrStale)
	w.brought()
}

func wakeAppendDead(r *rig) {
	t, s := r.one()
	w := r.watch(t.ref.UID)
	t.append(s, letters("a", "b")...)
	w.brought(published)
	t.append(s, letters("a", "b")...)
	w.brought() // nothing new came
	s.drop()
	w.brought(s.revised())
	t.append(s, letters("a", "b", "c")...)
	w.brought() // nobody to read it
}

func wakeLease(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c")
	w := r.watch(t.ref.UID)
	s.leases(1, "a")
	w.brought(s.due(deadline)) // who waits learns when there may be something
	r.Clock.Advance(time.Second)
	s.leases(1, "b")
	w.brought()
	req := s.request(1)
	req.Deadline = time.Second
	s.leaseWith(req)
	w.brought(s.due(time.Second))
	s.leases(1)
	w.brought()
}

// wakeLeaseAgain: a sweep waits for leases alone. So that the first one is told to it, it must be, though something was due
// before that already.
func wakeLeaseAgain(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	s.nack(s.leases(10, "a", "b")...)
	w := r.watch(t.ref.UID)
	d := s.leases(1, "a")
	w.brought(s.due(deadline))
	s.extend(time.Second, d...)
	w.brought(s.due(time.Second))
	r.Clock.Advance(time.Millisecond)
	s.leases(1, "b")
	w.brought()
}

func wakeNack(r *rig) {
	t, s := r.one()
	s.rules.Retry = fixed(3 * time.Second)
	t.publish("a", "b")
	ds := s.leases(10, "a", "b")
	w := r.watch(t.ref.UID)
	s.nack(ds...)
	w.brought(s.due(3 * time.Second))
	s.nack(ds...)
	w.brought() // had no effect
}

func wakeNackLater(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	ds := s.leases(10, "a", "b")
	w := r.watch(t.ref.UID)
	s.nackAtLeast(time.Minute, ds[0])
	w.brought()
	s.nackAtLeast(time.Second, ds[1])
	w.brought(s.due(time.Second))
}

func wakeExtend(r *rig) {
	t, s := r.one()
	t.publish("a", "b")
	ds := s.leases(10, "a", "b")
	w := r.watch(t.ref.UID)
	s.extend(time.Minute, ds...)
	w.brought()
	s.extend(time.Second, ds[1])
	w.brought(s.due(time.Second))
}

func wakeRelease(r *rig) {
	t, s := r.one()
	t.publish("a")
	d := s.leaseOne()
	w := r.watch(t.ref.UID)
	s.release(d)
	w.brought(s.due(0))
	s.release(d)
	w.brought()
}

func wakeDead(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 1
	t.publish("a", "b", "c")
	ds := s.leases(10, "a", "b", "c")
	w := r.watch(t.ref.UID)
	s.nack(ds[0])
	w.brought(s.due(0))
	s.nack(ds[1], ds[2])
	w.brought(s.due(0))
	s.sweep(10)
	w.brought()
	r.Clock.Advance(hold)
	s.sweep(10)
	w.brought()
}

func wakeDeadExpired(r *rig) {
	t, s := r.one()
	s.rules.MaxAttempts = 1
	t.publish("a", "b")
	s.leases(1, "a")
	r.Clock.Advance(deadline)
	w := r.watch(t.ref.UID)
	s.leases(1, "b") // finds a dead
	w.brought(s.due(0))
	r.Clock.Advance(deadline)
	s.sweep(10)
	w.brought(s.due(0))
	s.leases(1)
	w.brought()
}

func wakeRevived(r *rig) {
	t, s := r.one()
	t.publish("a")
	s.kill("a")
	s.rules.MaxAttempts = 0
	w := r.watch(t.ref.UID)
	s.sweep(10)
	w.brought(s.due(0))
	s.leases(10, "a")
}

func wakeFreed(r *rig) {
	t, s := r.one()
	s.rules.Outstanding = 2
	t.publish("a", "b", "c", "d", "e")
	ds := s.leases(10, "a", "b")
	w := r.watch(t.ref.UID)
	s.ack(ds[0])
	w.brought(s.due(0))
	s.ack(ds[1]) // who waited knows already
	w.brought()
	s.leases(10, "c", "d")
	w.collect()
	s.ack(ds...) // frees nothing
	w.brought()
}

func wakeFreedOtherwise(r *rig) {
	t, s := r.one()
	s.rules.Outstanding = 2
	s.rules.Retention = time.Hour
	t.publish("a", "b", "c", "d")
	s.kill("a", "b")
	s.leases(10)
	w := r.watch(t.ref.UID)
	dead := s.sweep(1).Dead
	w.brought()
	s.settle(dead...)
	w.brought(s.due(0))
	s.extend(day, s.leases(10, "c")...)
	r.Clock.Advance(time.Hour)
	t.publish("young")
	s.leases(10)
	w.collect()
	r.Clock.Advance(time.Millisecond)
	s.sweep(10)
	w.brought(s.due(0))
	s.leases(10, "young")
}

func wakeAck(r *rig) {
	t, s := r.one()
	t.publish("a", "b", "c")
	ds := s.leases(2, "a", "b")
	w := r.watch(t.ref.UID)
	s.ack(ds...)
	w.brought()
}

func wakeRevised(r *rig) {
	t, s := r.one()
	w := r.watch(t.ref.UID)
	s.ref.Revision++
	r.ok(r.Store.Revise(r.Context(), s.ref))
	w.brought(s.revised())
	r.ok(r.Store.Revise(r.Context(), s.ref))
	r.ok(r.Store.Attach(r.Context(), s.ref, s.name))
	w.brought()
	s.ref.Revision++
	r.ok(r.Store.Attach(r.Context(), s.ref, s.name))
	w.brought(s.revised())
	t.attach()
	w.brought()
}

func wakeAdopted(r *rig) {
	t, s := r.one()
	w := r.watch(t.ref.UID)
	s.ref.Revision++
	s.leases(10)
	w.brought(s.revised())
	s.ref.Revision++
	s.ack()
	w.brought(s.revised())
	s.ref.Revision++
	s.sweep(10)
	w.brought(s.revised())
}

func wakeDropped(r *rig) {
	t, s := r.one()
	w := r.watch(t.ref.UID)
	s.drop()
	w.brought(s.revised())
	s.drop()
	w.brought()
}

func wakeClosed(r *rig) {
	t, s := r.one()
	w := t.watchClosing()
	t.close()
	for _, wake := range w.until(w.end.revised()) {
		same(r, "wake-up", wake, s.revised())
	}
	t.close()
	s.ref.Revision++
	r.ok(r.Store.Revise(r.Context(), s.ref))
	w.end.drop()
	got := w.until(w.end.revised())
	same(r, "last wake-up", got[len(got)-1], s.revised())
}
