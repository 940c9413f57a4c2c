package subscriptions_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"postrider/subscriptions"
)

// operated waits until an operation has ended.
func (w *world) operated(op subscriptions.Operation, err error) subscriptions.Operation {
	w.Helper()
	w.must(err)
	for range 600 {
		wait(time.Second)
		if op, err = w.GetOperation(w.ctx, op.Name); err != nil || op.Done {
			break
		}
	}
	w.must(err)
	if !op.Done {
		w.Fatalf("the operation does not end: %+v", op)
	}
	return op
}

func (w *world) redrive(q subscriptions.DeadLetterQuery) subscriptions.Operation {
	w.Helper()
	return w.operated(w.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: q}))
}

// Cases 20 and 22, and what the issue must hold.
func TestRedriveTwice(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.topic("dead")
		w.subscribe("dead", "morgue")
		for _, id := range []string{"first", "second", "third"} {
			w.subscribe("orders", id, deadLetterTo("dead"))
		}
		ids, err := w.Publish(w.ctx, topicName("orders"), []subscriptions.Message{{Data: []byte("a"), Attributes: map[string]string{"k": "v"}}})
		w.must(err)
		w.ack("first", w.pull("first"))
		w.ack("third", w.pull("third"))
		for times := range 3 {
			for attempt := 1; attempt <= 5; attempt++ {
				got := w.pull("second")
				w.want(texts(got), "[a]")
				w.want(got[0].Message.ID, ids[0])
				w.want(got[0].Message.PublishTime(), ids[0].Time())
				w.want(got[0].Attempt, attempt)
				w.want(got[0].Message.Attributes["k"], "v")
				if times > 0 {
					w.want(got[0].Message.Attributes[subscriptions.RedrivenAttribute], times)
					w.want(got[0].Message.Attributes[subscriptions.RedrivenAttemptsAttribute], 5*times)
					w.want(got[0].Message.Attributes[subscriptions.RedrivenReasonAttribute], subscriptions.ReasonRefused)
				}
				w.nack("second", got)
			}
			wait(time.Minute)
			w.want(w.pullTexts("second"), "[]")
			all := w.letters(10, fromSub("second"))
			w.want(letterTexts(all), "[a]")
			w.want(all[0].Origin.Redriven, times)
			w.want(all[0].Origin.FormerAttempts, 5*times)
			w.want(all[0].Origin.Attempts, 5)
			op := w.redrive(fromSub("second"))
			w.want(op.Progress.Moved, 1)
			w.want(op.Progress.Total, 1)
			w.want(op.Failure, "<nil>")
			w.want(letterTexts(w.letters(10, ofTopic("dead"))), "[]")
			w.want(w.pullTexts("first")+w.pullTexts("third")+w.pullTexts("morgue"), "[][][]")
		}
	})
}

func TestRedriveSelects(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		w.die("orders", "billing", "a", "b", "c", "ab")
		q := fromSub("billing")
		q.Text = "a"
		dry, err := w.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: q, ValidateOnly: true})
		w.must(err)
		w.want(dry.Progress.Total, 2)
		w.want(dry.Name, subscriptions.OperationName{})
		w.want(letterTexts(w.letters(10, q)), "[a ab]")
		w.redrive(q)
		w.want(w.pullTexts("billing"), "[a ab]")
		w.want(letterTexts(w.letters(10, fromSub("billing"))), "[b c]")
		w.want(w.pullTexts("morgue"), "[b c]")
		purged := w.operated(w.Purge(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: ofTopic("dead")}))
		w.want(purged.Progress.Moved, 2)
		w.want(letterTexts(w.letters(10, ofTopic("dead"))), "[]")
	})
}

