package subscriptions_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"postrider/subscriptions"
)

func filtered(expression string) func(*subscriptions.Subscription) {
	return func(s *subscriptions.Subscription) { s.Filter = expression }
}

func routed(attribute, pattern string) func(*subscriptions.Subscription) {
	return func(s *subscriptions.Subscription) {
		s.Routing = &subscriptions.Routing{Attribute: attribute, Pattern: pattern}
	}
}

// dull publishes so many messages that no filter here selects.
func (w *world) dull(topic string, n int) {
	w.Helper()
	for ; n > 0; n -= 1000 {
		msgs := make([]subscriptions.Message, min(n, 1000))
		for i := range msgs {
			msgs[i].Data = []byte("dull")
		}
		_, err := w.Publish(w.ctx, topicName(topic), msgs)
		w.must(err)
	}
}

// bright publishes texts that the filter attributes:bright selects.
func (w *world) bright(topic string, texts ...string) {
	w.Helper()
	for _, text := range texts {
		_, err := w.Publish(w.ctx, topicName(topic), []subscriptions.Message{{Data: []byte(text), Attributes: map[string]string{"bright": "very." + text}}})
		w.must(err)
	}
}

func TestBadFilters(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		for want, change := range map[string]func(*subscriptions.Subscription){
			"INVALID_ARGUMENT: filter: unexpected OR at 31: use parentheses to mix AND and OR":                                                                                               filtered("attributes:a AND attributes:b OR attributes:c"),
			"INVALID_ARGUMENT: postrider.routing.attribute: the key of an attribute is required, of at most 256 bytes":                                                                       routed("", "a"),
			`INVALID_ARGUMENT: postrider.routing.pattern: unexpected ">" at 8: use # for any number of words`:                                                                                routed("a", "orders.>"),
			"INVALID_ARGUMENT: postrider.routing.pattern: is empty; # matches every value":                                                                                                   routed("a", ""),
			`INVALID_ARGUMENT: postrider.routing.pattern: has "a*" as word 1: * stands for one whole word and # for any number of them`:                                                      routed("a", "a*"),
			"INVALID_ARGUMENT: filter: unexpected end at 2: a condition is missing, such as attributes.name = \"com\"":                                                                       filtered(" "),
			"INVALID_ARGUMENT: filter: unexpected data at 1: a condition is attributes:KEY, attributes.KEY = \"VALUE\", attributes.KEY != \"VALUE\" or hasPrefix(attributes.KEY, \"START\")": filtered(`data = "x"`),
		} {
			sub := subscriptions.Subscription{Name: subName("bad"), Topic: topicName("orders")}
			change(&sub)
			_, err := w.CreateSubscription(w.ctx, sub)
			w.want(err, want)
		}
		_, err := w.GetSubscription(w.ctx, subName("bad"))
		w.wantCode(err, subscriptions.NotFound)
	})
}

func TestAFilterCannotBeChanged(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "sub", filtered("attributes:bright"), routed("bright", "#"))
		change := subscriptions.Subscription{Name: subName("sub"), Filter: "attributes:b", Routing: &subscriptions.Routing{Attribute: "b", Pattern: "#"}}
		for _, mask := range []string{"filter", "postrider.routing", "postrider.routing.pattern", "postrider"} {
			_, err := w.UpdateSubscription(w.ctx, change, []string{mask})
			w.wantCode(err, subscriptions.InvalidArgument)
		}
		change.Routing.Attribute = "bright" // as it is
		change.WebhookSecrets = []subscriptions.WebhookSecret{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
		got, err := w.UpdateSubscription(w.ctx, change, []string{"postrider"})
		w.must(err)
		w.want(len(got.WebhookSecrets), 1)
		w.want(got.Filter, "attributes:bright")
		w.want(*got.Routing, subscriptions.Routing{Attribute: "bright", Pattern: "#"})
	})
}

func TestAPullGetsWhatMatches(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "filtered", filtered("attributes:bright"))
		w.subscribe("orders", "routed", routed("bright", "very.*"))
		w.subscribe("orders", "both", filtered(`attributes.bright != "very.b"`), routed("bright", "#"))
		w.bright("orders", "a")
		w.dull("orders", 3000)
		w.bright("orders", "b", "c")
		for sub, want := range map[string]string{"filtered": "[a b c]", "routed": "[a b c]", "both": "[a c]"} {
			var all []subscriptions.Received
			for range 3 { // what lies near is not held back for what lies far ahead
				all = append(all, w.pull(sub)...)
			}
			w.ack(sub, all)
			w.want(texts(all), want)
			w.want(w.stats(sub).Undelivered, 0)
		}
	})
}

// Nobody knows how much of what lies ahead will match, and who asks is told so.
func TestStatsOfAFilterAreAnUpperBound(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "filtered", filtered("attributes:bright"))
		w.subscribe("orders", "all")
		w.bright("orders", "a")
		w.dull("orders", 10)
		want := func(sub string, undelivered int64, upperBound bool) {
			t.Helper()
			stats, err := w.Stats(w.ctx, subName(sub))
			w.must(err)
			w.want([]any{stats.Undelivered, stats.UpperBound}, []any{undelivered, upperBound})
		}
		want("all", 11, false)
		want("filtered", 11, true)
		w.pull("filtered")
		want("filtered", 0, false)
		w.must(w.DetachSubscription(w.ctx, subName("all")))
		_, err := w.Stats(w.ctx, subName("all"))
		w.wantCode(err, subscriptions.FailedPrecondition)
		_, err = w.Stats(w.ctx, subName("none"))
		w.wantCode(err, subscriptions.NotFound)
	})
}

