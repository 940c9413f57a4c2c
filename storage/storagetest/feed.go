package storagetest

import (
	"fmt"
	"testing"
	"time"

	"postrider/subscriptions"
)

var feeding = []check{
	{"servers live for their time", beatLives},
	{"a beat renews", beatRenews},
	{"leaving", beatLeave},
	{"the first beat", beatFirst},
	{"changes since a position", beatChanges},
	{"positions that are none", beatGarbage},
	{"many changes", beatMany},
}

// ttl is how long servers live in these cases.
const ttl = 5 * time.Second

func (r *rig) beat(server, position string) subscriptions.Beat {
	r.Helper()
	b, err := r.Store.Beat(r.Context(), server, ttl, position)
	r.ok(err)
	return b
}

func beatLives(r *rig) {
	same(r, "live", r.beat("b", "").Live, []string{"b"})
	r.Clock.Advance(time.Second)
	same(r, "live", r.beat("c", "").Live, []string{"b", "c"})
	r.Clock.Advance(ttl - time.Second - time.Millisecond)
	same(r, "live", r.beat("a", "").Live, []string{"a", "b", "c"})
	r.Clock.Advance(time.Millisecond)
	same(r, "live", r.beat("a", "").Live, []string{"a", "c"})
	r.Clock.Advance(time.Hour)
	same(r, "live", r.beat("a", "").Live, []string{"a"})
}

func beatRenews(r *rig) {
	r.beat("a", "")
	r.beat("c", "")
	for range 3 {
		r.Clock.Advance(ttl - time.Millisecond)
		r.beat("a", "")
	}
	same(r, "live", r.beat("b", "").Live, []string{"a", "b"})
}

func beatLeave(r *rig) {
	r.beat("a", "")
	r.beat("b", "")
	r.ok(r.Store.Leave(r.Context(), "a"))
	r.ok(r.Store.Leave(r.Context(), "a"))
	r.ok(r.Store.Leave(r.Context(), "never came"))
	same(r, "live", r.beat("b", "").Live, []string{"b"})
	same(r, "live", r.beat("a", "").Live, []string{"a", "b"})
}

func beatFirst(r *rig) {
	first := r.beat("a", "")
	same(r, "lost", first.Lost, true)
	same(r, "changes", len(first.Changes), 0)
	second := r.beat("a", first.Position)
	same(r, "lost", second.Lost, false)
	same(r, "changes", len(second.Changes), 0)
	same(r, "lost", r.beat("a", second.Position).Lost, false)
}

func beatChanges(r *rig) {
	k := topics(r)
	project := unique("p")
	insert := func(id string) subscriptions.Change {
		r.Helper()
		r.ok(k.insert(r.Context(), k.make(k.name(project, id), "u", 1)))
		return k.change(k.name(project, id))
	}
	insert("before")
	start := r.beat("a", "").Position
	one, two := insert("one"), insert("two")
	b := r.beat("a", start)
	same(r, "changes", b.Changes, []subscriptions.Change{one, two})
	three := insert("three")
	same(r, "changes", r.beat("a", b.Position).Changes, []subscriptions.Change{three})
	// Each server has its own position, and may ask again.
	same(r, "changes", r.beat("b", start).Changes, []subscriptions.Change{one, two, three})
	same(r, "changes", r.beat("a", start).Changes, []subscriptions.Change{one, two, three})
	same(r, "lost", r.beat("a", start).Lost, false)
}

func beatGarbage(r *rig) {
	r.beat("a", "")
	for _, position := range []string{"x", "0", "-1", "0-0", "1-1", ".", "x.0", "{}", "9999999999999-0", "9999999999999999999999"} {
		b := r.beat("a", position)
		same(r, fmt.Sprintf("lost at %q", position), b.Lost, true)
		same(r, "changes", len(b.Changes), 0)
		same(r, "lost", r.beat("a", b.Position).Lost, false)
	}
}

// beatOtherLife is about a position that another store gave, though at the same time and after as many changes.
func beatOtherLife(t *testing.T, factory Factory) {
	var positions []string
	for range 2 {
		r := &rig{t, factory(t)}
		k := topics(r)
		r.ok(k.insert(r.Context(), k.make(k.name("p", "id"), "u", 1)))
		positions = append(positions, r.beat("a", "").Position)
		same(r, "lost", r.beat("a", positions[0]).Lost, len(positions) == 2)
	}
}

// beatMany writes more changes than are remembered: a server is told all or that it missed some.
func beatMany(r *rig) {
	k := topics(r)
	name := k.name(unique("p"), "id")
	old := r.beat("a", "").Position
	var recent string
	const writes, last = 10_200, 9_000
	r.ok(k.insert(r.Context(), k.make(name, "u", 1)))
	for i := range int64(writes - 1) {
		if i+1 == writes-last {
			recent = r.beat("a", "").Position
		}
		r.ok(k.replace(r.Context(), subscriptions.Topic{Name: name, UID: "u", Revision: i + 2}))
	}
	same(r, "recent changes", r.drain(recent), last)
	if n := r.drain(old); n >= 0 && n != writes {
		r.Fatalf("%d of %d changes came, and nothing said that some were lost", n, writes)
	}
}

// drain counts the changes since a position, which may come in pages; -1 when some are lost.
func (r *rig) drain(position string) int {
	r.Helper()
	for n := 0; ; {
		b := r.beat("a", position)
		switch {
		case b.Lost:
			return -1
		case len(b.Changes) == 0:
			return n
		}
		n += len(b.Changes)
		position = b.Position
	}
}