func TestRedriveWithARate(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		var names []string
		for i := range 50 {
			names = append(names, fmt.Sprint(i))
		}
		w.die("orders", "billing", names...)
		began := time.Now()
		op, err := w.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("billing"), PerSecond: 5})
		w.must(err)
		wait(4 * time.Second)
		halfway, err := w.GetOperation(w.ctx, op.Name)
		w.must(err)
		if n := halfway.Progress.Moved; n < 10 || n > 30 {
			t.Fatalf("after 4 s %d were moved, at 5 a second", n)
		}
		w.operated(op, nil)
		if took := time.Since(began); took < 9*time.Second || took > 15*time.Second {
			t.Fatalf("50 at 5 a second took %v", took)
		}
		w.want(w.stats("billing").Outstanding, 50)
	})
}

func TestCancelOperation(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		w.die("orders", "billing", "a", "b", "c", "d")
		op, err := w.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("billing"), PerSecond: 0.1})
		w.must(err)
		wait(15 * time.Second)
		_, err = w.CancelOperation(w.ctx, op.Name)
		w.must(err)
		op = w.operated(op, nil)
		w.want(op.Failure.Code, subscriptions.Canceled)
		w.want(op.Progress.Moved, 2)
		w.want(letterTexts(w.letters(10, fromSub("billing"))), "[c d]")
		again, err := w.CancelOperation(w.ctx, op.Name)
		w.must(err)
		w.want(again.Ended, op.Ended)
		all, _, err := w.ListOperations(w.ctx, "p", subscriptions.Page{})
		w.must(err)
		w.want(len(all), 1)
		wait(subscriptions.OperationLife + 3*time.Minute)
		_, err = w.GetOperation(w.ctx, op.Name)
		w.wantCode(err, subscriptions.NotFound)
	})
}

func TestRedriveFromOneOfManyHolders(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue", "crypt")
		w.die("orders", "billing", "a")
		_, err := w.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("billing")})
		w.wantCode(err, subscriptions.InvalidArgument)
		q := fromSub("billing")
		q.Holder = subName("crypt")
		w.redrive(q)
		w.want(w.pullTexts("billing"), "[a]")
		w.want(w.pullTexts("morgue")+w.pullTexts("crypt"), "[a][]")
	})
}

func TestRedriveFromATopicWithoutSubscriptions(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead()
		w.die("orders", "billing", "a", "b")
		w.redrive(fromSub("billing"))
		w.want(w.pullTexts("billing"), "[a b]")
		w.want(letterTexts(w.letters(10, ofTopic("dead"))), "[]")
	})
}

func TestRedriveWhereNothingCanGoBack(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		w.die("orders", "billing", "a")
		w.must(w.DeleteSubscription(w.ctx, subName("billing")))
		op := w.redrive(ofTopic("dead"))
		w.want(op.Progress.Failed, 1)
		w.want(op.Progress.Moved, 0)
		w.want(op.Progress.Reason, "projects/p/subscriptions/billing, which they came from, does not exist or is detached")
		w.must(w.DeleteTopic(w.ctx, topicName("orders")))
		w.topic("orders")
		w.subscribe("orders", "billing", deadLetterTo("dead"))
		op = w.redrive(fromSub("billing"))
		w.want(op.Progress.Failed, 1)
		w.want(letterTexts(w.letters(10, ofTopic("dead"))), "[a]")
		w.want(w.pullTexts("billing"), "[]")
	})
}

func TestRedriveWaitsForRoom(t *testing.T) {
	inWorld(t, func(w *world) {
		w.stop()
		w.Service, w.stop = w.mortalWith(w.store, subscriptions.Options{Outstanding: 2})
		w.withDead("morgue")
		w.die("orders", "billing", "a", "b")
		w.die("orders", "billing", "c")
		op, err := w.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("billing")})
		w.must(err)
		wait(10 * time.Second)
		op, err = w.GetOperation(w.ctx, op.Name)
		w.must(err)
		w.want(op.Done, false)
		w.want(op.Progress.Waiting, "as many messages are outstanding in projects/p/subscriptions/billing as may be")
		w.ack("billing", w.pull("billing"))
		w.operated(op, nil)
		w.want(w.pullTexts("billing"), "[c]")
	})
}