func TestAWaitingPullIsNotEndedByWhatDoesNotMatch(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "sub", filtered("attributes:bright"))
		time.AfterFunc(time.Second, func() { w.dull("orders", 2500) })
		time.AfterFunc(2*time.Second, func() { w.bright("orders", "a") })
		start := time.Now()
		got, err := w.Pull(w.ctx, subName("sub"), 10, false)
		w.must(err)
		w.want(texts(got), "[a]")
		w.want(time.Since(start), 2*time.Second)
	})
}

func TestAStreamGetsWhatMatches(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "sub", filtered("attributes:bright"))
		st := w.stream("sub", subscriptions.StreamOptions{MaxMessages: 1})
		defer st.Close()
		w.dull("orders", 3000)
		w.bright("orders", "a")
		w.dull("orders", 3000)
		w.bright("orders", "b")
		for _, want := range []string{"[a]", "[b]"} {
			got := w.next(st, time.Second)
			w.want(texts(got), want)
			w.ack("sub", got)
		}
		w.want(texts(w.next(st, time.Minute)), "[]")
	})
}

// endless is a store with a backlog without end of which nothing matches.
type endless struct {
	subscriptions.Store
	full   atomic.Bool
	leases atomic.Int64
}

const step = 10 * time.Millisecond

func (s *endless) Lease(ctx context.Context, r subscriptions.LeaseRequest) (subscriptions.LeaseResult, error) {
	if !s.full.Load() {
		return s.Store.Lease(ctx, r)
	}
	s.leases.Add(1)
	time.Sleep(step)
	return subscriptions.LeaseResult{More: true, NextDue: -1}, nil
}

func inEndlessWorld(t *testing.T, test func(*world, *endless)) {
	inWorld(t, func(w *world) {
		w.stop()
		s := &endless{Store: w.store}
		w.store = s
		w.start()
		w.topic("orders")
		w.subscribe("orders", "sub", filtered("attributes:bright"))
		test(w, s)
	})
}

// Who looks through what does not match stops when its time is over, when the caller goes and when the server does.
func TestLookingEnds(t *testing.T) {
	inEndlessWorld(t, func(w *world, s *endless) {
		s.full.Store(true)
		took := func(want time.Duration, do func() error) {
			t.Helper()
			start := time.Now()
			w.must(do())
			if took := time.Since(start); took < want || took > want+10*step { // others may have their turn, too
				t.Errorf("it took %v, want %v", took, want)
			}
		}
		pull := func(ctx context.Context, immediate bool) error {
			got, err := w.Pull(ctx, subName("sub"), 10, immediate)
			if len(got) > 0 {
				err = fmt.Errorf("got %v", texts(got))
			}
			return err
		}
		took(time.Second, func() error { return pull(w.ctx, true) })
		took(31*time.Second, func() error { return pull(w.ctx, false) }) // a second before it waits
		for _, immediate := range []bool{true, false} {
			ctx, cancel := context.WithTimeout(w.ctx, 100*time.Millisecond)
			took(100*time.Millisecond, func() error {
				w.wantCode(pull(ctx, immediate), subscriptions.DeadlineExceeded)
				return nil
			})
			cancel()
		}
		st := w.stream("sub", subscriptions.StreamOptions{})
		took(2*time.Second, func() error {
			time.AfterFunc(2*time.Second, st.Interrupt)
			_, err := st.Next(w.ctx)
			return err
		})
		time.AfterFunc(5*time.Second, w.Drain)
		took(5*time.Second, func() error {
			_, err := st.Next(w.ctx)
			w.wantCode(err, subscriptions.Unavailable)
			return nil
		})
		st.Close()
		took(0, func() error { return pull(w.ctx, true) })
	})
}

// One of those who wait looks ahead. When it leaves, another one goes on at once.
func TestOneLooksAhead(t *testing.T) {
	for name, begin := range map[string]func(*world, context.Context) func(){
		"pull": func(w *world, ctx context.Context) func() {
			return func() { _, _ = w.Pull(ctx, subName("sub"), 10, false) }
		},
		"stream": func(w *world, ctx context.Context) func() {
			st := w.stream("sub", subscriptions.StreamOptions{})
			return func() {
				defer st.Close()
				_, _ = st.Next(ctx)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inEndlessWorld(t, func(w *world, s *endless) {
				first, leave := context.WithCancel(w.ctx)
				for _, ctx := range []context.Context{first, w.ctx} {
					go begin(w, ctx)()
					wait(time.Millisecond)
				}
				s.full.Store(true)
				w.bright("orders", "a")
				during := func(d time.Duration) int64 {
					before := s.leases.Load()
					wait(d)
					return s.leases.Load() - before
				}
				if n := during(time.Second); n > int64(time.Second/step)+1 {
					t.Errorf("%d leases in a second: more than one looks", n)
				}
				leave()
				wait(step)
				if n := during(time.Second); n < int64(time.Second/step)-2 {
					t.Errorf("%d leases in a second: nobody looks", n)
				}
				w.Drain()
				wait(time.Second)
			})
		})
	}
}
