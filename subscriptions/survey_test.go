package subscriptions_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"postrider/subscriptions"
)

// surveyed is a store that counts surveys by topic, and can refuse them.
type surveyed struct {
	subscriptions.Store
	mu      sync.Mutex
	surveys map[string]int
	steps   int // of any kind that surveys bring
	away    bool
}

func (s *surveyed) Survey(ctx context.Context, topic string, uids []string) (subscriptions.Survey, error) {
	s.mu.Lock()
	s.surveys[topic]++
	s.steps++
	away := s.away
	s.mu.Unlock()
	if away {
		return subscriptions.Survey{}, subscriptions.Errorf(subscriptions.Unavailable, "away")
	}
	return s.Store.Survey(ctx, topic, uids)
}

func (s *surveyed) Findings(ctx context.Context, position string) (subscriptions.Findings, error) {
	s.mu.Lock()
	s.steps++
	s.mu.Unlock()
	return s.Store.Findings(ctx, position)
}

func (s *surveyed) taken() (surveys, steps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.surveys {
		surveys += n
	}
	return surveys, s.steps
}

func inSurveyedWorld(t *testing.T, test func(*world, *surveyed)) {
	t.Helper()
	inWorld(t, func(w *world) {
		w.stop()
		s := &surveyed{Store: w.store, surveys: map[string]int{}}
		w.store = s
		w.start()
		wait(time.Minute)
		test(w, s)
	})
}

// One step a changed topic, however much happens there and on however many servers; none for what rests.
func TestOneSurveyAChangedTopic(t *testing.T) {
	t.Parallel()
	inSurveyedWorld(t, func(w *world, s *surveyed) {
		others := []*subscriptions.Service{w.Service, w.server(w.store), w.server(w.store)}
		for i := range 20 {
			id := fmt.Sprint("topic-", i)
			w.topic(id)
			w.subscribe(id, fmt.Sprint("sub-", i))
		}
		wait(5 * time.Minute)
		_, steps := s.taken()
		before, _ := s.taken()
		const busy = 10 * time.Minute
		for i := range int(busy / time.Second) { // all servers are busy with one topic
			for _, o := range others {
				_, err := o.Publish(w.ctx, topicName("topic-7"), []subscriptions.Message{{Data: []byte("x")}})
				w.must(err)
			}
			if i%2 == 0 {
				w.ack("sub-7", w.pull("sub-7"))
			}
			wait(time.Second)
		}
		surveys, after := s.taken()
		if n, most := surveys-before, int(busy/(3*time.Second)); n < 60 || n > most {
			w.Errorf("%d surveys in %v, want up to %d", n, busy, most)
		}
		if looks := after - steps - (surveys - before); looks > 3*int(busy/(4*time.Second)) {
			w.Errorf("%d looks at findings", looks)
		}
		w.ack("sub-7", w.pull("sub-7")) // with a backlog, each sweep may change it
		wait(time.Minute)
		surveys, _ = s.taken()
		wait(2 * time.Hour)
		if now, _ := s.taken(); now != surveys {
			w.Errorf("%d surveys while nothing happened", now-surveys)
		}
		for _, o := range others {
			w.want(w.named(w.overview(o), "sub-7").Stats.Acked > 1700, true)
		}
	})
}

// What could not be surveyed is, once the store is back.
func TestSurveyAfterAnOutage(t *testing.T) {
	t.Parallel()
	inSurveyedWorld(t, func(w *world, s *surveyed) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.found()
		s.mu.Lock()
		s.away = true
		s.mu.Unlock()
		w.publish("orders", "a", "b")
		wait(time.Minute)
		w.want(w.named(w.overview(w.Service), "billing").Stats.Backlog(), 0)
		s.mu.Lock()
		s.away = false
		s.mu.Unlock()
		w.found()
		w.want(w.named(w.overview(w.Service), "billing").Stats.Backlog(), 2)
	})
}

// A backlog that was there before anybody surveyed, as after an upgrade, is found without being touched.
func TestFirstSurvey(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "a", "b")
		w.stop() // before its first round
		w.start()
		w.found()
		w.want(w.named(w.overview(w.Service), "billing").Stats.Backlog(), 2)
	})
}

// Dead letters, breakers and deletions show, and what is known of what was deleted is forgotten.
func TestOverviewOfDeadLetters(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("orders-dead")
		w.topic("unwatched-dead")
		w.subscribe("orders", "billing", deadLetterTo("orders-dead"))
		w.subscribe("orders", "mail", deadLetterTo("unwatched-dead"))
		w.subscribe("orders-dead", "dead-letters")
		w.publish("orders", "a", "b")
		for range 5 {
			w.nack("billing", w.pull("billing"))
			w.nack("mail", w.pull("mail"))
		}
		w.found()
		held := map[string]int64{}
		for _, r := range w.overview(w.Service).Topics {
			held[r.Topic.Name.ID] = r.DeadLetters
		}
		w.want(held, map[string]int64{"orders": 0, "orders-dead": 2, "unwatched-dead": 2})
		w.want(w.named(w.overview(w.Service), "billing").Stats.DeadLettered, 2)
		w.ack("dead-letters", w.pull("dead-letters"))
		w.must(w.DeleteSubscription(w.ctx, subName("mail")))
		w.found()
		for _, r := range w.overview(w.Service).Topics {
			w.want(r.DeadLetters, 0)
		}
		uid := func() (uids int) {
			page, err := w.store.Findings(w.ctx, "")
			w.must(err)
			return len(page.Found)
		}
		w.want(uid(), 6)
		wait(time.Hour)
		w.want(uid(), 5)
	})
}

