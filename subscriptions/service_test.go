package subscriptions_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

func TestAMessageTravels(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "a", "b")
		got := w.pull("billing")
		w.want(texts(got), "[a b]")
		w.want(got[0].Attempt, 0) // no dead-letter policy, no attempt
		w.ack("billing", got)
		wait(time.Hour)
		w.want(w.pullTexts("billing"), "[]")
	})
}

func TestWhatWasPublishedBeforeIsNotReceived(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.publish("orders", "early")
		w.subscribe("orders", "billing")
		w.publish("orders", "late")
		w.want(w.pullTexts("billing"), "[late]")
	})
}

func TestALongPullGetsWhatIsPublishedLater(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		start := time.Now()
		go func() {
			time.Sleep(7 * time.Second)
			w.publish("orders", "late")
		}()
		got, err := w.Pull(w.ctx, subName("billing"), 10, false)
		w.must(err)
		w.want(texts(got), "[late]")
		w.want(time.Since(start), 7*time.Second)
	})
}

func TestALongPullEndsEmpty(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		start := time.Now()
		got, err := w.Pull(w.ctx, subName("billing"), 10, false)
		w.must(err)
		w.want(len(got), 0)
		w.want(time.Since(start), 30*time.Second)
	})
}

func TestALongPullGetsWhatAnotherLetsExpire(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "a")
		w.want(w.pullTexts("billing"), "[a]")
		start := time.Now()
		got, err := w.Pull(w.ctx, subName("billing"), 10, false)
		w.must(err)
		w.want(texts(got), "[a]")
		w.want(time.Since(start), 10*time.Second)
	})
}

func TestALongPullOnAnotherServerIsWoken(t *testing.T) {
	inWorld(t, func(w *world) {
		other := w.server(w.store)
		w.topic("orders")
		w.subscribe("orders", "billing")
		start := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			w.publish("orders", "a")
		}()
		got, err := other.Pull(w.ctx, subName("billing"), 10, false)
		w.must(err)
		w.want(texts(got), "[a]")
		w.want(time.Since(start), 3*time.Second)
	})
}

func TestDrainEndsLongPulls(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		start := time.Now()
		go func() {
			time.Sleep(time.Second)
			w.Drain()
		}()
		got, err := w.Pull(w.ctx, subName("billing"), 10, false)
		w.must(err)
		w.want(len(got), 0)
		w.want(time.Since(start), time.Second)
	})
}

// A puller that goes away while its lease is being made must not cost an
// attempt.
func TestALeaseForOneWhoHasGoneIsReleased(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("orders", "billing", deadLetterTo("dead"))
		w.publish("orders", "a")
		gone, cancel := context.WithCancel(w.ctx)
		cancel()
		_, err := w.Pull(gone, subName("billing"), 10, true)
		w.wantCode(err, subscriptions.Canceled)
		got := w.pull("billing")
		w.want(texts(got), "[a]")
		w.want(got[0].Attempt, 1)
	})
}

// Case 5.
func TestAttemptsCountWithADeadLetterPolicy(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("orders", "with", deadLetterTo("dead"))
		w.subscribe("orders", "without")
		w.publish("orders", "a")
		for attempt := 1; attempt <= 3; attempt++ {
			with, without := w.pull("with"), w.pull("without")
			w.want(with[0].Attempt, attempt)
			w.want(without[0].Attempt, 0)
			w.nack("with", with)
			w.nack("without", without)
		}
	})
}

// Case 6: nobody pulls after the last nack.
func TestFiveNacksMakeADeadLetter(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("dead", "morgue")
		w.subscribe("orders", "billing", deadLetterTo("dead"))
		w.publish("orders", "a")
		published := time.Now()
		wait(2 * time.Second)
		for range 5 {
			w.nack("billing", w.pull("billing"))
		}
		wait(time.Second)
		w.want(w.pullTexts("billing"), "[]")
		st := w.stats("billing")
		w.want(st.Undelivered+st.Outstanding, 0)
		got := w.pull("morgue")
		w.want(texts(got), "[a]")
		a := got[0].Message.Attributes
		w.want(a["CloudPubSubDeadLetterSourceDeliveryCount"], "5")
		w.want(a["CloudPubSubDeadLetterSourceSubscription"], "billing")
		w.want(a["CloudPubSubDeadLetterSourceSubscriptionProject"], "p")
		w.want(a["CloudPubSubDeadLetterSourceTopicPublishTime"], published.UTC().Format("2006-01-02T15:04:05.999999999")+"+00:00")
		w.want(a[subscriptions.ReasonAttribute], subscriptions.ReasonRefused)
		w.want(len(a), 9) // and three of ours, which TestDeadLettersTellTheirOrigin reads
	})
}

func TestExpiredLeasesMakeADeadLetterWithinASecond(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("dead", "morgue")
		w.subscribe("orders", "billing", deadLetterTo("dead"))
		w.publish("orders", "a")
		for range 4 {
			w.nack("billing", w.pull("billing"))
			wait(time.Second) // the sweep looks, and finds no lease
		}
		w.want(w.pullTexts("billing"), "[a]")
		wait(10*time.Second - time.Millisecond)
		w.want(w.pullTexts("morgue"), "[]")
		wait(time.Second)
		w.want(w.pullTexts("morgue"), "[a]")
	})
}

