package subscriptions_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postrider/storage/memory"
	"postrider/subscriptions"
)

// world is a store with servers on it, inside a synctest bubble.
type world struct {
	*testing.T
	ctx   context.Context
	store subscriptions.Store
	*subscriptions.Service
	stop    func() // ends what Service does by itself
	options subscriptions.Options
}

// inWorld runs a test with one running server on an empty store. All time in it
// is the bubble's.
func inWorld(t *testing.T, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, ctx: t.Context(), store: memory.New(memory.Options{})}
		w.start()
		test(w)
	})
}

// start starts the world's own server; again after stop.
func (w *world) start() { w.Service, w.stop = w.mortalWith(w.store, w.options) }

// server starts a server that ends with the test.
func (w *world) server(store subscriptions.Store) *subscriptions.Service {
	s, _ := w.mortal(store)
	return s
}

// mortal starts a server that ends with stop, or with the test.
func (w *world) mortal(store subscriptions.Store) (s *subscriptions.Service, stop func()) {
	return w.mortalWith(store, subscriptions.Options{})
}

// mortalWith is mortal with options.
func (w *world) mortalWith(store subscriptions.Store, o subscriptions.Options) (s *subscriptions.Service, stop func()) {
	s = subscriptions.NewService(store, o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.Errorf("the server ended with %v", err)
		}
	})
	w.Cleanup(stop)
	return s, stop
}

func topicName(id string) subscriptions.TopicName {
	return subscriptions.TopicName{Project: "p", ID: id}
}

func subName(id string) subscriptions.SubscriptionName {
	return subscriptions.SubscriptionName{Project: "p", ID: id}
}

// topic creates a topic.
func (w *world) topic(id string) subscriptions.TopicName {
	w.Helper()
	_, err := w.CreateTopic(w.ctx, subscriptions.Topic{Name: topicName(id)})
	w.must(err)
	return topicName(id)
}

// subscribe creates a subscription, after changing what it is made from.
func (w *world) subscribe(topic, id string, change ...func(*subscriptions.Subscription)) subscriptions.SubscriptionName {
	w.Helper()
	sub := subscriptions.Subscription{Name: subName(id), Topic: topicName(topic)}
	for _, c := range change {
		c(&sub)
	}
	_, err := w.CreateSubscription(w.ctx, sub)
	w.must(err)
	return sub.Name
}

// subscribeMany creates n subscriptions.
func (w *world) subscribeMany(topic string, n int) {
	w.Helper()
	for i := range n {
		w.subscribe(topic, fmt.Sprint("sub-", i))
	}
}

// pushed makes a subscription push, to where nothing is sent.
func pushed(s *subscriptions.Subscription) {
	s.Push = &subscriptions.PushConfig{Endpoint: "https://example.com/"}
}

func deadLetterTo(topic string) func(*subscriptions.Subscription) {
	return func(s *subscriptions.Subscription) {
		s.DeadLetter = &subscriptions.DeadLetterPolicy{Topic: topicName(topic)}
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) wantCode(err error, code subscriptions.Code) {
	w.Helper()
	if subscriptions.CodeOf(err) != code {
		w.Fatalf("%v, want %s", err, code)
	}
}

// publish publishes one message for each text.
func (w *world) publish(topic string, texts ...string) {
	w.Helper()
	msgs := make([]subscriptions.Message, len(texts))
	for i, s := range texts {
		msgs[i].Data = []byte(s)
	}
	_, err := w.Publish(w.ctx, topicName(topic), msgs)
	w.must(err)
}

// pull takes what there is now.
func (w *world) pull(sub string) []subscriptions.Received {
	w.Helper()
	got, err := w.Pull(w.ctx, subName(sub), 100, true)
	w.must(err)
	return got
}

// pullTexts is pull for who only wants to know what came.
func (w *world) pullTexts(sub string) string { return texts(w.pull(sub)) }

func texts(got []subscriptions.Received) string {
	var out []string
	for _, r := range got {
		out = append(out, string(r.Message.Data))
	}
	return fmt.Sprint(out)
}

func (w *world) want(got, want any) {
	w.Helper()
	if g, e := fmt.Sprint(got), fmt.Sprint(want); g != e {
		w.Fatalf("got %s, want %s", g, e)
	}
}

func (w *world) ack(sub string, got []subscriptions.Received) {
	w.Helper()
	w.must(w.Acknowledge(w.ctx, subName(sub), ackIDs(got)))
}

func (w *world) nack(sub string, got []subscriptions.Received) {
	w.Helper()
	w.must(w.ModifyAckDeadline(w.ctx, subName(sub), ackIDs(got), 0))
}

func ackIDs(got []subscriptions.Received) []string {
	ids := make([]string, len(got))
	for i, r := range got {
		ids[i] = r.AckID
	}
	return ids
}

// stats reads a subscription's counters.
func (w *world) stats(sub string) subscriptions.Stats {
	w.Helper()
	record, err := w.store.Subscription(w.ctx, subName(sub))
	w.must(err)
	st, err := w.store.Stats(w.ctx, record.Ref())
	w.must(err)
	return st
}

func wait(d time.Duration) { time.Sleep(d); synctest.Wait() }
