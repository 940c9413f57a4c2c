package subscriptions_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

const week = 7 * 24 * time.Hour

// logging starts the world's server anew, with a log that the test can read and
// other options.
func (w *world) logging(o subscriptions.Options) *bytes.Buffer {
	w.stop()
	var log bytes.Buffer
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	w.options = o
	w.start()
	return &log
}

// skip is wait for so long that a server's heartbeats would take the test minutes:
// it runs in the last half hour only.
func (w *world) skip(d time.Duration) {
	const last = 30 * time.Minute
	if d > last {
		w.stop()
		wait(d - last)
		w.start()
	}
	wait(min(d, last))
}

// warned checks that there is a warning with these words, or none without.
func (w *world) warned(words ...string) {
	w.Helper()
	got := strings.Join(w.Warnings(), "\n")
	if len(words) == 0 && got != "" {
		w.Fatalf("warned of %q", got)
	}
	for _, word := range words {
		if !strings.Contains(got, word) {
			w.Fatalf("%q is missing in %q", word, got)
		}
	}
}

func (w *world) explained(sub string, words ...string) subscriptions.Explanation {
	w.Helper()
	e, err := w.Explain(w.ctx, subName(sub))
	w.must(err)
	got := strings.Join(e.Warnings, "\n")
	if len(words) == 0 && got != "" {
		w.Fatalf("warned of %q", got)
	}
	for _, word := range words {
		if !strings.Contains(got, word) {
			w.Fatalf("%q is missing in %q", word, got)
		}
	}
	return e
}

// expires is when a subscription goes, as far as its record says.
func (w *world) expires(sub string) time.Time {
	w.Helper()
	got, err := w.GetSubscription(w.ctx, subName(sub))
	w.must(err)
	return got.Expires
}

// Case 21.
func TestAnExpirationIsWarnedOf(t *testing.T) {
	inWorld(t, func(w *world) {
		log := w.logging(subscriptions.Options{})
		w.topic("dead")
		w.subscribe("dead", "morgue", func(s *subscriptions.Subscription) { s.Expiration = subscriptions.ServerExpiration })
		end := time.Now().Add(31 * 24 * time.Hour)
		w.skip(time.Until(end.Add(-week)) - time.Minute)
		w.want(w.expires("morgue").IsZero(), true)
		w.warned()
		w.want(w.explained("morgue").Expires.Equal(end), true)
		wait(20 * time.Minute) // a sweep
		w.want(w.expires("morgue").Equal(end), true)
		subs, _, err := w.ListSubscriptions(w.ctx, "p", subscriptions.Page{})
		w.must(err)
		w.want(subs[0].Expires.Equal(end), true)
		w.warned("will be deleted", "projects/p/subscriptions/morgue", end.Format("2006-01-02T15:04Z"))
		w.explained("morgue", "will be deleted")
		wait(26 * time.Hour)
		if n := strings.Count(log.String(), "will be deleted"); n != 2 {
			t.Errorf("%d lines in 26 hours:\n%s", n, log)
		}
		w.pull("morgue")
		w.want(w.expires("morgue").IsZero(), true)
		w.explained("morgue")
		wait(20 * time.Minute)
		w.warned()
		w.skip(31 * 24 * time.Hour)
		_, err = w.GetSubscription(w.ctx, subName("morgue"))
		w.wantCode(err, subscriptions.NotFound)
		w.warned()
	})
}

func TestAShortExpirationIsWarnedOfInItsSecondHalf(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", func(s *subscriptions.Subscription) { s.Expiration = 48 * time.Hour })
		w.skip(24*time.Hour - time.Second)
		w.want(w.expires("billing").IsZero(), true)
		wait(time.Second)
		w.want(w.expires("billing").IsZero(), false)
	})
}

func TestTheServerSaysHowLongIsUnused(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		for expiration, want := range map[time.Duration]time.Duration{
			0: 31 * 24 * time.Hour, 90 * 24 * time.Hour: 90 * 24 * time.Hour, subscriptions.NeverExpires: 0,
		} {
			w.logging(subscriptions.Options{Expiration: expiration})
			name := fmt.Sprint("sub", int64(expiration))
			w.subscribe("orders", name, func(s *subscriptions.Subscription) { s.Expiration = subscriptions.ServerExpiration })
			got, err := w.GetSubscription(w.ctx, subName(name))
			w.must(err)
			w.want(got.Expiration, want)
			patch := func(to time.Duration) time.Duration {
				got, err := w.UpdateSubscription(w.ctx, subscriptions.Subscription{Name: subName(name), Expiration: to}, []string{"expirationPolicy"})
				w.must(err)
				return got.Expiration
			}
			w.want(patch(25*time.Hour), 25*time.Hour)
			w.want(patch(subscriptions.ServerExpiration), want)
		}
	})
}

// A subscriber that is there uses its subscription, though nothing is published.
func TestAnIdleStreamKeepsItsSubscription(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", func(s *subscriptions.Subscription) { s.Expiration = 24 * time.Hour })
		st := w.stream("billing", subscriptions.StreamOptions{})
		defer st.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			st.Next(w.ctx) // until Interrupt
		}()
		wait(13 * time.Hour) // more than half
		w.want(w.expires("billing").IsZero(), true)
		st.Interrupt()
		<-done
	})
}

