package storagetest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"postrider/subscriptions"
)

// rig is what a case works with: a fixture, and helpers that end the case when a call fails.
type rig struct {
	*testing.T
	Fixture
}

// topic is an open topic.
type topic struct {
	*rig
	ref subscriptions.TopicRef
}

// sub is an attached subscription. Cases change its rules as they need.
type sub struct {
	*rig
	ref   subscriptions.Ref
	name  subscriptions.SubscriptionName
	rules subscriptions.Rules
}

// day is longer than any case lasts, unless it says otherwise.
const day = 24 * time.Hour

func (r *rig) topic() *topic {
	r.Helper()
	t := &topic{r, subscriptions.TopicRef{UID: unique("t"), Revision: 1}}
	r.ok(r.Store.OpenTopic(r.Context(), t.ref))
	return t
}

// one opens a topic with one subscription.
func (r *rig) one() (*topic, *sub) {
	r.Helper()
	t := r.topic()
	return t, t.attach()
}

func (t *topic) attach() *sub {
	t.Helper()
	id := unique("s")
	s := &sub{
		rig:   t.rig,
		ref:   subscriptions.Ref{Topic: t.ref.UID, Subscription: id, Revision: 1},
		name:  subscriptions.SubscriptionName{Project: "p", ID: id},
		rules: subscriptions.Rules{Retention: 7 * day, Outstanding: 1000},
	}
	t.ok(t.Store.Attach(t.Context(), s.ref, s.name))
	return s
}

// publish appends one message for each data.
func (t *topic) publish(data ...string) []subscriptions.MessageID {
	t.Helper()
	msgs := make([]subscriptions.Message, len(data))
	for i, d := range data {
		msgs[i].Data = []byte(d)
	}
	return t.publishAll(msgs...)
}

func (t *topic) publishAll(msgs ...subscriptions.Message) []subscriptions.MessageID {
	t.Helper()
	ids, err := t.Store.Publish(t.Context(), t.ref, msgs)
	t.ok(err)
	return ids
}

func (t *topic) length() int { return t.LogLength(t.ref.UID) }

// trim trims until nothing is left to be trimmed.
func (t *topic) trim() {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = t.Store.Trim(t.Context(), t.ref.UID)
		t.ok(err)
	}
}

// deadline is how long leases last in cases that do not say.
const deadline = 10 * time.Second

// request asks for up to limit messages.
func (s *sub) request(limit int) subscriptions.LeaseRequest {
	return subscriptions.LeaseRequest{Ref: s.ref, Rules: s.rules, Max: limit, MaxBytes: 1 << 20, Run: 100, Deadline: deadline}
}

func (s *sub) leaseWith(r subscriptions.LeaseRequest) subscriptions.LeaseResult {
	s.Helper()
	result, err := s.Store.Lease(s.Context(), r)
	s.ok(err)
	return result
}

func (s *sub) lease(limit int) []subscriptions.Delivery {
	s.Helper()
	return s.leaseWith(s.request(limit)).Deliveries
}

// leaseOne leases the only message there is.
func (s *sub) leaseOne() subscriptions.Delivery {
	s.Helper()
	ds := s.lease(10)
	if len(ds) != 1 {
		s.Fatalf("leased %d messages, want 1: %v", len(ds), data(ds))
	}
	return ds[0]
}

func (s *sub) ack(ds ...subscriptions.Delivery) {
	s.Helper()
	s.ok(s.Store.Acknowledge(s.Context(), s.ref, receipts(ds)))
}

func (s *sub) extend(d time.Duration, ds ...subscriptions.Delivery) {
	s.Helper()
	_, err := s.Store.Extend(s.Context(), s.ref, receipts(ds), d)
	s.ok(err)
}

func (s *sub) release(ds ...subscriptions.Delivery) {
	s.Helper()
	s.ok(s.Store.Release(s.Context(), s.ref, releases(receipts(ds), subscriptions.Failure{})))
}

func (s *sub) nack(ds ...subscriptions.Delivery) {
	s.Helper()
	s.nackAtLeast(0, ds...)
}

func (s *sub) nackAtLeast(d time.Duration, ds ...subscriptions.Delivery) {
	s.Helper()
	r := subscriptions.NackRequest{Ref: s.ref, Rules: s.rules}
	for _, receipt := range receipts(ds) {
		r.Nacks = append(r.Nacks, subscriptions.Nack{Receipt: receipt, AtLeast: d})
	}
	_, err := s.Store.Nack(s.Context(), r)
	s.ok(err)
}

// hold is how long swept messages are held.
const hold = time.Minute

func (s *sub) sweep(limit int) subscriptions.SweepResult {
	s.Helper()
	return s.review(limit, -1)
}

// review sweeps and looks through what waits, from a place on.
func (s *sub) review(limit, place int) subscriptions.SweepResult {
	s.Helper()
	result, err := s.Store.Sweep(s.Context(), subscriptions.SweepRequest{Ref: s.ref, Rules: s.rules, Max: limit, Hold: hold, Review: place})
	s.ok(err)
	return result
}

func (s *sub) settle(ds ...subscriptions.Delivery) {
	s.Helper()
	s.ok(s.Store.SettleDead(s.Context(), s.ref, receipts(ds)))
}

func (s *sub) drop() {
	s.Helper()
	s.ok(s.Store.Drop(s.Context(), s.ref.Topic, s.ref.Subscription))
}

func (s *sub) stats() subscriptions.Stats {
	s.Helper()
	stats, err := s.Store.Stats(s.Context(), s.ref)
	s.ok(err)
	return stats
}

func receipts(ds []subscriptions.Delivery) []subscriptions.Receipt {
	var rs []subscriptions.Receipt
	for _, d := range ds {
		rs = append(rs, d.Receipt())
	}
	return rs
}

// releases gives receipts back for a reason, or none.
func releases(rs []subscriptions.Receipt, why subscriptions.Failure) []subscriptions.Release {
	var all []subscriptions.Release
	for _, r := range rs {
		all = append(all, subscriptions.Release{Receipt: r, Failure: why})
	}
	return all
}

func data(ds []subscriptions.Delivery) []string {
	texts := []string{}
	for _, d := range ds {
		texts = append(texts, string(d.Message.Data))
	}
	return texts
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) is(err, want error) {
	r.Helper()
	if !errors.Is(err, want) {
		r.Fatalf("got the error %v, want %v", err, want)
	}
}

func (r *rig) code(err error, want subscriptions.Code) {
	r.Helper()
	if subscriptions.CodeOf(err) != want {
		r.Fatalf("got the error %v, want %s", err, want)
	}
}

// same ends a case unless got is what it should be.
func same[T any](r *rig, what string, got, want T) {
	r.Helper()
	if !reflect.DeepEqual(got, want) {
		r.Fatalf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// leases checks what a lease brings.
func (s *sub) leases(limit int, want ...string) []subscriptions.Delivery {
	s.Helper()
	ds := s.lease(limit)
	same(s.rig, "leased", data(ds), append([]string{}, want...))
	return ds
}
