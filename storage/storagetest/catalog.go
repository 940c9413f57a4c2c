package storagetest

import (
	"context"
	"reflect"
	"slices"
	"time"

	"postrider/subscriptions"
)

// kind is a kind of record, so that each case is written once for all.
type kind[N comparable, R any] struct {
	make    func(name N, uid string, revision int64) R
	name    func(project, id string) N
	insert  func(context.Context, R) error
	get     func(context.Context, N) (R, error)
	replace func(context.Context, R) error
	remove  func(context.Context, N, string) error
	list    func(ctx context.Context, project, after string, limit int) ([]R, error)
	change  func(N) subscriptions.Change
}

func topics(r *rig) kind[subscriptions.TopicName, subscriptions.Topic] {
	return kind[subscriptions.TopicName, subscriptions.Topic]{
		func(name subscriptions.TopicName, uid string, revision int64) subscriptions.Topic {
			t := filled[subscriptions.Topic]()
			t.Name, t.UID, t.Revision = name, uid, revision
			return t
		},
		func(project, id string) subscriptions.TopicName {
			return subscriptions.TopicName{Project: project, ID: id}
		},
		r.Store.InsertTopic, r.Store.Topic, r.Store.ReplaceTopic, r.Store.RemoveTopic, r.Store.ListTopics,
		func(n subscriptions.TopicName) subscriptions.Change { return subscriptions.Change{Topic: n} },
	}
}

func subs(r *rig) kind[subscriptions.SubscriptionName, subscriptions.Subscription] {
	return kind[subscriptions.SubscriptionName, subscriptions.Subscription]{
		func(name subscriptions.SubscriptionName, uid string, revision int64) subscriptions.Subscription {
			s := filled[subscriptions.Subscription]()
			s.TopicDeleted, s.TopicRetention, s.Expires = false, 0, time.Time{} // are not stored
			s.Name, s.UID, s.Revision = name, uid, revision
			return s
		},
		func(project, id string) subscriptions.SubscriptionName {
			return subscriptions.SubscriptionName{Project: project, ID: id}
		},
		r.Store.InsertSubscription, r.Store.Subscription, r.Store.ReplaceSubscription, r.Store.RemoveSubscription,
		r.Store.ListSubscriptions,
		func(n subscriptions.SubscriptionName) subscriptions.Change {
			return subscriptions.Change{Subscription: n}
		},
	}
}

func snaps(r *rig) kind[subscriptions.SnapshotName, subscriptions.Snapshot] {
	return kind[subscriptions.SnapshotName, subscriptions.Snapshot]{
		func(name subscriptions.SnapshotName, uid string, revision int64) subscriptions.Snapshot {
			s := filled[subscriptions.Snapshot]()
			s.TopicDeleted = false // is not stored
			s.Name, s.UID, s.Revision = name, uid, revision
			return s
		},
		func(project, id string) subscriptions.SnapshotName {
			return subscriptions.SnapshotName{Project: project, ID: id}
		},
		r.Store.InsertSnapshot, r.Store.Snapshot, r.Store.ReplaceSnapshot, r.Store.RemoveSnapshot, r.Store.ListSnapshots,
		func(n subscriptions.SnapshotName) subscriptions.Change { return subscriptions.Change{Snapshot: n} },
	}
}

var cataloguing = []check{
	{"topics round trip", func(r *rig) { roundTrip(r, topics(r)) }},
	{"subscriptions round trip", func(r *rig) { roundTrip(r, subs(r)) }},
	{"snapshots round trip", func(r *rig) { roundTrip(r, snaps(r)) }},
	{"topics are inserted once", func(r *rig) { insertOnce(r, topics(r)) }},
	{"subscriptions are inserted once", func(r *rig) { insertOnce(r, subs(r)) }},
	{"snapshots are inserted once", func(r *rig) { insertOnce(r, snaps(r)) }},
	{"topics are replaced in order", func(r *rig) { replaceInOrder(r, topics(r)) }},
	{"subscriptions are replaced in order", func(r *rig) { replaceInOrder(r, subs(r)) }},
	{"snapshots are replaced in order", func(r *rig) { replaceInOrder(r, snaps(r)) }},
	{"topics are removed by uid", func(r *rig) { removeByUID(r, topics(r)) }},
	{"subscriptions are removed by uid", func(r *rig) { removeByUID(r, subs(r)) }},
	{"snapshots are removed by uid", func(r *rig) { removeByUID(r, snaps(r)) }},
	{"topics are listed in pages", func(r *rig) { listPages(r, topics(r)) }},
	{"subscriptions are listed in pages", func(r *rig) { listPages(r, subs(r)) }},
	{"snapshots are listed in pages", func(r *rig) { listPages(r, snaps(r)) }},
	{"topics of one project only", func(r *rig) { listProject(r, topics(r)) }},
	{"subscriptions of one project only", func(r *rig) { listProject(r, subs(r)) }},
	{"snapshots of one project only", func(r *rig) { listProject(r, snaps(r)) }},
	{"topics are isolated", func(r *rig) { recordsIsolated(r, topics(r)) }},
	{"subscriptions are isolated", func(r *rig) { recordsIsolated(r, subs(r)) }},
	{"snapshots are isolated", func(r *rig) { recordsIsolated(r, snaps(r)) }},
	{"the kinds share no names", kindsApart},
	{"projects", projects},
	{"changes of topics", func(r *rig) { changes(r, topics(r)) }},
	{"changes of subscriptions", func(r *rig) { changes(r, subs(r)) }},
	{"changes of snapshots", func(r *rig) { changes(r, snaps(r)) }},
}