func TestWhatWillBeDroppedIsWarnedOf(t *testing.T) {
	for _, retention := range []time.Duration{subscriptions.MinRetention, time.Hour, week} {
		t.Run(retention.String(), func(t *testing.T) {
			inWorld(t, func(w *world) {
				log := w.logging(subscriptions.Options{})
				w.topic("orders")
				w.subscribe("orders", "billing", func(s *subscriptions.Subscription) { s.Retention = retention })
				wait(time.Minute)
				w.publish("orders", "a")
				w.skip(retention * 8 / 10 * 99 / 100)
				w.warned()
				w.explained("billing")
				w.skip(retention * 2 / 10 * 99 / 100) // just before it is dropped
				w.warned("billing", "dropped")
				w.explained("billing", "dropped")
				w.want(w.pullTexts("billing"), "[a]")
				w.skip(10*time.Minute + retention/5)
				w.warned()
				w.want(w.stats("billing").Dropped, 1)
				if retention == week {
					return
				}
				for range 10 { // again and again: it is not logged each time
					w.publish("orders", "b")
					wait(retention)
				}
				if n, most := strings.Count(log.String(), "dropped"), 2+int(10*retention/time.Hour); n == 0 || n > most {
					t.Errorf("%d lines:\n%s", n, log)
				}
			})
		})
	}
}

// The topic's retention counts where it is the longer one, and goes with the topic.
func TestATopicKeepsWhatWouldBeDropped(t *testing.T) {
	inWorld(t, func(w *world) {
		_, err := w.CreateTopic(w.ctx, subscriptions.Topic{Name: topicName("orders"), Retention: 2 * time.Hour})
		w.must(err)
		w.subscribe("orders", "billing", func(s *subscriptions.Subscription) { s.Retention = time.Hour })
		w.publish("orders", "a")
		wait(59 * time.Minute)
		w.warned()
		w.explained("billing")
		wait(50 * time.Minute)
		w.warned("billing")
		w.must(w.DeleteTopic(w.ctx, topicName("orders")))
		w.topic("orders") // another of this name has no say
		wait(20 * time.Minute)
		w.want(w.stats("billing").Dropped, 1)
		w.warned()
	})
}

func TestAgesAheadOfAFilterAreBounds(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing", func(s *subscriptions.Subscription) { s.Retention, s.Filter = time.Hour, "attributes:k" })
		w.publish("orders", "a")
		wait(58 * time.Minute)
		w.warned("billing", "unless the filter")
		e := w.explained("billing", "unless the filter")
		w.want(e.Stats.UpperBound, true)
		w.pull("billing")
		w.want(w.explained("billing").Stats.UpperBound, false)
	})
}

func TestAMissingDeadLetterTopicIsSaid(t *testing.T) {
	inWorld(t, func(w *world) {
		log := w.logging(subscriptions.Options{})
		w.topic("orders")
		w.topic("dead")
		w.subscribe("orders", "billing", deadLetterTo("dead"))
		w.publish("orders", "a")
		wait(time.Minute)
		w.warned()
		w.explained("billing")
		w.must(w.DeleteTopic(w.ctx, topicName("dead")))
		for range 5 {
			w.nack("billing", w.pull("billing"))
		}
		wait(time.Second)
		w.warned("billing", "projects/p/topics/dead")
		w.explained("billing", "projects/p/topics/dead", "now 1")
		wait(2 * time.Hour)
		w.want(w.stats("billing").Dead, 1)
		if n := strings.Count(log.String(), "dead-letter"); n != 1 {
			t.Errorf("%d lines in two hours:\n%s", n, log)
		}
		w.topic("dead")
		w.subscribe("dead", "morgue")
		wait(6 * time.Second) // rather than when a hold is over
		w.want(w.pullTexts("morgue"), "[a]")
		w.warned()
		w.explained("billing")
	})
}

// Many warnings are as long as a few.
func TestWarningsAreBounded(t *testing.T) {
	inWorld(t, func(w *world) {
		log := w.logging(subscriptions.Options{})
		w.topic("orders")
		for i := range 17 {
			w.subscribe("orders", fmt.Sprintf("sub-%02d", i), func(s *subscriptions.Subscription) { s.Expiration = 48 * time.Hour })
		}
		w.skip(25 * time.Hour)
		w.warned("sub-00", "sub-09", " and 7 more")
		w.want(len(w.Warnings()), 1)
		w.want(strings.Contains(w.Warnings()[0], "sub-10"), false)
		if n := strings.Count(log.String(), "will be deleted"); n > 17 {
			t.Errorf("%d lines:\n%s", n, log)
		}
		w.must(w.DeleteSubscription(w.ctx, subName("sub-00")))
		wait(2 * time.Second)
		w.want(strings.Contains(w.Warnings()[0], "sub-00"), false)
	})
}

// Each server warns of what it owns, so one of several does.
func TestOneServerWarns(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		for i := range 20 {
			w.subscribe("orders", fmt.Sprint("sub-", i), func(s *subscriptions.Subscription) { s.Expiration = 48 * time.Hour })
		}
		w.skip(25 * time.Hour)
		other := w.server(w.store)
		wait(20 * time.Minute)
		all := strings.Join(append(w.Warnings(), other.Warnings()...), " ")
		for i := range 20 {
			if n := strings.Count(all, fmt.Sprintf("sub-%d ", i)); n > 1 {
				t.Errorf("sub-%d is warned of %d times", i, n)
			}
		}
		w.want(len(w.Warnings())+len(other.Warnings()), 2)
	})
}
