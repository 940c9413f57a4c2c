package redisstream_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/storage/storagetest"
	"postrider/subscriptions"
)

// dueWorld is a store with its own clock, and a message that is due in an hour beside one that is due in a year.
type dueWorld struct {
	*sub
	url     string
	clock   *storagetest.Clock
	service *subscriptions.Service
	name    subscriptions.SubscriptionName
}

func newDueWorld(t *testing.T, url string) *dueWorld {
	t.Helper()
	w := &dueWorld{url: url, clock: storagetest.NewClock(), name: subscriptions.SubscriptionName{Project: "p", ID: "sub"}}
	s := open(t, url, redisstream.Options{Now: w.clock.Now, Log: silent()})
	w.service = subscriptions.NewService(s, subscriptions.Options{})
	topic, err := w.service.CreateTopic(t.Context(), subscriptions.Topic{Name: subscriptions.TopicName{Project: "p", ID: "topic"}})
	w.sub = &sub{TB: t, store: s, topic: topic.Ref()}
	w.ok(err)
	_, err = w.service.CreateSubscription(t.Context(), subscriptions.Subscription{Name: w.name, Topic: topic.Name})
	w.ok(err)
	msgs := messages(2)
	msgs[0].Timing.Delay, msgs[1].Timing.Delay = time.Hour, 365*24*time.Hour
	_, err = s.Publish(t.Context(), w.topic, msgs)
	w.ok(err)
	return w
}

// TestBackupWhileDue: at whatever moment of a backup a message becomes due, a restored store has it once.
func TestBackupWhileDue(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t).URL()
	for moment := 0; ; moment++ {
		w := newDueWorld(t, url)
		commands := 0
		options := redisstream.TransferOptions{Log: silent(), Prefix: w.store.Prefix()}
		options.SetHook(atCommand(func(ctx context.Context) {
			if commands++; commands == moment {
				w.clock.Advance(time.Hour)
				_, err := w.store.AppendDue(ctx, w.topic.UID)
				w.ok(err)
			}
		}))
		var file bytes.Buffer
		_, err := redisstream.Backup(t.Context(), url, &file, options)
		w.ok(err)
		prefix := fmt.Sprintf("test-%x:", rand.Uint64())
		_, err = redisstream.Restore(t.Context(), bytes.NewReader(file.Bytes()), url, redisstream.TransferOptions{Log: silent(), Prefix: prefix})
		w.ok(err)
		w.restoredOnce(prefix, moment)
		if commands < moment {
			if moment < 10 {
				t.Errorf("a backup took %d commands", commands)
			}
			return
		}
	}
}

// restoredOnce checks that each of the messages is there once, and comes when it is due.
func (w *dueWorld) restoredOnce(prefix string, moment int) {
	w.Helper()
	clock := storagetest.NewClock()
	s := open(w.TB, w.url, redisstream.Options{Prefix: prefix, Now: clock.Now, Log: silent()})
	service := subscriptions.NewService(s, subscriptions.Options{})
	count := func() (n int64) {
		delayed, _, err := service.CountDelayed(w.Context(), subscriptions.TopicName{Project: "p", ID: "topic"})
		w.ok(err)
		stats, err := service.Stats(w.Context(), w.name)
		w.ok(err)
		return delayed + stats.Undelivered
	}
	at, later := count(), int64(0)
	clock.Advance(time.Hour)
	got, err := service.Pull(w.Context(), w.name, 10, true)
	w.ok(err)
	clock.Advance(365 * 24 * time.Hour)
	next, err := s.AppendDue(w.Context(), w.topic.UID)
	w.ok(err)
	later = count()
	if at != 2 || len(got) != 1 || next >= 0 || later != 1 {
		w.Errorf("due at command %d: %d messages were restored, %d came after an hour, and then %d; the next is due in %s", moment, at, len(got), later, next)
	}
}