func TestRedriveThatCannotBegin(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		w.subscribe("orders", "plain")
		for _, c := range []struct {
			work subscriptions.DeadLetterWork
			want subscriptions.Code
		}{
			{subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("none")}, subscriptions.NotFound},
			{subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("plain")}, subscriptions.FailedPrecondition},
			{subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("billing"), PerSecond: -1}, subscriptions.InvalidArgument},
			{subscriptions.DeadLetterWork{}, subscriptions.InvalidArgument},
		} {
			_, err := w.Redrive(w.ctx, c.work)
			w.wantCode(err, c.want)
		}
		for _, id := range []string{"none-such", "x"} {
			_, err := w.GetOperation(w.ctx, subscriptions.OperationName{Project: "p", ID: id})
			w.wantCode(err, map[string]subscriptions.Code{"none-such": subscriptions.NotFound, "x": subscriptions.InvalidArgument}[id])
		}
	})
}

// Two servers: the one that works on it dies, and the other goes on.
func TestRedriveSurvivesAServer(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		var names []string
		for i := range 30 {
			names = append(names, fmt.Sprint(i))
		}
		w.die("orders", "billing", names...)
		second, stop := w.mortal(w.store)
		wait(5 * time.Second)
		op, err := w.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("billing"), PerSecond: 1})
		w.must(err)
		wait(5 * time.Second)
		stop()
		wait(5 * time.Second)
		w.stop()
		w.start()
		w.operated(op, nil)
		_ = second
		seen := map[string]bool{}
		for _, r := range w.pull("billing") {
			seen[string(r.Message.Data)] = true
		}
		w.want(len(seen), 30)
		w.want(w.stats("billing").Outstanding, 30)
		w.want(letterTexts(w.letters(10, ofTopic("dead"))), "[]")
	})
}

// Case 36: a crash between any two steps of a redrive never leaves zero copies, nor two.
func TestCrashInARedrive(t *testing.T) {
	for name, acked := range map[string]bool{"": false, "and what came back was acked before another server went on": true} {
		t.Run(name, func(t *testing.T) {
			got := ""
			crashEverywhere(t, func(w *world) {
				got = ""
				w.withDead("morgue")
				w.die("orders", "billing", "a", "b")
				w.stop()
			},
				func(w *world, dying *subscriptions.Service) {
					op, err := dying.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("billing")})
					if err == nil {
						dying.WorkOn(w.ctx, op.Name)
					}
					if acked {
						if back := w.pull("billing"); len(back) > 0 {
							got = texts(back)
							w.ack("billing", back)
						}
					}
					w.start()
				},
				func(w *world, _ bool) {
					if ops, _, err := w.ListOperations(w.ctx, "p", subscriptions.Page{}); err != nil || len(ops) == 0 {
						w.must(err)
						w.redrive(fromSub("billing")) // the client, who had no answer, tries again
					}
					if got != "" {
						w.want(got, "[a b]")
						w.want(w.pullTexts("billing"), "[]")
					} else {
						w.want(w.pullTexts("billing"), "[a b]")
					}
					w.want(w.pullTexts("morgue"), "[]")
				})
		})
	}
}

// A dead letter whose move was cut short is redriven, dies again, and is moved again.
func TestCrashInAMoveThenRedrive(t *testing.T) {
	crashEverywhere(t, func(w *world) {
		w.withDead("morgue")
		w.publish("orders", "a")
		w.stop()
		for range 5 {
			w.nack("billing", w.pull("billing"))
		}
	},
		func(w *world, dying *subscriptions.Service) {
			dying.SweepOnce(w.ctx, subName("billing"))
			w.start()
		},
		func(w *world, _ bool) {
			w.redrive(fromSub("billing"))
			for range 5 {
				w.nack("billing", w.pull("billing"))
			}
			wait(time.Minute)
			w.want(letterTexts(w.letters(10, fromSub("billing"))), "[a]")
			w.redrive(fromSub("billing"))
			w.want(w.pullTexts("billing"), "[a]")
		})
}