// Case 23.
func TestALoweredMaximumCountsAtTheNextDueTime(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("dead", "morgue")
		w.subscribe("orders", "billing", func(s *subscriptions.Subscription) {
			s.DeadLetter = &subscriptions.DeadLetterPolicy{Topic: topicName("dead"), MaxAttempts: 10}
			s.Retry = &subscriptions.RetryPolicy{Minimum: 5 * time.Second, Maximum: 5 * time.Second}
		})
		w.publish("orders", "a")
		for range 7 {
			w.nack("billing", w.pull("billing"))
			wait(5 * time.Second)
		}
		w.nack("billing", w.pull("billing"))
		_, err := w.UpdateSubscription(w.ctx, subscriptions.Subscription{Name: subName("billing"),
			DeadLetter: &subscriptions.DeadLetterPolicy{MaxAttempts: 5}}, []string{"deadLetterPolicy.maxDeliveryAttempts"})
		w.must(err)
		wait(4 * time.Second)
		w.want(w.pullTexts("morgue"), "[]")
		wait(time.Second + time.Second)
		w.want(w.pullTexts("morgue"), "[a]")
	})
}

func TestAMissingDeadLetterTopicKeepsTheMessage(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("orders", "billing", deadLetterTo("dead"))
		w.must(w.DeleteTopic(w.ctx, topicName("dead")))
		w.publish("orders", "a")
		for range 5 {
			w.nack("billing", w.pull("billing"))
		}
		wait(time.Hour)
		w.want(w.stats("billing").Dead, 1)
		w.topic("dead")
		w.subscribe("dead", "morgue")
		wait(time.Minute)
		w.want(w.pullTexts("morgue"), "[a]")
		w.want(w.stats("billing").Dead, 0)
	})
}

// Case 4.
func TestADeletedTopicLeavesItsSubscriptions(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "before")
		w.must(w.DeleteTopic(w.ctx, topicName("orders")))
		sub, err := w.GetSubscription(w.ctx, subName("billing"))
		w.must(err)
		w.want(sub.TopicDeleted, true)
		w.topic("orders")
		w.publish("orders", "after")
		sub, err = w.GetSubscription(w.ctx, subName("billing"))
		w.must(err)
		w.want(sub.TopicDeleted, true)
		w.want(w.pullTexts("billing"), "[before]")
		subs, _, err := w.ListTopicSubscriptions(w.ctx, topicName("orders"), subscriptions.Page{})
		w.must(err)
		w.want(subs, "[]")
	})
}

func TestDetachDropsTheBacklog(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		w.publish("orders", "a", "b")
		got := w.pull("billing")
		w.must(w.DetachSubscription(w.ctx, subName("billing")))
		_, err := w.Pull(w.ctx, subName("billing"), 1, true)
		w.wantCode(err, subscriptions.FailedPrecondition)
		w.ack("billing", got) // late, without effect, no error
		sub, err := w.GetSubscription(w.ctx, subName("billing"))
		w.must(err)
		w.want(sub.Detached, true)
		w.must(w.DetachSubscription(w.ctx, subName("billing")))
	})
}

func TestDeletingDuringALongPullEndsIt(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		start := time.Now()
		go func() {
			time.Sleep(2 * time.Second)
			w.must(w.DeleteSubscription(w.ctx, subName("billing")))
		}()
		_, err := w.Pull(w.ctx, subName("billing"), 10, false)
		w.wantCode(err, subscriptions.NotFound)
		w.want(time.Since(start), 2*time.Second)
	})
}

func TestRecreatedDuringALongPull(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		other := w.server(w.store)
		start := time.Now()
		result := make(chan string, 1)
		go func() {
			got, err := other.Pull(w.ctx, subName("billing"), 10, false)
			if err != nil {
				result <- err.Error()
				return
			}
			result <- texts(got)
		}()
		synctest.Wait()
		w.must(w.DeleteSubscription(w.ctx, subName("billing")))
		w.subscribe("orders", "billing")
		time.Sleep(time.Second)
		w.publish("orders", "new")
		// Either answer is right; to wait on the old one for ever is not.
		if got := <-result; got != "[new]" && !strings.HasPrefix(got, "NOT_FOUND") {
			t.Fatal(got)
		}
		w.want(time.Since(start) <= time.Second, true)
	})
}

func TestPushSubscriptionsCannotBePulled(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", func(s *subscriptions.Subscription) {
			s.Push = &subscriptions.PushConfig{Endpoint: "http://127.0.0.1/x"}
		})
		_, err := w.Pull(w.ctx, subName("billing"), 1, true)
		w.wantCode(err, subscriptions.FailedPrecondition)
		w.publish("orders", "a")
		w.must(w.ModifyPushConfig(w.ctx, subName("billing"), nil, nil))
		w.want(w.pullTexts("billing"), "[a]")
		sub, err := w.GetSubscription(w.ctx, subName("billing"))
		w.must(err)
		w.want(sub.PushAttributes, "map[x-goog-version:v1]")
		w.must(w.ModifyPushConfig(w.ctx, subName("billing"), nil, nil)) // pulled already
		sub, err = w.GetSubscription(w.ctx, subName("billing"))
		w.must(err)
		w.want(sub.PushAttributes, "map[x-goog-version:v1]")
	})
}

