package pusher

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

func TestPlacesAreShared(t *testing.T) {
	p := places{most: 100}
	first := p.take(1000, 0)
	second := p.take(1000, 0)
	third := p.take(3, 0)
	if first != 50 || second != 25 || third != 3 {
		t.Errorf("three workers have %d, %d and %d of 100, want 50, 25 and 3", first, second, third)
	}
	if more := p.take(1000, first); more != 0 {
		t.Errorf("the first gets %d more", more)
	}
	p.giveBack(first)
	if more := p.take(1000, second); more != 23 { // so that it has 48 of 51
		t.Errorf("the second gets %d more, want 23", more)
	}
	full := places{most: 1}
	for range 3 {
		if n := full.take(10, 0); n != 1 {
			t.Errorf("a worker with none gets %d, want 1", n)
		}
	}
	if n := full.take(10, 1); n != 0 {
		t.Errorf("beyond the bound a worker gets %d more", n)
	}
}

// crowd counts pushes that are out.
type crowd struct {
	mu             sync.Mutex
	all, mostOfAll int
}

func (c *crowd) enter() (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all++
	c.mostOfAll = max(c.mostOfAll, c.all)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
	}
}

// highest is how many were out at once of all.
func (c *crowd) highest() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mostOfAll
}

// Endpoints that fill their windows and then hang leave others their share of
// the server.
func TestTheServersCapHolds(t *testing.T) {
	inBubble(t, func(b *bubble) {
		var c crowd
		var hanging atomic.Bool
		b.web.answer(func(h hit) (int, error) {
			defer c.enter()()
			if hanging.Load() && h.url != testEndpoint {
				return http.StatusOK, h.work(time.Hour)
			}
			return http.StatusOK, h.work(100 * time.Millisecond)
		})
		b.stopFetch()
		b.stopped()
		b.pushWith(b.service, Options{MaxPushes: 100})
		var greedy []subscriptions.SubscriptionName
		for i := range 3 {
			greedy = append(greedy, b.subscribe(fmt.Sprint("greedy", i), func(s *subscriptions.Subscription) {
				s.Push.Endpoint = fmt.Sprintf("http://greedy%d.example/", i)
			}))
		}
		for range 10 {
			b.publish(slices.Repeat([]string{"m"}, 1000)...)
		}
		time.Sleep(10 * time.Second)
		if n := c.highest(); n > 100 || n < 70 {
			b.Errorf("%d pushes were out at once of all, want 75 or so of 100", n)
		}
		hanging.Store(true)
		healthy := b.subscribe("healthy")
		for i := range 20 {
			b.publish("m")
			time.Sleep(200 * time.Millisecond)
			synctest.Wait()
			if n := b.stats(healthy); n.Undelivered+n.Outstanding > 0 {
				b.Errorf("message %d was not pushed within 200 ms beside endpoints that hang", i)
			}
		}
		if n := c.highest(); n > 100 {
			b.Errorf("%d pushes were out at once of all", n)
		}
		for _, name := range greedy {
			b.must(nil, b.service.DeleteSubscription(b.Context(), name))
		}
	})
}

func withLimits(l subscriptions.PushLimits) func(*subscriptions.Subscription) {
	return func(s *subscriptions.Subscription) { s.PushLimits = l }
}

func TestASubscriptionsCapHolds(t *testing.T) {
	for _, most := range []int{1, 3, 25} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				var c crowd
				b.web.answer(func(h hit) (int, error) {
					defer c.enter()()
					return http.StatusOK, h.work(10 * time.Millisecond)
				})
				sub := b.subscribe("sub", withLimits(subscriptions.PushLimits{MaxOutstanding: most}))
				b.publish(slices.Repeat([]string{"m"}, 500)...)
				time.Sleep(10 * time.Second)
				b.left(sub, 0)
				if n := c.highest(); n != most {
					b.Errorf("%d pushes were out at once, want %d", n, most)
				}
			})
		})
	}
}

// With a cap of one a message that is always refused leaves the others their turn.
func TestPoisonUnderACapOfOne(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) {
			if h.message == "poison" {
				return http.StatusBadRequest, nil
			}
			return http.StatusOK, nil
		})
		sub := b.subscribe("sub", withLimits(subscriptions.PushLimits{MaxOutstanding: 1}))
		b.publish("poison")
		time.Sleep(10 * time.Minute)
		for range 50 {
			b.publish("good")
		}
		time.Sleep(10 * time.Minute)
		b.left(sub, 1)
	})
}

func TestTheRateLimitHolds(t *testing.T) {
	for _, perSecond := range []float64{0.5, 7, 200} {
		t.Run(fmt.Sprint(perSecond), func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				sub := b.subscribe("sub", withLimits(subscriptions.PushLimits{MaxPerSecond: perSecond}))
				began := time.Since(b.web.started)
				const seconds = 60
				for range int(perSecond*seconds)/100 + 1 {
					b.publish(slices.Repeat([]string{"m"}, 100)...)
				}
				time.Sleep(seconds * time.Second)
				hits := b.web.seen()
				want := perSecond*seconds + float64(burst(perSecond))
				if n := float64(len(hits)); n > want+1 || n < want*0.95-1 {
					b.Errorf("%v pushes in a minute, want %v", n, want)
				}
				for from := range hits { // nor more than a second's worth and a burst in any second
					n := 0
					for _, h := range hits[from:] {
						if h.at-hits[from].at < time.Second {
							n++
						}
					}
					if most := perSecond + float64(burst(perSecond)); float64(n) > most+1 {
						b.Fatalf("%d pushes in the second from %v, want %v at most", n, hits[from].at-began, most)
					}
					if from > 200 {
						break
					}
				}
				change := subscriptions.Subscription{Name: sub}
				b.must(b.service.UpdateSubscription(b.Context(), change, []string{"postrider.pushLimits"}))
				time.Sleep(5 * time.Second)
				b.left(sub, 0) // the limit is gone
			})
		})
	}
}
