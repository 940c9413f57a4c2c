package redisstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// TestFullRedis: publishes and dead letters are refused with nothing written, everything that drains goes on, and then
// there is room again.
func TestFullRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Args("--maxmemory", "6mb"))
	s := open(t, server.URL(), redisstream.Options{})
	x, letters := attach(t, s, "topic"), attach(t, s, "letters")
	msgs := []subscriptions.Message{{Data: bytes.Repeat([]byte("x"), 10_000)}}
	var err error
	sent := 0
	for ; err == nil && sent < 1000; sent++ {
		_, err = s.Publish(t.Context(), x.topic, msgs)
	}
	sent--
	full(t, err)
	full(t, s.AppendDead(t.Context(), letters.topic, "source", msgs, time.Hour))
	if stats := letters.stats(); stats.Undelivered > 0 {
		t.Errorf("dead letters: %+v", stats)
	}

	ds := x.lease(10)
	_, err = s.Extend(t.Context(), x.ref, receipts(ds), time.Hour)
	x.ok(err)
	_, err = s.Nack(t.Context(), subscriptions.NackRequest{Ref: x.ref, Rules: x.rules, Nacks: []subscriptions.Nack{{Receipt: ds[0].Receipt()}}})
	x.ok(err)
	var releases []subscriptions.Release
	for _, r := range receipts(ds[1:]) {
		releases = append(releases, subscriptions.Release{Receipt: r, Failure: subscriptions.Failure{Reason: "a probe"}})
	}
	x.ok(s.Release(t.Context(), x.ref, releases))
	_, err = s.Sweep(t.Context(), subscriptions.SweepRequest{Ref: x.ref, Rules: x.rules, Max: 10})
	x.ok(err)
	_, err = s.Beat(t.Context(), "server", time.Minute, "")
	x.ok(err)
	drain(x)
	if stats := x.stats(); int(stats.Acked) != sent {
		t.Errorf("%d acked, want %d", stats.Acked, sent)
	}
	x.publish(1)
}

func full(t *testing.T, err error) {
	t.Helper()
	var e *subscriptions.Error
	if !errors.As(err, &e) || e.Code != subscriptions.ResourceExhausted || e.RetryAfter <= 0 {
		t.Errorf("a full Redis gives %v", err)
	}
}

// drain leases and acks everything.
func drain(x *sub) {
	x.Helper()
	for {
		ds := x.lease(100)
		if len(ds) == 0 {
			return
		}
		x.ack(ds...)
	}
}

// TestFlush: all data is gone while servers run. They learn of it, and everything can be made anew.
func TestFlush(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	log := &lines{}
	s := open(t, server.URL(), redisstream.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	record := subscriptions.Topic{Name: subscriptions.TopicName{Project: "p", ID: "topic"}, UID: "uid", Revision: 1}
	x := attach(t, s, "uid")
	x.ok(s.InsertTopic(t.Context(), record))
	wakes := watch(t, s, "uid")
	x.publish(1)
	before, err := s.Beat(t.Context(), "server", time.Minute, "")
	x.ok(err)

	x.ok(server.Client(t).FlushAll(t.Context()).Err())
	x.ok(server.Client(t).ScriptFlush(t.Context()).Err())
	wakes.take()
	_, err = s.Publish(t.Context(), x.topic, messages(1))
	gone(t, "publish", err)
	_, err = s.Lease(t.Context(), subscriptions.LeaseRequest{Ref: x.ref, Rules: x.rules, Max: 1, Deadline: time.Minute})
	gone(t, "lease", err)
	gone(t, "ack", s.Acknowledge(t.Context(), x.ref, []subscriptions.Receipt{{}}))
	gone(t, "attach", s.Attach(t.Context(), x.ref, subscriptions.SubscriptionName{Project: "p", ID: "sub"}))
	x.ok(s.Drop(t.Context(), "uid", x.ref.Subscription))
	x.ok(s.CloseTopic(t.Context(), "uid"))
	_, err = s.Trim(t.Context(), "uid")
	x.ok(err)

	x.ok(s.InsertTopic(t.Context(), record)) // before any server has noticed
	after, err := s.Beat(t.Context(), "server", time.Minute, before.Position)
	x.ok(err)
	if !after.Lost || !slices.Equal(after.Live, []string{"server"}) {
		t.Errorf("the beat after: %+v", after)
	}
	projects, err := s.Projects(t.Context())
	if err != nil || !slices.Equal(projects, []string{"p"}) {
		t.Errorf("projects: %v (%v)", projects, err)
	}
	roundTrip(attach(t, s, "uid"))
	wakes.wait(subscriptions.Wake{Kind: subscriptions.Published}) // the same connection still serves
	if n := log.count(); n > 0 {
		t.Errorf("%d lines were logged", n)
	}
}

func gone(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, subscriptions.ErrGone) {
		t.Errorf("%s gives %v, want ErrGone", what, err)
	}
}

// lines counts what is logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), "\n")
}

// TestOutageIsQuiet: however many calls fail while Redis is away, the store logs little: whoever called knows.
func TestOutageIsQuiet(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	log := &lines{}
	s := open(t, server.URL(), redisstream.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	x := attach(t, s, "topic")
	wakes := watch(t, s, "topic")
	server.Kill(t)
	for i := range 200 {
		for what, err := range map[string]error{
			"publish": second(s.Publish(t.Context(), x.topic, messages(1))),
			"revise":  s.Revise(t.Context(), x.ref),
			"insert":  s.InsertTopic(t.Context(), subscriptions.Topic{Name: subscriptions.TopicName{Project: "p", ID: fmt.Sprint(i)}}),
			"list":    second(s.ListTopics(t.Context(), "p", "", 10)),
			"beat":    second(s.Beat(t.Context(), "server", time.Second, "")),
		} {
			var e *subscriptions.Error
			if !errors.As(err, &e) || e.Code != subscriptions.Unavailable || e.RetryAfter <= 0 {
				t.Fatalf("%s gives %v", what, err)
			}
		}
	}
	server.Restart(t)
	wakes.wait(subscriptions.Wake{Kind: subscriptions.Resync})
	if n := log.count(); n > 2 {
		t.Errorf("%d lines were logged:\n%s", n, log.text.String())
	}
}

func second[T any](_ T, err error) error { return err }