func TestAnUnusedSubscriptionExpires(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", func(s *subscriptions.Subscription) { s.Expiration = 24 * time.Hour })
		w.subscribe("orders", "audit")
		wait(23 * time.Hour)
		w.pull("billing") // a use
		wait(23 * time.Hour)
		_, err := w.GetSubscription(w.ctx, subName("billing"))
		w.must(err)
		wait(2 * time.Hour)
		_, err = w.GetSubscription(w.ctx, subName("billing"))
		w.wantCode(err, subscriptions.NotFound)
		_, err = w.GetSubscription(w.ctx, subName("audit"))
		w.must(err)
	})
}

func TestListsShowOnlyTheirProject(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, project := range []string{"a", "ab"} {
			_, err := w.CreateTopic(w.ctx, subscriptions.Topic{Name: subscriptions.TopicName{Project: project, ID: "topic-of-" + project}})
			w.must(err)
		}
		topics, next, err := w.ListTopics(w.ctx, "a", subscriptions.Page{})
		w.must(err)
		w.want(len(topics), 1)
		w.want(next, "")
	})
}

func TestListsPage(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, id := range []string{"c-3", "a-1", "b-2"} {
			w.topic(id)
		}
		var seen []string
		p := subscriptions.Page{Size: 2}
		for {
			topics, next, err := w.ListTopics(w.ctx, "p", p)
			w.must(err)
			for _, topic := range topics {
				seen = append(seen, topic.Name.ID)
			}
			if p.Token = next; next == "" {
				break
			}
		}
		w.want(seen, "[a-1 b-2 c-3]")
		_, _, err := w.ListTopics(w.ctx, "p", subscriptions.Page{Token: "bogus"})
		w.wantCode(err, subscriptions.InvalidArgument)
		_, _, err = w.ListTopics(w.ctx, "p", subscriptions.Page{Size: -1})
		w.wantCode(err, subscriptions.InvalidArgument)
	})
}

func TestAMaskedSubFieldLeavesTheRestOfThePolicy(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("orders", "billing", func(s *subscriptions.Subscription) {
			s.DeadLetter = &subscriptions.DeadLetterPolicy{Topic: topicName("dead"), MaxAttempts: 9}
			s.Retry = &subscriptions.RetryPolicy{Minimum: time.Second, Maximum: 20 * time.Second}
		})
		sub, err := w.UpdateSubscription(w.ctx, subscriptions.Subscription{Name: subName("billing")},
			[]string{"dead_letter_policy.max_delivery_attempts", "retryPolicy.minimumBackoff"})
		w.must(err)
		w.want(*sub.DeadLetter, subscriptions.DeadLetterPolicy{Topic: topicName("dead"), MaxAttempts: 5})
		w.want(*sub.Retry, subscriptions.RetryPolicy{Minimum: 10 * time.Second, Maximum: 20 * time.Second})
		sub, err = w.UpdateSubscription(w.ctx, subscriptions.Subscription{Name: subName("billing")}, []string{"deadLetterPolicy", "retryPolicy"})
		w.must(err)
		w.want(sub.DeadLetter == nil && sub.Retry == nil, true)
	})
}

// leaver is a store whose caller goes away during the second lease.
type leaver struct {
	subscriptions.Store
	leave  context.CancelFunc
	leases int
}

func (l *leaver) Lease(ctx context.Context, r subscriptions.LeaseRequest) (subscriptions.LeaseResult, error) {
	if l.leases++; l.leases == 2 {
		l.leave()
	}
	r.Max = min(r.Max, 2) // so that the pull needs another step
	return l.Store.Lease(ctx, r)
}

func TestAPullerWhoGoesBetweenTwoStepsSpendsNoAttempt(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("orders", "billing", deadLetterTo("dead"))
		w.publish("orders", "a", "b", "c")
		ctx, leave := context.WithCancel(w.ctx)
		s := subscriptions.NewService(&leaver{Store: w.store, leave: leave}, subscriptions.Options{})
		_, err := s.Pull(ctx, subName("billing"), 10, true)
		w.wantCode(err, subscriptions.Canceled)
		got := w.pull("billing")
		w.want(texts(got), "[a b c]")
		for _, r := range got {
			w.want(r.Attempt, 1)
		}
	})
}

func TestAReleasedAnswerSpendsNoAttempt(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("orders", "billing", deadLetterTo("dead"))
		w.publish("orders", "a")
		w.must(w.Release(w.ctx, subName("billing"), ackIDs(w.pull("billing"))))
		w.want(w.pull("billing")[0].Attempt, 1)
	})
}
