package pusher

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

// withDeadLetters makes deliveries carry their attempt.
func (b *bubble) withDeadLetters() func(*subscriptions.Subscription) {
	dead := subscriptions.TopicName{Project: "p", ID: "dead"}
	_, err := b.service.CreateTopic(b.Context(), subscriptions.Topic{Name: dead})
	b.must(nil, err)
	return func(s *subscriptions.Subscription) { s.DeadLetter = &subscriptions.DeadLetterPolicy{Topic: dead} }
}

// stopped waits for the Manager to end and tells how long that took.
func (b *bubble) stopped() time.Duration {
	start := time.Now()
	b.pushing.Wait()
	return time.Since(start)
}

func TestStoppingLetsPushesUnderWayFinish(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) { return http.StatusOK, h.work(5 * time.Second) })
		sub := b.subscribe("sub")
		b.publish("under way")
		time.Sleep(time.Second)
		b.stopFetch()
		b.publish("too late")
		b.wantBetween("the stop", b.stopped(), 4*time.Second, 4*time.Second)
		if hits := b.web.seen(); len(hits) != 1 || hits[0].message != "under way" {
			b.Errorf("the endpoint saw %v", hits)
		}
		b.left(sub, 1)
	})
}

func TestStoppingLeavesTheBacklog(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) { return http.StatusOK, h.work(5 * time.Second) })
		sub := b.subscribe("sub")
		b.publish(slices.Repeat([]string{"m"}, 50)...)
		time.Sleep(time.Second)
		b.stopFetch()
		b.wantBetween("the stop", b.stopped(), 4*time.Second, 4*time.Second)
		if n := len(b.web.seen()); n != firstWindow {
			b.Errorf("%d pushes, want the %d that were under way", n, firstWindow)
		}
		b.left(sub, 40)
	})
}

func TestWhatIsNotFinishedInTheGraceIsReleased(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) { return http.StatusOK, h.work(time.Hour) })
		sub := b.subscribe("sub", b.withDeadLetters())
		b.publish("a", "b", "c")
		time.Sleep(time.Second)
		b.stopFetch()
		time.AfterFunc(2*time.Second, b.stopWork)
		b.wantBetween("the stop", b.stopped(), 2*time.Second, 2*time.Second)

		b.web.answer(accept)
		b.push(b.service)
		time.Sleep(time.Second)
		hits := b.web.seen()
		if len(hits) != 6 {
			b.Fatalf("%d pushes, want 3 before the stop and 3 after", len(hits))
		}
		for _, h := range hits[3:] {
			if h.attempt != 1 {
				b.Errorf("%s has attempt %d after the stop: it spent one", h.message, h.attempt)
			}
		}
		b.left(sub, 0)
	})
}

func TestOutcomesKnownAtTheStopAreSettled(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) {
			if h.message == "slow" {
				return http.StatusOK, h.work(time.Hour)
			}
			return http.StatusOK, nil
		})
		sub := b.subscribe("sub")
		b.store.setOnLease(func() { b.store.setAway(true) }) // so nothing is settled before the stop
		b.publish("quick", "slow")
		time.Sleep(time.Second)
		b.left(sub, 2)
		b.stopFetch()
		b.stopWork()
		b.store.setOnLease(nil)
		b.store.setAway(false)
		b.stopped()
		b.left(sub, 1)
	})
}

func TestALeaseThatComesWhileStoppingIsReleased(t *testing.T) {
	inBubble(t, func(b *bubble) {
		sub := b.subscribe("sub", b.withDeadLetters())
		b.store.setOnLease(b.stopFetch)
		b.publish("m")
		b.wantBetween("the stop", b.stopped(), 0, 0)
		if n := len(b.web.seen()); n != 0 {
			b.Errorf("%d pushes of a lease that came too late", n)
		}
		b.store.setOnLease(nil)
		b.push(b.service)
		time.Sleep(time.Second)
		if hits := b.web.seen(); len(hits) != 1 || hits[0].attempt != 1 {
			b.Errorf("after the stop the endpoint saw %v", hits)
		}
		b.left(sub, 0)
	})
}

func TestAStopWithTheStoreAwayEnds(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) {
			b.store.setAway(true)
			return http.StatusOK, nil
		})
		b.subscribe("sub")
		b.publish("m")
		time.Sleep(time.Second)
		b.stopFetch()
		b.stopWork()
		b.wantBetween("the stop", b.stopped(), 0, lastSettle+maxStoreWait)
		b.store.setAway(false)
	})
}

func TestALostSubscriptionEndsItsPushes(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.web.answer(func(h hit) (int, error) { return http.StatusOK, h.work(5 * time.Second) })
		name := b.subscribe("sub")
		sub, err := b.store.Subscription(b.Context(), name)
		b.must(nil, err)
		b.stopFetch()
		b.stopped()

		owners := &ownership{Service: b.service}
		b.push(owners)
		owners.set(sub)
		synctest.Wait()
		b.publish("before")
		time.Sleep(time.Second)
		owners.set()
		synctest.Wait()
		b.publish("after")
		time.Sleep(time.Minute)
		if hits := b.web.seen(); len(hits) != 1 || hits[0].message != "before" {
			b.Errorf("the endpoint saw %v", hits)
		}
		b.left(name, 1)
		owners.set(sub)
		synctest.Wait()
		time.Sleep(time.Minute)
		b.left(name, 0)
	})
}
