package redisstream_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// twoServers are two stores on the same keys, as two servers have them.
func twoServers(t *testing.T, server *redistest.Server) (one, two *redisstream.Store) {
	t.Helper()
	one = open(t, server.URL(), redisstream.Options{})
	return one, open(t, server.URL(), redisstream.Options{Prefix: one.Prefix()})
}

func TestWakesReachOtherServers(t *testing.T) {
	t.Parallel()
	one, two := twoServers(t, redistest.Shared(t))
	x := attach(t, one, "topic")
	wakes, catalog := watch(t, two, "topic"), watch(t, two, subscriptions.CatalogTopic)
	x.publish(2)
	wakes.wait(subscriptions.Wake{Kind: subscriptions.Published})
	ds := x.lease(2)
	wakes.wait(subscriptions.Wake{Kind: subscriptions.Due, Subscription: x.ref.Subscription, In: time.Minute})
	x.ok(one.Release(t.Context(), x.ref, releases(receipts(ds))))
	wakes.wait(subscriptions.Wake{Kind: subscriptions.Due, Subscription: x.ref.Subscription})
	x.ref.Revision++
	x.ok(one.Revise(t.Context(), x.ref))
	wakes.wait(subscriptions.Wake{Kind: subscriptions.Revised, Subscription: x.ref.Subscription})
	x.ok(one.InsertTopic(t.Context(), subscriptions.Topic{Name: subscriptions.TopicName{Project: "p", ID: "topic"}, UID: "u"}))
	catalog.wait(subscriptions.Wake{Kind: subscriptions.Published})
}

// TestBatchWakesOnce is about the cost of a publish: one wake-up a call, however many messages.
func TestBatchWakesOnce(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).URL(), redisstream.Options{})
	x := attach(t, s, "topic")
	wakes := watch(t, s, "topic")
	x.publish(500)
	x.ref.Revision++
	x.ok(s.Revise(t.Context(), x.ref)) // comes after all wake-ups of the publish
	var got []subscriptions.Wake
	eventually(t, func() error {
		if got = append(got, wakes.take()...); len(got) < 2 {
			return errors.New("wake-ups are missing")
		}
		return nil
	})
	if len(got) != 2 || got[0].Kind != subscriptions.Published {
		t.Errorf("wake-ups: %v", got)
	}
}

func TestStoppedWatcher(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).URL(), redisstream.Options{})
	x := attach(t, s, "topic")
	stopped, other := watch(t, s, "topic"), watch(t, s, "topic")
	stopped.stop()
	stopped.stop()
	x.publish(1)
	other.wait(subscriptions.Wake{Kind: subscriptions.Published})
	if got := stopped.take(); len(got) > 0 {
		t.Errorf("a stopped watcher got %v", got)
	}
}

func TestWatcherMayStopItself(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).URL(), redisstream.Options{})
	x := attach(t, s, "topic")
	var stop func()
	done := make(chan struct{}, 10)
	stop, err := s.Watch(t.Context(), "topic", func(subscriptions.Wake) {
		stop()
		done <- struct{}{}
	})
	x.ok(err)
	x.publish(1)
	<-done
}

// TestComingAndGoing: pullers that watch and leave cost Redis one subscription, as long as the channel lingers.
func TestComingAndGoing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL(), redisstream.Options{})
	attach(t, s, "topic")
	watch(t, s, "topic").stop()
	before := server.CommandCalls(t)
	for range 100 {
		watch(t, s, "topic").stop()
	}
	if calls := server.CommandCalls(t).Since(before); calls.Total() > 0 {
		t.Errorf("commands: %v", calls)
	}
}

func TestLingeringEnds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL(), redisstream.Options{})
	s.SetLinger(time.Millisecond)
	x := attach(t, s, "topic")
	for range 3 {
		watch(t, s, "topic").stop()
		eventually(t, func() error { return is(len(s.Channels()), 0, "channels") })
	}
	eventually(t, func() error {
		channels, err := server.Client(t).PubSubChannels(t.Context(), "*").Result()
		return errors.Join(err, is(len(channels), 0, "channels in Redis"))
	})
	wakes := watch(t, s, "topic") // and it works again
	x.publish(1)
	wakes.wait(subscriptions.Wake{Kind: subscriptions.Published})
}

// TestWatchersRace has many topics watched and left at once, with wake-ups between.
func TestWatchersRace(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).URL(), redisstream.Options{})
	s.SetLinger(0)
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			x := attach(t, s, fmt.Sprint("topic", i/2))
			for range 30 {
				w := watch(t, s, x.ref.Topic)
				x.publish(1)
				w.wait(subscriptions.Wake{Kind: subscriptions.Published})
				w.stop()
				runtime.Gosched()
			}
		})
	}
}

func TestReconnectResyncs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL(), redisstream.Options{Log: silent()})
	x, y := attach(t, s, "x"), attach(t, s, "y")
	wx, wy, wc := watch(t, s, "x"), watch(t, s, "y"), watch(t, s, subscriptions.CatalogTopic)
	for range 2 {
		x.ok(server.Client(t).Do(t.Context(), "client", "kill", "type", "pubsub").Err())
		for _, w := range []*wakes{wx, wy, wc} {
			w.wait(subscriptions.Wake{Kind: subscriptions.Resync})
		}
		y.publish(1)
		wy.wait(subscriptions.Wake{Kind: subscriptions.Published})
	}
}

func TestRestartResyncs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.AppendOnly("always"))
	s := open(t, server.URL(), redisstream.Options{Log: silent()})
	x := attach(t, s, "topic")
	w := watch(t, s, "topic")
	x.publish(1)
	server.Kill(t)
	if _, err := s.Publish(t.Context(), x.topic, messages(1)); subscriptions.CodeOf(err) != subscriptions.Unavailable {
		t.Errorf("without Redis publish gives %v", err)
	}
	late := make(chan *wakes)
	go func() { late <- watch(t, s, "other") }() // begins while Redis is away
	server.Restart(t)
	w.wait(subscriptions.Wake{Kind: subscriptions.Resync})
	<-late
	eventually(t, func() error {
		_, err := s.Publish(t.Context(), x.topic, messages(1))
		return err
	})
	w.wait(subscriptions.Wake{Kind: subscriptions.Published})
	if got := len(x.lease(10)); got != 2 {
		t.Errorf("%d messages after the restart, want 2", got)
	}
}

func TestChannelsAreNamed(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).URL(), redisstream.Options{})
	watch(t, s, "uid")
	watch(t, s, subscriptions.CatalogTopic)
	var got []string
	for _, name := range s.Channels() {
		got = append(got, strings.TrimPrefix(name, s.Prefix()))
	}
	slices.Sort(got)
	if want := []string{"{fleet}:wake", "{uid:0}:wake"}; !slices.Equal(got, want) {
		t.Errorf("channels are %q, want %q", got, want)
	}
}
