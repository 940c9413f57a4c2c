package pusher

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

// Case 33 of the field: six servers push what they all take for theirs, each
// push takes 0.6 of the deadline, and no message is ever out twice at once.
func TestNoMessageIsOutTwiceAtOnce(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) {
			return http.StatusOK, h.work(subscriptions.DefaultAckDeadline * 6 / 10)
		})
		name := b.subscribe("sub")
		b.pushEverywhere(name, 5)
		for i := range 100 {
			b.publish(fmt.Sprint(i))
		}
		time.Sleep(10 * time.Minute)
		b.wantOnceEach(100)
		b.left(name, 0)
	})
}

// The same with an endpoint that works on six at a time and lets the others
// queue until their deadline.
func TestNoMessageIsOutTwiceAtOnceThoughTheEndpointQueues(t *testing.T) {
	inBubble(t, func(b *bubble) {
		places := make(chan struct{}, 6)
		b.web.answer(func(h hit) (int, error) {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
				return http.StatusOK, h.work(subscriptions.DefaultAckDeadline * 6 / 10)
			case <-h.request.Context().Done():
				return 0, h.request.Context().Err()
			}
		})
		name := b.subscribe("sub")
		for i := range 100 {
			b.publish(fmt.Sprint(i))
		}
		time.Sleep(time.Hour)
		b.wantNeverTwice()
		b.left(name, 0)
	})
}

// pushEverywhere adds servers that all push the subscription.
func (b *bubble) pushEverywhere(name subscriptions.SubscriptionName, servers int) {
	b.Helper()
	sub, err := b.store.Subscription(b.Context(), name)
	b.must(nil, err)
	for range servers {
		service := subscriptions.NewService(b.store, subscriptions.Options{})
		stopFetch, stopWork := b.stopFetch, b.stopWork
		b.push(&ownership{Service: service, owned: []subscriptions.Subscription{sub}})
		all, work := b.stopFetch, b.stopWork
		b.stopFetch = func() { stopFetch(); all() }
		b.stopWork = func() { stopWork(); work() }
	}
}

func (b *bubble) wantOnceEach(n int) {
	b.Helper()
	messages := b.wantNeverTwice()
	if hits := len(b.web.seen()); hits != n || messages != n {
		b.Errorf("%d pushes of %d messages, want one of each of %d", hits, messages, n)
	}
}

// wantNeverTwice fails if a message was out twice at once, and returns how many
// there were.
func (b *bubble) wantNeverTwice() (messages int) {
	b.Helper()
	synctest.Wait()
	b.web.mu.Lock()
	defer b.web.mu.Unlock()
	for message, most := range b.web.most {
		if most > 1 {
			b.Errorf("%s was out %d times at once", message, most)
		}
	}
	return len(b.web.most)
}

// Case 10: A hangs to its deadline, with a backlog of 10,000; B does not notice.
func TestAHangingEndpointDelaysNoOther(t *testing.T) {
	inBubble(t, func(b *bubble) {
		const hanging = "http://hanging.example/"
		b.web.answer(func(h hit) (int, error) {
			if h.url == hanging {
				return http.StatusOK, h.work(time.Hour)
			}
			return http.StatusOK, h.work(10 * time.Millisecond)
		})
		b.subscribe("hanging", func(s *subscriptions.Subscription) { s.Push.Endpoint = hanging })
		for range 10 {
			b.publish(slices.Repeat([]string{"backlog"}, 1000)...)
		}
		healthy := b.subscribe("healthy")
		var late []time.Duration
		for i := range 300 {
			published := time.Since(b.web.started)
			b.publish(fmt.Sprint(i))
			time.Sleep(100 * time.Millisecond)
			hits := b.web.seen()
			at := slices.IndexFunc(hits, func(h hit) bool { return h.message == fmt.Sprint(i) && h.url == testEndpoint })
			if at < 0 {
				b.Fatalf("message %d was not pushed within 100 ms", i)
			}
			late = append(late, hits[at].at-published)
		}
		slices.Sort(late)
		b.wantBetween("the 99th percentile", late[len(late)*99/100], 0, time.Second)
		b.left(healthy, 0)
	})
}

// Case 12 in the bubble: whatever breaks on the way is a nack, and tried again.
func TestBrokenConnectionsAreTriedAgain(t *testing.T) {
	inBubble(t, func(b *bubble) {
		var broken []error
		b.web.answer(func(h hit) (int, error) {
			if len(broken) == 0 {
				return http.StatusOK, nil
			}
			err := broken[0]
			broken = broken[1:]
			return 0, err
		})
		broken = []error{syscall.ECONNREFUSED, syscall.ECONNRESET, errors.New("malformed HTTP response")}
		sub := b.subscribe("sub")
		b.publish("m")
		time.Sleep(time.Minute)
		if n := len(b.web.seen()); n != 4 {
			b.Errorf("%d pushes, want 3 broken ones and 1 good", n)
		}
		if s := b.stats(sub); s.Nacked != 3 || s.Acked != 1 {
			b.Errorf("%d nacked and %d acked, want 3 and 1", s.Nacked, s.Acked)
		}
	})
}

func TestAPushEndsWithItsDeadline(t *testing.T) {
	inBubble(t, func(b *bubble) {
		var ended []time.Duration
		b.web.answer(func(h hit) (int, error) {
			err := h.work(time.Hour)
			ended = append(ended, time.Since(b.web.started)-h.at)
			return http.StatusOK, err
		})
		sub := b.subscribe("sub", func(s *subscriptions.Subscription) { s.AckDeadline = 20 * time.Second })
		b.publish("m")
		time.Sleep(21 * time.Second)
		synctest.Wait()
		if len(ended) != 1 {
			b.Fatalf("%d pushes ended, want 1", len(ended))
		}
		b.wantBetween("the push", ended[0], 20*time.Second, 20*time.Second)
		if s := b.stats(sub); s.Nacked != 1 || s.Expired != 0 {
			b.Errorf("%d nacked and %d expired, want 1 and 0: the lease outlasts the push", s.Nacked, s.Expired)
		}
	})
}

func TestAnAckSurvivesAnOutageOfTheStore(t *testing.T) {
	for _, outage := range []time.Duration{3 * time.Second, 40 * time.Second} {
		t.Run(outage.String(), func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				b.web.answer(func(h hit) (int, error) {
					b.store.setAway(true)
					return http.StatusOK, nil
				})
				sub := b.subscribe("sub")
				b.publish("m")
				time.Sleep(outage)
				b.store.setAway(false)
				time.Sleep(time.Minute)
				if n := len(b.web.seen()); n != 1 {
					b.Errorf("%d pushes, want 1", n)
				}
				b.left(sub, 0)
			})
		})
	}
}

func TestAfterALongOutageTheMessageComesAgain(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) {
			b.store.setAway(true)
			return http.StatusOK, nil
		})
		sub := b.subscribe("sub")
		b.publish("m")
		time.Sleep(5 * time.Minute)
		b.web.answer(accept)
		b.store.setAway(false)
		time.Sleep(time.Minute)
		if n := len(b.web.seen()); n != 2 {
			b.Errorf("%d pushes, want 2", n)
		}
		b.left(sub, 0)
	})
}