// overtaken is a store on which much happens after a first look at messages.
type overtaken struct {
	subscriptions.Store
	first func()
}

func (o *overtaken) Peek(ctx context.Context, r subscriptions.PeekRequest) (subscriptions.PeekResult, error) {
	res, err := o.Store.Peek(ctx, r)
	if first := o.first; first != nil {
		o.first = nil
		first()
	}
	return res, err
}

// overtake has a server redrive what came from billing, and another one do that, too, between the time when the first has seen
// the dead letters and when it puts them back. Then is what happens until it does.
func (w *world) overtake(then func()) {
	w.Helper()
	w.stop()
	slow := &overtaken{Store: w.store}
	server := subscriptions.NewService(slow, subscriptions.Options{})
	op, err := server.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("billing")})
	w.must(err)
	slow.first = func() {
		w.start()
		w.redrive(fromSub("billing"))
		then()
	}
	server.WorkOn(w.ctx, op.Name)
}

// Two servers redrive the same dead letters, as in one operation that changes its owner or in two: the slower saw them before the
// other moved them, and what came back is acked by then.
func TestRedriveOvertaken(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		w.die("orders", "billing", "a", "b")
		w.overtake(func() {
			got := w.pull("billing")
			w.want(texts(got), "[a b]")
			w.ack("billing", got)
			wait(5 * time.Second)
		})
		w.want(w.pullTexts("billing"), "[]")
		w.want(w.stats("billing").Backlog(), 0)
		w.want(w.pullTexts("morgue"), "[]")
	})
}

// A server that was held up for longer does not put back what it saw before.
func TestRedriveHeldUp(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		w.die("orders", "billing", "a")
		w.overtake(func() {
			w.ack("billing", w.pull("billing"))
			wait(time.Hour)
		})
		w.want(w.pullTexts("billing"), "[]")
	})
}

// A rate near 0 is no rate without bounds.
func TestRedriveAtHardlyAnyRate(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		w.die("orders", "billing", "a", "b", "c")
		op, err := w.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("billing"), PerSecond: 1e-300})
		w.must(err)
		wait(time.Hour)
		op, err = w.GetOperation(w.ctx, op.Name)
		w.must(err)
		w.want(op.Progress.Moved, 1)
	})
}

// A server that stops right after a redrive leaves nothing to do: the topic forgets what it took by itself.
func TestRedriveIsForgotten(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		w.die("orders", "billing", "a")
		d := w.letters(10, fromSub("billing"))[0]
		seen := &forgetting{Store: w.store}
		w.stop()
		server := subscriptions.NewService(seen, subscriptions.Options{})
		op, err := server.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("billing")})
		w.must(err)
		server.WorkOn(w.ctx, op.Name)
		w.want(len(seen.letters), 1)
		sub, err := w.store.Subscription(w.ctx, subName("billing"))
		w.must(err)
		request := subscriptions.RedriveRequest{Ref: sub.Ref(), Rules: sub.Rules(10), Letters: seen.letters}
		request.Letters[0].Message = subscriptions.Message{ID: d.Origin.MessageID, Data: []byte("a")}
		again := func() string {
			_, err := w.store.Redrive(w.ctx, request)
			w.must(err)
			got := w.pull("billing")
			if len(got) > 0 {
				w.ack("billing", got)
			}
			return texts(got)
		}
		w.want(again(), "[a]") // which came back
		wait(29 * time.Second)
		w.want(again(), "[]") // a server that had seen the letter before adds no second one
		wait(time.Second)
		w.want(again(), "[a]")
	})
}

// forgetting notes what is to be forgotten.
type forgetting struct {
	subscriptions.Store
	letters []subscriptions.RedriveLetter
}

func (f *forgetting) ForgetRedriven(ctx context.Context, topic string, letters []subscriptions.RedriveLetter, after time.Duration) error {
	f.letters = append(f.letters, letters...)
	return f.Store.ForgetRedriven(ctx, topic, letters, after)
}
