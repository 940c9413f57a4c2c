package pusher

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

// events are the lines of a log that speak of breakers.
type events struct {
	slog.Handler
	mu    sync.Mutex
	lines []string
}

func (e *events) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "circuit breaker") {
		e.mu.Lock()
		e.lines = append(e.lines, r.Message)
		e.mu.Unlock()
	}
	return e.Handler.Handle(ctx, r)
}

func (e *events) count(what string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, line := range e.lines {
		if strings.HasPrefix(line, what) {
			n++
		}
	}
	return n
}

// listening puts a Manager in place of the bubble's whose log is watched.
func (b *bubble) listening() *events {
	b.stopFetch()
	b.stopped()
	e := &events{Handler: slog.NewTextHandler(b.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})}
	b.pushWith(b.service, Options{Logger: slog.New(e)})
	return e
}

// outage is an endpoint that refuses everything for as long as it is down.
func (b *bubble) outage() (down *atomic.Bool) {
	down = new(atomic.Bool)
	down.Store(true)
	b.web.answer(func(h hit) (int, error) {
		err := h.work(20 * time.Millisecond)
		if down.Load() {
			return http.StatusServiceUnavailable, err
		}
		return http.StatusOK, err
	})
	return down
}

// An outage spends no attempts but those of what was out when the breaker
// opened, and the endpoint is not overrun when it is back.
func TestAnOutageFillsNoDeadLetterTopic(t *testing.T) {
	inBubble(t, func(b *bubble) {
		e := b.listening()
		down := b.outage()
		sub := b.subscribe("sub", b.withDeadLetters(), func(s *subscriptions.Subscription) { s.DeadLetter.MaxAttempts = 5 })
		const seconds, rate = 600, 100
		for range seconds {
			b.publish(slices.Repeat([]string{"m"}, rate)...)
			time.Sleep(time.Second)
		}
		opened := b.web.seen()
		stats := b.stats(sub)
		b.Logf("%d pushes during the outage, %d nacked, %d dead-lettered", len(opened), stats.Nacked, stats.DeadLettered)
		if stats.Nacked > 100 || stats.DeadLettered > 10 {
			b.Errorf("%d attempts were spent, and %d messages dead-lettered", stats.Nacked, stats.DeadLettered)
		}
		if e.count("circuit breaker opened") != 1 || e.count("circuit breaker closed") != 0 {
			b.Errorf("events: %q", e.lines)
		}
		var c crowd
		var since atomic.Int64
		down.Store(false)
		b.web.answer(func(h hit) (int, error) {
			defer c.enter()()
			if n := since.Add(1); c.highest() > steepWindow || n <= trialLength && c.highest() > trialWindow {
				b.Errorf("%d pushes at once after %d", c.highest(), n)
			}
			return http.StatusOK, h.work(20 * time.Millisecond)
		})
		time.Sleep(3 * time.Minute)
		b.left(sub, 0)
		if s := b.stats(sub); s.Acked+s.DeadLettered != seconds*rate {
			b.Errorf("%d acked and %d dead-lettered of %d", s.Acked, s.DeadLettered, seconds*rate)
		}
		if e.count("circuit breaker opened") != 1 || e.count("circuit breaker closed") != 1 {
			b.Errorf("events: %q", e.lines)
		}
	})
}

// open publishes a backlog to an endpoint that is down, and returns when its
// breaker has opened.
func (b *bubble) open(sub subscriptions.SubscriptionName) {
	b.Helper()
	for i := range 100 {
		b.publish(fmt.Sprint(i))
	}
	for range 100 {
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if b.kept(sub).Open {
			return
		}
	}
	b.Fatal("the breaker did not open")
}

// kept is what the store keeps of the breaker.
func (b *bubble) kept(name subscriptions.SubscriptionName) subscriptions.Breaker {
	b.Helper()
	sub, err := b.store.Subscription(b.Context(), name)
	b.must(nil, err)
	kept, err := b.store.Breaker(b.Context(), sub.Ref())
	b.must(nil, err)
	return kept
}

// Case 11 of the field: one probe a cool-down, each of which spends no attempt.
func TestAnOpenBreakerProbes(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.outage()
		sub := b.subscribe("sub", b.withDeadLetters(), withRetry(time.Second, 10*time.Second))
		b.open(sub)
		time.Sleep(time.Second) // what was out has ended
		before, nacked := len(b.web.seen()), b.stats(sub).Nacked
		if before < breakerThreshold {
			b.Errorf("open after %d pushes", before)
		}
		time.Sleep(10 * time.Minute)
		hits := b.web.seen()[before:]
		coolDown := minCoolDown
		for i, gap := range gaps(hits) {
			coolDown = min(2*coolDown, maxCoolDown)
			b.wantBetween(fmt.Sprint("cool-down ", i), gap, coolDown*8/10, coolDown*12/10+100*time.Millisecond)
		}
		if len(hits) < 8 {
			b.Errorf("%d probes in 10 minutes", len(hits))
		}
		stats := b.stats(sub)
		if stats.Nacked != nacked || stats.Undelivered+stats.Outstanding != 100 {
			b.Errorf("the probes spent %d attempts, and %d messages are left of 100", stats.Nacked-nacked, stats.Undelivered+stats.Outstanding)
		}
	})
}