// What a redrive moves is seen on both sides, although nobody pulls either.
func TestOverviewOfARedrive(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("orders-dead")
		w.subscribe("orders", "billing", deadLetterTo("orders-dead"))
		w.subscribe("orders-dead", "dead-letters")
		w.publish("orders", "a", "b")
		for range 5 {
			w.nack("billing", w.pull("billing"))
		}
		w.found()
		w.redrive(fromSub("billing"))
		w.found()
		w.want(w.named(w.overview(w.Service), "billing").Stats.Backlog(), 2)
		w.want(w.named(w.overview(w.Service), "dead-letters").Stats.Backlog(), 0)
	})
}

func TestOverviewOfABreaker(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", pushed)
		sub, err := w.GetSubscription(w.ctx, subName("billing"))
		w.must(err)
		_, err = w.KeepPushBreaker(w.ctx, sub, subscriptions.Breaker{Open: true, Probe: time.Minute, Endpoint: "e"})
		w.must(err)
		w.found()
		b := w.named(w.overview(w.Service), "billing").Breaker
		w.want(b.Open, true)
		w.want(b.Since > 10*time.Second && b.Since < 20*time.Second && b.Probe > 40*time.Second && b.Probe < 50*time.Second, true)
		_, err = w.ClosePushBreaker(w.ctx, subName("billing"))
		w.must(err)
		w.found()
		w.want(w.named(w.overview(w.Service), "billing").Breaker, subscriptions.Breaker{})
	})
}

// What the owner of pushes says is in the overview of every server, without asking it, and grows old there.
func TestOverviewOfAPushReport(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", pushed)
		w.found()
		w.want(w.named(w.overview(w.Service), "billing").Push, subscriptions.PushReport{})
		sub, err := w.GetSubscription(w.ctx, subName("billing"))
		w.must(err)
		at := time.Now().UTC()
		refused := func(status int) subscriptions.PushError {
			return subscriptions.PushError{Attempt: subscriptions.Attempt{Failure: subscriptions.Failure{Status: status}}}
		}
		said := subscriptions.PushReport{
			At: at, RetryAfter: at.Add(30 * time.Minute), Errors: []subscriptions.PushError{refused(429), refused(503)},
		}
		other := w.server(w.store)
		wait(5 * time.Second)
		w.must(w.ReportPush(w.ctx, sub, said))
		w.found()
		if r := w.named(w.overview(w.Service), "billing"); r.Push.Server != r.Server { // the other is the owner
			w.must(other.ReportPush(w.ctx, sub, said))
			w.found()
		}
		for _, s := range []*subscriptions.Service{w.Service, other} {
			p := w.named(w.overview(s), "billing").Push
			w.want(p.Left(p.RetryAfter), 30*time.Minute-p.Age)
			w.want(p.Age >= 14*time.Second && p.Age <= 17*time.Second, true)
			w.want(p.Errors, []subscriptions.PushError{refused(429)})
		}
		wait(50 * time.Minute)
		p := w.named(w.overview(w.Service), "billing").Push
		w.want(p.Left(p.RetryAfter), "0s")
		w.want(len(p.Errors), 1)
		wait(15 * time.Minute)
		w.want(w.named(w.overview(w.Service), "billing").Push, subscriptions.PushReport{})
	})
}

// What an endpoint asked of an owner that has gone does not hold for the next.
func TestOverviewOfAnotherOwnersReport(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", pushed)
		sub, err := w.GetSubscription(w.ctx, subName("billing"))
		w.must(err)
		at := time.Now().UTC()
		w.must(w.store.ReportPush(w.ctx, sub.Ref(), subscriptions.PushReport{
			Server: "one that has gone", At: at, RetryAfter: at.Add(time.Hour), Errors: make([]subscriptions.PushError, 1),
		}, time.Hour))
		w.publish("orders", "a")
		w.found()
		p := w.named(w.overview(w.Service), "billing").Push
		w.want(p.Left(p.RetryAfter), "0s")
		w.want(len(p.Errors), 1)
	})
}

// Ordering keys that stand still are in the overview, with the reason of the first.
func TestOverviewOfBlockedKeys(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", func(s *subscriptions.Subscription) { s.Ordered = true })
		for _, key := range []string{"a", "b"} {
			_, err := w.Publish(w.ctx, topicName("orders"), []subscriptions.Message{{Data: []byte("x"), OrderingKey: key}})
			w.must(err)
		}
		w.nack("billing", w.pull("billing"))
		at := time.Now()
		w.found()
		b := w.named(w.overview(w.Service), "billing").Blocked
		w.want(b.Keys, 2)
		w.want(b.Since.Equal(at), true)
		w.want(b.Failed.Reason, subscriptions.ReasonRefused)
		w.ack("billing", w.pull("billing"))
		w.found()
		w.want(w.named(w.overview(w.Service), "billing").Blocked, subscriptions.BlockedKeys{})
	})
}
