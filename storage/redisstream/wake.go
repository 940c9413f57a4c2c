package redisstream

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"postrider/subscriptions"
)

// Watch implements subscriptions.Watcher. It returns once Redis has confirmed the subscription to the topic's channel.
func (s *Store) Watch(ctx context.Context, topicUID string, fn func(subscriptions.Wake)) (stop func(), err error) {
	return s.hub.watch(ctx, s.keys.wake(topicUID), &watcher{fn: fn})
}

// watcher is one call of Watch.
type watcher struct {
	fn      func(subscriptions.Wake)
	stopped atomic.Bool
}

// wake calls the watcher unless it was stopped. A call that has begun is not waited for: fn itself may stop.
func (w *watcher) wake(wake subscriptions.Wake) {
	if !w.stopped.Load() {
		w.fn(wake)
	}
}

// parseWake reads what scripts publish: "p", "d SUBSCRIPTION MS", "r SUBSCRIPTION", and "a SUBSCRIPTION"
// for Asked and "s SUBSCRIPTION" for Reported. What a newer version may say besides
// reads as Resync: look at everything once.
func parseWake(payload string) subscriptions.Wake {
	kind, rest, _ := strings.Cut(payload, " ")
	sub, ms, _ := strings.Cut(rest, " ")
	switch kind {
	case "p":
		return subscriptions.Wake{Kind: subscriptions.Published}
	case "d":
		if n, err := strconv.ParseInt(ms, 10, 64); err == nil {
			return subscriptions.Wake{Kind: subscriptions.Due, Subscription: sub, In: time.Duration(n) * time.Millisecond}
		}
	case "a":
		return subscriptions.Wake{Kind: subscriptions.Asked, Subscription: sub}
	case "s":
		return subscriptions.Wake{Kind: subscriptions.Reported, Subscription: sub}
	case "r":
		return subscriptions.Wake{Kind: subscriptions.Revised, Subscription: sub}
	}
	return subscriptions.Wake{Kind: subscriptions.Resync}
}
