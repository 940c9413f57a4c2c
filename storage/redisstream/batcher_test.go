package redisstream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// held is a store whose Redis does not answer writes until release, so that publishes pile up.
type held struct {
	*sub
	server  *redistest.Server
	answers []chan answer
	before  redistest.Calls
}

type answer struct {
	ids []subscriptions.MessageID
	err error
}

// hold sends a first publish, which is then on its way.
func hold(t *testing.T) *held {
	t.Helper()
	server := redistest.Start(t)
	h := &held{sub: attach(t, open(t, server.URL(), redisstream.Options{}), "topic"), server: server}
	h.publish(1) // the script is known now
	h.before = server.CommandCalls(t)
	admin := server.Client(t)
	h.ok(admin.Do(t.Context(), "client", "pause", 60_000, "write").Err())
	h.send(t.Context(), h.topic, 1)
	eventually(t, func() error { return is(h.store.Queues(), 1, "topics under way") })
	eventually(t, func() error { return is(h.store.Waiting(), 0, "publishes waiting") })
	return h
}

func is(got, want int, what string) error {
	if got != want {
		return fmt.Errorf("%d %s, want %d", got, what, want)
	}
	return nil
}

// send publishes beside the test, which goes on once the request has queued up.
func (h *held) send(ctx context.Context, topic subscriptions.TopicRef, n int) {
	h.Helper()
	h.sendUntil(ctx, topic, n, h.store.Waiting()+1)
}

// sendUntil publishes beside the test, which goes on once so many requests wait.
func (h *held) sendUntil(ctx context.Context, topic subscriptions.TopicRef, n, waiting int) {
	h.Helper()
	c := make(chan answer, 1)
	go func() {
		ids, err := h.store.Publish(ctx, topic, messages(n))
		c <- answer{ids, err}
	}()
	if h.answers = append(h.answers, c); len(h.answers) > 1 {
		eventually(h, func() error { return is(h.store.Waiting(), waiting, "publishes waiting") })
	}
}

// release lets Redis answer and returns all answers.
func (h *held) release() []answer {
	h.Helper()
	h.ok(h.server.Client(h).Do(h.Context(), "client", "unpause").Err())
	var answers []answer
	for _, c := range h.answers {
		answers = append(answers, <-c)
	}
	if n := h.store.Queues(); n != 0 {
		eventually(h, func() error { return is(h.store.Queues(), 0, "topics under way") })
	}
	return answers
}

// scripts is how many publish scripts ran since hold.
func (h *held) scripts() int64 { return h.server.CommandCalls(h).Since(h.before)["evalsha"] }

func TestPublishesAreMerged(t *testing.T) {
	t.Parallel()
	h := hold(t)
	for range 50 {
		h.send(t.Context(), h.topic, 2)
	}
	var ids []subscriptions.MessageID
	for _, a := range h.release() {
		h.ok(a.err)
		ids = append(ids, a.ids...)
	}
	if len(ids) != 101 || !slices.IsSortedFunc(ids, subscriptions.MessageID.Compare) {
		t.Errorf("ids: %v", ids)
	}
	if got := h.scripts(); got != 2 {
		t.Errorf("%d scripts for 51 publishes, want 2", got)
	}
	if got := len(h.lease(200)); got != 102 {
		t.Errorf("%d messages came, want 102", got)
	}
}

func TestMergingIsBounded(t *testing.T) {
	t.Parallel()
	h := hold(t)
	h.send(t.Context(), h.topic, 90)
	h.send(t.Context(), h.topic, 90)
	h.sendUntil(t.Context(), h.topic, 90, 1) // a whole batch does not wait for the one on its way: the first two leave
	h.send(t.Context(), h.topic, 90)
	h.send(t.Context(), h.topic, 1000) // more than is merged, and yet one step
	h.send(t.Context(), h.topic, 1)
	answers := h.release()
	for _, a := range answers {
		h.ok(a.err)
	}
	if got := h.scripts(); got != 5 {
		t.Errorf("%d scripts, want 5", got)
	}
	large := answers[5].ids
	if first, last := large[0], large[999]; last.N()-first.N() != 999 || last.Milli != first.Milli {
		t.Errorf("the large request got %s to %s", first, last)
	}
}

func TestCancelledPublishLeavesTheOthers(t *testing.T) {
	t.Parallel()
	h := hold(t)
	ctx, cancel := context.WithCancel(t.Context())
	h.send(t.Context(), h.topic, 1)
	h.send(ctx, h.topic, 1)
	h.send(t.Context(), h.topic, 1)
	cancel()
	eventually(t, func() error { return is(h.store.Waiting(), 2, "publishes waiting") })
	for i, a := range h.release() {
		if i == 2 {
			if !errors.Is(a.err, context.Canceled) || subscriptions.CodeOf(a.err) != subscriptions.Canceled {
				t.Errorf("the cancelled one got %v", a.err)
			}
			continue
		}
		h.ok(a.err)
	}
	if got := len(h.lease(10)); got != 4 {
		t.Errorf("%d messages came, want 4: the cancelled one had not left", got)
	}
}

func TestPublishOnItsWayCanBeCancelled(t *testing.T) {
	t.Parallel()
	h := hold(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.store.Publish(ctx, h.topic, messages(1))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a context that had ended gives %v", err)
	}
	for _, a := range h.release() {
		h.ok(a.err)
	}
}

func TestRevisionsAreNotMerged(t *testing.T) {
	t.Parallel()
	h := hold(t)
	newer := subscriptions.TopicRef{UID: h.topic.UID, Revision: 2}
	h.send(t.Context(), newer, 1)
	h.send(t.Context(), h.topic, 1) // stale by then
	h.send(t.Context(), newer, 1)
	for i, a := range h.release() {
		if (i == 2) != errors.Is(a.err, subscriptions.ErrStale) || i != 2 && a.err != nil {
			t.Errorf("publish %d: %v", i, a.err)
		}
	}
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	s, err := redisstream.Open(t.Context(), redistest.Shared(t).URL(), redisstream.Options{Prefix: "closed:"})
	if err != nil {
		t.Fatal(err)
	}
	x := attach(t, s, "topic")
	x.ok(s.Close())
	if _, err := s.Publish(t.Context(), x.topic, messages(1)); subscriptions.CodeOf(err) != subscriptions.Unavailable {
		t.Errorf("publish gives %v", err)
	}
	if _, err := s.Watch(t.Context(), "topic", func(subscriptions.Wake) {}); subscriptions.CodeOf(err) != subscriptions.Unavailable {
		t.Errorf("watch gives %v", err)
	}
	if _, err := s.Stats(t.Context(), x.ref); subscriptions.CodeOf(err) != subscriptions.Unavailable {
		t.Errorf("stats gives %v", err)
	}
}