func roundTrip[N comparable, R any](r *rig, k kind[N, R]) {
	name := k.name(unique("p"), "an-id.with_~+%all")
	_, err := k.get(r.Context(), name)
	r.code(err, subscriptions.NotFound)
	want := k.make(name, "u", 1)
	r.ok(k.insert(r.Context(), want))
	got, err := k.get(r.Context(), name)
	r.ok(err)
	same(r, "record", got, want)
}

func insertOnce[N comparable, R any](r *rig, k kind[N, R]) {
	name := k.name(unique("p"), "id")
	r.ok(k.insert(r.Context(), k.make(name, "u", 1)))
	r.code(k.insert(r.Context(), k.make(name, "u", 1)), subscriptions.AlreadyExists)
	r.code(k.insert(r.Context(), k.make(name, "other", 1)), subscriptions.AlreadyExists)
	got, err := k.get(r.Context(), name)
	r.ok(err)
	same(r, "record", got, k.make(name, "u", 1))
}

func replaceInOrder[N comparable, R any](r *rig, k kind[N, R]) {
	name := k.name(unique("p"), "id")
	r.code(k.replace(r.Context(), k.make(name, "u", 2)), subscriptions.Aborted)
	r.ok(k.insert(r.Context(), k.make(name, "u", 1)))
	for _, refused := range []R{
		k.make(name, "u", 1), k.make(name, "u", 3), k.make(name, "u", 0), k.make(name, "other", 2),
		k.make(k.name(unique("p"), "id"), "u", 2),
	} {
		r.code(k.replace(r.Context(), refused), subscriptions.Aborted)
	}
	r.ok(k.replace(r.Context(), k.make(name, "u", 2)))
	r.code(k.replace(r.Context(), k.make(name, "u", 2)), subscriptions.Aborted)
	r.ok(k.replace(r.Context(), k.make(name, "u", 3)))
	got, err := k.get(r.Context(), name)
	r.ok(err)
	same(r, "record", got, k.make(name, "u", 3))
}

func removeByUID[N comparable, R any](r *rig, k kind[N, R]) {
	name := k.name(unique("p"), "id")
	r.ok(k.remove(r.Context(), name, "u")) // there is none
	r.ok(k.insert(r.Context(), k.make(name, "u", 1)))
	r.ok(k.remove(r.Context(), name, "other"))
	_, err := k.get(r.Context(), name)
	r.ok(err)
	r.ok(k.remove(r.Context(), name, "u"))
	_, err = k.get(r.Context(), name)
	r.code(err, subscriptions.NotFound)
	r.ok(k.insert(r.Context(), k.make(name, "other", 1)))
}

func listPages[N comparable, R any](r *rig, k kind[N, R]) {
	project := unique("p")
	ids := []string{"b-1", "B", "a", "a.b", "a-b", "a+", "c", "b1", "a~", "a%", "Z", "b_1"}
	for _, id := range ids {
		r.ok(k.insert(r.Context(), k.make(k.name(project, id), "u-"+id, 1)))
	}
	slices.Sort(ids)
	list := func(after string, limit int) []R {
		records, err := k.list(r.Context(), project, after, limit)
		r.ok(err)
		return records
	}
	for from := range ids {
		after := ""
		if from > 0 {
			after = ids[from-1]
		}
		var want []R
		for _, id := range ids[from:min(from+5, len(ids))] {
			want = append(want, k.make(k.name(project, id), "u-"+id, 1))
		}
		same(r, "page", list(after, 5), want)
	}
	same(r, "page after the last", len(list("c", 5)), 0)
	same(r, "page after what is not there", len(list("a-", 100)), len(ids)-slices.Index(ids, "a-b"))
	same(r, "all", len(list("", 100)), len(ids))
}

