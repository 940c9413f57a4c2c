package web

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

// sayer is a server that is slow to say how it is, and counts how often it is asked.
type sayer struct {
	times int
	takes time.Duration
	ended bool // a question was broken off
}

func (a *sayer) warnings(ctx context.Context) (bool, []string) {
	a.times++
	time.Sleep(a.takes)
	a.ended = a.ended || ctx.Err() != nil
	return a.times > 1, []string{fmt.Sprintf("warning %d", a.times)}
}

// However many look, and however often, the server is asked how it is once a second.
func TestHealthIsAskedForAllTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &sayer{takes: 50 * time.Millisecond}
		h := newHealth(a.warnings)
		var readers sync.WaitGroup
		for range 100 {
			readers.Go(func() {
				for range 20 {
					if _, warnings, err := h.get(t.Context()); err != nil || len(warnings) != 1 {
						t.Errorf("got %q, %v", warnings, err)
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		readers.Wait()
		if a.times != 2 {
			t.Errorf("in two seconds it was asked %d times", a.times)
		}
	})
}

// What is said is never older than a second when it is read.
func TestHealthIsKeptForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &sayer{}
		h := newHealth(a.warnings)
		for _, step := range []struct {
			after time.Duration
			ready bool
			times int
		}{{0, false, 1}, {healthAge - 1, false, 1}, {1, true, 2}, {time.Hour, true, 3}} {
			time.Sleep(step.after)
			ready, warnings, err := h.get(t.Context())
			if want := fmt.Sprintf("warning %d", step.times); err != nil || ready != step.ready || warnings[0] != want {
				t.Errorf("after %v more: %v, %q, %v", step.after, ready, warnings, err)
			}
		}
	})
}

// A reader who goes takes nothing from the others: neither the answer nor its own time to wait.
func TestHealthOutlivesItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &sayer{takes: 2 * time.Second}
		h := newHealth(a.warnings)
		goes, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		var readers sync.WaitGroup
		readers.Go(func() {
			if _, warnings, err := h.get(goes); err != nil || warnings[0] != "warning 1" {
				t.Errorf("who asked got %q, %v", warnings, err)
			}
		})
		synctest.Wait()
		began := time.Now()
		readers.Go(func() {
			if _, _, err := h.get(goes); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("who waited, and went, got %v after %v", err, time.Since(began))
			}
		})
		readers.Go(func() {
			if _, warnings, err := h.get(t.Context()); err != nil || warnings[0] != "warning 1" {
				t.Errorf("who waited got %q, %v", warnings, err)
			}
		})
		readers.Wait()
		if a.times != 1 || a.ended {
			t.Errorf("it was asked %d times; broken off: %v", a.times, a.ended)
		}
	})
}

// All views of a page, and the streams of live ones, share one answer; and a server that cannot serve says so first.
func TestOverviewAsksForHealthOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &sayer{}
		f := &fake{overview: survey(nil, testReport("billing", func(r *subscriptions.SubscriptionReport) { r.Buried = 1 }))}
		s := New(f, Options{Warnings: a.warnings})
		for range 30 {
			wants(t, shown(t, read(t, s, "/")), "critical", "Warning 1", "warning", "billing")
		}
		if a.times != 1 {
			t.Errorf("thirty views asked %d times", a.times)
		}
		time.Sleep(healthAge)
		wants(t, shown(t, read(t, s, "/")), "warning", "billing", "note", "Warning 2")
	})
}
