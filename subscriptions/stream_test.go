package subscriptions_test

import (
	"context"
	"testing"
	"time"

	"postrider/subscriptions"
)

// stream opens a stream that ends with the test.
func (w *world) stream(sub string, o subscriptions.StreamOptions) *subscriptions.Stream {
	w.Helper()
	if o.AckDeadline == 0 {
		o.AckDeadline = time.Minute
	}
	st, err := w.OpenStream(w.ctx, subName(sub), o)
	w.must(err)
	return st
}

// next takes what comes within a time of the world, nothing if nothing does.
func (w *world) next(st *subscriptions.Stream, within time.Duration) []subscriptions.Received {
	w.Helper()
	timer := time.AfterFunc(within, st.Interrupt)
	defer timer.Stop()
	got, err := st.Next(w.ctx)
	w.must(err)
	return got
}

func TestStreamSendsWhatThereIsAndWhatComes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("top")
		w.subscribe("top", "sub")
		w.publish("top", "a", "b")
		st := w.stream("sub", subscriptions.StreamOptions{})
		defer st.Close()
		got := w.next(st, time.Second)
		w.want(texts(got), "[a b]")
		w.ack("sub", got)
		time.AfterFunc(time.Hour, func() { w.publish("top", "c") })
		w.want(texts(w.next(st, 2*time.Hour)), "[c]")
		w.want(texts(w.next(st, 20*time.Second)), "[]")
	})
}

// Whatever settles a message frees its place in the window.
func TestStreamWindow(t *testing.T) {
	settle := map[string]func(*world, []subscriptions.Received){
		"ack":     func(w *world, got []subscriptions.Received) { w.ack("sub", got) },
		"nack":    func(w *world, got []subscriptions.Received) { w.nack("sub", got) },
		"release": func(w *world, got []subscriptions.Received) { w.must(w.Release(w.ctx, subName("sub"), ackIDs(got))) },
		"expiry":  func(*world, []subscriptions.Received) { time.Sleep(time.Minute + time.Second) },
	}
	for how, settle := range settle {
		t.Run(how, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.topic("top")
				w.subscribe("top", "sub")
				w.publish("top", "a", "b", "c", "d", "e")
				st := w.stream("sub", subscriptions.StreamOptions{MaxMessages: 3})
				defer st.Close()
				got := w.next(st, time.Second)
				w.want(len(got), 3)
				w.want(len(w.next(st, time.Second)), 0)
				settle(w, got[:2])
				w.want(len(w.next(st, 3*time.Second)) >= 2, true)
			})
		})
	}
}

func TestStreamWindowOfBytes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("top")
		w.subscribe("top", "sub")
		w.publish("top", "1234567890", "1234567890", "1234567890", "1234567890")
		st := w.stream("sub", subscriptions.StreamOptions{MaxBytes: 15})
		defer st.Close()
		got := w.next(st, time.Second)
		got = append(got, w.next(st, time.Second)...)
		w.want(len(got), 2) // the second is allowed to be too much
		w.want(len(w.next(st, time.Second)), 0)
		w.ack("sub", got[:1])
		w.want(len(w.next(st, time.Second)), 1)
	})
}

func TestStreamExtensionsHoldPlaces(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("top")
		w.subscribe("top", "sub")
		w.publish("top", "a", "b")
		st := w.stream("sub", subscriptions.StreamOptions{MaxMessages: 1})
		defer st.Close()
		got := w.next(st, time.Second)
		for range 5 {
			w.must(w.ModifyAckDeadline(w.ctx, subName("sub"), ackIDs(got), time.Minute))
			w.want(len(w.next(st, 50*time.Second)), 0)
		}
		w.want(len(w.next(st, 30*time.Second)), 1)
	})
}

// A stream that is full leaves messages to those who have room.
func TestFullStreamIsPassedOver(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("top")
		w.subscribe("top", "sub")
		o := subscriptions.StreamOptions{MaxMessages: 1, AckDeadline: 10 * time.Minute}
		full := w.stream("sub", o)
		o.MaxMessages = 100
		open := w.stream("sub", o)
		w.publish("top", "first")
		w.want(len(w.next(full, time.Second)), 1)
		ended := make(chan error, 1)
		go func() { _, err := full.Next(w.ctx); ended <- err }()
		for range 10 {
			start := time.Now()
			time.AfterFunc(30*time.Second, func() { w.publish("top", "more") })
			w.want(len(w.next(open, 2*time.Minute)), 1)
			w.want(time.Since(start), 30*time.Second)
		}
		full.Interrupt()
		w.must(<-ended)
		full.Close()
		open.Close()
	})
}