func TestAnOpenBreakerSurvivesItsOwner(t *testing.T) {
	inBubble(t, func(b *bubble) {
		down := b.outage()
		sub := b.subscribe("sub")
		b.open(sub)
		time.Sleep(3 * time.Minute)
		b.stopFetch()
		b.stopped()
		before, kept := len(b.web.seen()), b.kept(sub)
		if !kept.Open || kept.Since < 3*time.Minute || kept.Probes < 3 {
			b.Fatalf("kept is %+v", kept)
		}
		e := &events{Handler: slog.NewTextHandler(b.Output(), nil)}
		b.pushWith(b.service, Options{Logger: slog.New(e)})
		synctest.Wait()
		began := time.Since(b.web.started)
		time.Sleep(kept.Probe + 2*time.Minute)
		hits := b.web.seen()[before:]
		if len(hits) == 0 || len(hits) > 4 {
			b.Fatalf("the next owner pushed %v", hits)
		}
		b.wantBetween("its first probe", hits[0].at-began, kept.Probe, kept.Probe+10*time.Millisecond)
		down.Store(false)
		time.Sleep(2 * time.Minute)
		b.left(sub, 0)
		if kept := b.kept(sub); kept.Open || e.count("circuit breaker opened") != 0 || e.count("circuit breaker closed") != 1 {
			b.Errorf("kept is %+v, events %q", kept, e.lines)
		}
	})
}

func TestABreakerCanBeClosedByHand(t *testing.T) {
	inBubble(t, func(b *bubble) {
		e := b.listening()
		down := b.outage()
		sub := b.subscribe("sub")
		b.open(sub)
		time.Sleep(3 * time.Minute)
		down.Store(false)
		other := subscriptions.NewService(b.store, subscriptions.Options{}) // not the owner
		was, err := other.ClosePushBreaker(b.Context(), sub)
		if err != nil || !was {
			b.Errorf("closed: %v, %v", was, err)
		}
		time.Sleep(recallEvery + 2*time.Second)
		b.left(sub, 0)
		if e.count("circuit breaker closed") != 1 || b.kept(sub).Open {
			b.Errorf("kept is %+v, events %q", b.kept(sub), e.lines)
		}
		if was, err := other.ClosePushBreaker(b.Context(), sub); err != nil || was {
			b.Errorf("closed again: %v, %v", was, err)
		}
	})
}

// Closing it while the endpoint is still down lets it open again by a new run.
func TestABreakerOpensAgain(t *testing.T) {
	inBubble(t, func(b *bubble) {
		e := b.listening()
		b.outage()
		sub := b.subscribe("sub")
		b.open(sub)
		time.Sleep(time.Minute)
		b.must(b.service.ClosePushBreaker(b.Context(), sub))
		time.Sleep(20 * time.Second)
		if !b.kept(sub).Open || e.count("circuit breaker opened") != 2 || e.count("circuit breaker closed") != 1 {
			b.Errorf("kept is %+v, events %q", b.kept(sub), e.lines)
		}
	})
}

// A few messages that are always refused say nothing of their endpoint.
func TestPoisonOpensNoBreaker(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(refuse)
		sub := b.subscribe("sub", withRetry(time.Second, time.Second))
		for i := range breakerThreshold - 1 {
			b.publish(fmt.Sprint(i))
		}
		time.Sleep(10 * time.Minute)
		if b.kept(sub).Open {
			b.Error("the breaker is open")
		}
	})
}

// Whoever is refused again and again does not keep a good endpoint on trial.
func TestTheTrialGetsPastPoison(t *testing.T) {
	inBubble(t, func(b *bubble) {
		var down atomic.Bool
		down.Store(true)
		b.web.answer(func(h hit) (int, error) {
			if down.Load() || h.message == "0" {
				return http.StatusInternalServerError, nil
			}
			return http.StatusOK, nil
		})
		sub := b.subscribe("sub")
		b.open(sub)
		time.Sleep(5 * time.Minute)
		down.Store(false)
		time.Sleep(5 * time.Minute)
		b.left(sub, 1)
		if b.kept(sub).Open {
			b.Error("the breaker is still open")
		}
	})
}

func TestAnotherEndpointStartsWithAClosedBreaker(t *testing.T) {
	inBubble(t, func(b *bubble) {
		const good = "http://good.example/"
		b.web.answer(func(h hit) (int, error) {
			if h.url == good {
				return http.StatusOK, nil
			}
			return refuse(h)
		})
		sub := b.subscribe("sub")
		b.open(sub)
		time.Sleep(5 * time.Minute)
		b.must(nil, b.service.ModifyPushConfig(b.Context(), sub, &subscriptions.PushConfig{Endpoint: good}, nil))
		time.Sleep(3 * time.Second)
		b.left(sub, 0)
		if b.kept(sub).Open {
			b.Error("the breaker is still open")
		}
	})
}

func TestTheBreakerOutlivesAnOutageOfTheStore(t *testing.T) {
	inBubble(t, func(b *bubble) {
		down := b.outage()
		sub := b.subscribe("sub")
		b.open(sub)
		b.store.setAway(true)
		time.Sleep(time.Minute)
		b.store.setAway(false)
		down.Store(false)
		time.Sleep(3 * time.Minute)
		b.left(sub, 0)
		if b.kept(sub).Open {
			b.Error("the breaker is still open")
		}
	})
}
