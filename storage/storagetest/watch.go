package storagetest

import "postrider/subscriptions"

var watching = []check{
	{"records", wakeCatalog},
	{"every watcher of this topic and no other", wakeWatchers},
	{"no more after stop", wakeStopped},
	{"watched before it is opened", wakeBeforeOpen},
}

func wakeCatalog(r *rig) {
	w := r.watch(subscriptions.CatalogTopic)
	t, s := topics(r), subs(r)
	project := unique("p")
	tn, sn := t.name(project, "id"), s.name(project, "id")
	for _, write := range []func() error{
		func() error { return t.insert(r.Context(), t.make(tn, "u", 1)) },
		func() error { return t.replace(r.Context(), t.make(tn, "u", 2)) },
		func() error { return t.remove(r.Context(), tn, "u") },
		func() error { return s.insert(r.Context(), s.make(sn, "u", 1)) },
		func() error { return s.replace(r.Context(), s.make(sn, "u", 2)) },
		func() error { return s.remove(r.Context(), sn, "u") },
	} {
		r.ok(write())
		same(r, "wake-ups", w.until(published), []subscriptions.Wake{})
	}
	r.code(t.replace(r.Context(), t.make(tn, "u", 3)), subscriptions.Aborted)
	r.ok(t.remove(r.Context(), tn, "u"))
	w.none()
}

// none checks that nothing came, for a topic that has no end. Something wrong may come too late to be seen here.
func (w *recorder) none() {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	same(w.rig, "number of wake-ups", len(w.got), 0)
}

func wakeWatchers(r *rig) {
	t, _ := r.one()
	other, _ := r.one()
	one, two, elsewhere := r.watch(t.ref.UID), r.watch(t.ref.UID), r.watch(other.ref.UID)
	t.publish("a")
	same(r, "wake-ups", one.until(published), []subscriptions.Wake{})
	same(r, "wake-ups", two.until(published), []subscriptions.Wake{})
	elsewhere.brought()
}

func wakeStopped(r *rig) {
	t, _ := r.one()
	stopped, w := r.watch(t.ref.UID), r.watch(t.ref.UID)
	stopped.stop()
	t.publish("a")
	w.brought(published)
	stopped.none()
	stopped.stop()
	t.publish("b")
	w.brought(published)
}

func wakeBeforeOpen(r *rig) {
	t := &topic{r, subscriptions.TopicRef{UID: unique("t"), Revision: 1}}
	w := r.watch(t.ref.UID)
	r.ok(r.Store.OpenTopic(r.Context(), t.ref))
	s := t.attach()
	t.publish("a")
	s.leaseOne()
	w.brought(published, s.due(deadline))
}