// What ends a stream.
func TestStreamEnds(t *testing.T) {
	for how, c := range map[string]struct {
		end  func(*world)
		code subscriptions.Code
	}{
		"delete": {func(w *world) { w.must(w.DeleteSubscription(w.ctx, subName("sub"))) }, subscriptions.NotFound},
		"anew": {func(w *world) {
			w.must(w.DeleteSubscription(w.ctx, subName("sub")))
			w.subscribe("top", "sub")
		}, subscriptions.NotFound},
		"detach": {func(w *world) { w.must(w.DetachSubscription(w.ctx, subName("sub"))) }, subscriptions.FailedPrecondition},
		"push": {func(w *world) {
			w.must(w.ModifyPushConfig(w.ctx, subName("sub"), &subscriptions.PushConfig{Endpoint: "https://example.com"}, nil))
		}, subscriptions.FailedPrecondition},
		"drain": {func(w *world) { w.Drain() }, subscriptions.Unavailable},
	} {
		for _, window := range []int64{1, 100} {
			t.Run(how, func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.topic("top")
					w.subscribe("top", "sub")
					w.publish("top", "a")
					st := w.stream("sub", subscriptions.StreamOptions{MaxMessages: window})
					defer st.Close()
					w.want(len(w.next(st, time.Second)), 1)
					time.AfterFunc(10*time.Second, func() { c.end(w) })
					ctx, cancel := context.WithTimeout(w.ctx, 20*time.Second)
					defer cancel()
					_, err := st.Next(ctx)
					w.wantCode(err, c.code)
				})
			})
		}
	}
}

// A subscriber may ack and extend at another server.
func TestStreamLearnsOfAcksAtOtherServers(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("top")
		w.subscribe("top", "sub")
		other := w.server(w.store)
		time.Sleep(3 * time.Second) // they have heard of each other
		for range 10 {
			w.publish("top", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
		}
		st := w.stream("sub", subscriptions.StreamOptions{MaxMessages: 10})
		defer st.Close()
		for range 10 {
			got := w.next(st, time.Second)
			w.want(len(got), 10)
			w.must(other.Acknowledge(w.ctx, subName("sub"), ackIDs(got)))
		}
	})
}

func TestStreamLearnsOfExtensionsAtOtherServers(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("top")
		w.subscribe("top", "sub")
		other := w.server(w.store)
		time.Sleep(3 * time.Second)
		w.publish("top", "a", "b")
		st := w.stream("sub", subscriptions.StreamOptions{MaxMessages: 1, AckDeadline: 10 * time.Second})
		defer st.Close()
		got := w.next(st, time.Second)
		for range 20 {
			w.must(other.ModifyAckDeadline(w.ctx, subName("sub"), ackIDs(got), 10*time.Second))
			w.want(len(w.next(st, 8*time.Second)), 0)
		}
		w.want(len(w.next(st, 10*time.Second)), 1)
	})
}

// What a full window costs is bounded.
func TestFullWindowAsksSeldom(t *testing.T) {
	inWorld(t, func(w *world) {
		counted := &countingAsks{Store: w.store}
		one := w.server(counted)
		w.server(w.store)
		time.Sleep(3 * time.Second)
		w.topic("top")
		w.subscribe("top", "sub")
		w.publish("top", "a", "b")
		st, err := one.OpenStream(w.ctx, subName("sub"), subscriptions.StreamOptions{MaxMessages: 1, AckDeadline: 10 * time.Minute})
		w.must(err)
		defer st.Close()
		w.want(len(w.next(st, time.Second)), 1)
		w.want(len(w.next(st, 5*time.Minute)), 0)
		if counted.asks > 70 {
			t.Errorf("%d questions in 5 minutes", counted.asks)
		}
	})
}

type countingAsks struct {
	subscriptions.Store
	asks int
}

func (c *countingAsks) Remaining(ctx context.Context, ref subscriptions.Ref, rs []subscriptions.Receipt) ([]time.Duration, error) {
	c.asks++
	return c.Store.Remaining(ctx, ref, rs)
}

// What a client holds of a stream that it closed counts for its next one.
func TestNextStreamOfAClient(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("top")
		w.subscribe("top", "sub")
		w.publish("top", "a", "b", "c", "d", "e", "f")
		o := subscriptions.StreamOptions{MaxMessages: 3, Client: "c"}
		st := w.stream("sub", o)
		held := w.next(st, time.Second)
		st.Close()
		w.ack("sub", held[:1])
		st = w.stream("sub", o)
		w.want(texts(w.next(st, time.Second)), "[d]")
		second := w.stream("sub", o) // two at once are two windows
		w.want(texts(w.next(second, time.Second)), "[e f]")
		second.Close()
		st.Close()
		w.ack("sub", held[1:])
		time.Sleep(time.Hour) // nothing is held any more
		messages, clients := w.Held()
		w.want([]int{messages, clients}, []int{0, 0})
		st = w.stream("sub", o)
		w.want(len(w.next(st, time.Second)), 3)
		st.Close()
	})
}

// Whoever is alone need not stay so.
func TestStreamHearsOfOtherServersWhileItIsFull(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("top")
		w.subscribe("top", "sub")
		w.publish("top", "a", "b")
		st := w.stream("sub", subscriptions.StreamOptions{MaxMessages: 1, AckDeadline: 10 * time.Minute})
		defer st.Close()
		got := w.next(st, time.Second)
		time.AfterFunc(time.Minute, func() {
			w.must(w.server(w.store).Acknowledge(w.ctx, subName("sub"), ackIDs(got)))
		})
		w.want(len(w.next(st, 75*time.Second)), 1)
	})
}