func listProject[N comparable, R any](r *rig, k kind[N, R]) {
	a := unique("p")
	for _, project := range []string{a + "b", a + "-", a + ":x", "x" + a} {
		r.ok(k.insert(r.Context(), k.make(k.name(project, "id"), "u", 1)))
	}
	records, err := k.list(r.Context(), a, "", 100)
	r.ok(err)
	same(r, "records", len(records), 0)
	r.ok(k.insert(r.Context(), k.make(k.name(a, "id"), "u", 1)))
	records, err = k.list(r.Context(), a, "", 100)
	r.ok(err)
	same(r, "records", records, []R{k.make(k.name(a, "id"), "u", 1)})
}

func recordsIsolated[N comparable, R any](r *rig, k kind[N, R]) {
	name := k.name(unique("p"), "id")
	want := k.make(name, "u", 1)
	mine := k.make(name, "u", 1)
	r.ok(k.insert(r.Context(), mine))
	spoil(reflect.ValueOf(&mine).Elem())
	read, err := k.get(r.Context(), name)
	r.ok(err)
	same(r, "record", read, want)
	spoil(reflect.ValueOf(&read).Elem())
	listed, err := k.list(r.Context(), projectOf(read), "", 1)
	r.ok(err)
	same(r, "record", listed, []R{want})
	spoil(reflect.ValueOf(&listed[0]).Elem())
	read, err = k.get(r.Context(), name)
	r.ok(err)
	same(r, "record", read, want)
}

func kindsApart(r *rig) {
	t, s := topics(r), subs(r)
	project := unique("p")
	r.ok(t.insert(r.Context(), t.make(t.name(project, "id"), "t", 1)))
	_, err := s.get(r.Context(), s.name(project, "id"))
	r.code(err, subscriptions.NotFound)
	r.ok(s.insert(r.Context(), s.make(s.name(project, "id"), "s", 1)))
	r.ok(t.remove(r.Context(), t.name(project, "id"), "t"))
	_, err = s.get(r.Context(), s.name(project, "id"))
	r.ok(err)
	n := snaps(r)
	_, err = n.get(r.Context(), n.name(project, "id"))
	r.code(err, subscriptions.NotFound)
	r.ok(n.insert(r.Context(), n.make(n.name(project, "id"), "n", 1)))
	r.ok(s.remove(r.Context(), s.name(project, "id"), "s"))
	_, err = n.get(r.Context(), n.name(project, "id"))
	r.ok(err)
}

func projects(r *rig) {
	a, b, c, d := unique("a"), unique("b"), unique("c"), unique("d")
	t, s, n := topics(r), subs(r), snaps(r)
	r.ok(n.insert(r.Context(), n.make(n.name(d, "one"), "n", 1)))
	r.ok(t.insert(r.Context(), t.make(t.name(b, "one"), "t", 1)))
	r.ok(t.insert(r.Context(), t.make(t.name(b, "two"), "t", 1)))
	r.ok(s.insert(r.Context(), s.make(s.name(a, "id"), "s", 1)))
	r.ok(s.insert(r.Context(), s.make(s.name(c, "id"), "s", 1)))
	r.ok(s.remove(r.Context(), s.name(c, "id"), "s"))
	got, err := r.Store.Projects(r.Context())
	r.ok(err)
	slices.Sort(got)
	same(r, "projects", got, []string{a, b, c, d})
}

// changes are entered by what wrote something, and by nothing else.
func changes[N comparable, R any](r *rig, k kind[N, R]) {
	position := r.beat("server", "").Position
	name := k.name(unique("p"), "id")
	r.ok(k.insert(r.Context(), k.make(name, "u", 1)))
	r.code(k.insert(r.Context(), k.make(name, "u", 1)), subscriptions.AlreadyExists)
	r.ok(k.replace(r.Context(), k.make(name, "u", 2)))
	r.code(k.replace(r.Context(), k.make(name, "u", 2)), subscriptions.Aborted)
	r.ok(k.remove(r.Context(), name, "other"))
	r.ok(k.remove(r.Context(), name, "u"))
	r.ok(k.remove(r.Context(), name, "u"))
	want := slices.Repeat([]subscriptions.Change{k.change(name)}, 3)
	same(r, "changes", r.beat("server", position).Changes, want)
}
