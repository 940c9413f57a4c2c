package subscriptions_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"postrider/subscriptions"
)

// The newest operation is the first, whatever its name; pages of any size have each once, also while more begin, and those that
// began at the same time are no exception.
func TestListOperations(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		begin := func(purge bool) string {
			act := w.Redrive
			if purge {
				act = w.Purge
			}
			op, err := act(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("billing")})
			w.must(err)
			return op.Name.ID
		}
		listed := func(size int, between func()) (ids []string) {
			last := time.Now()
			for p := (subscriptions.Page{Size: size}); ; between() {
				page, next, err := w.ListOperations(w.ctx, "p", p)
				w.must(err)
				for _, op := range page {
					if op.Created.After(last) {
						t.Errorf("%s is after an older one", op.Name)
					}
					last, ids = op.Created, append(ids, op.Name.ID)
				}
				if p.Token = next; next == "" {
					return ids
				}
			}
		}
		for i := range 6 {
			begin(i%3 == 0)
			wait(time.Duration(i%2) * time.Second) // every second one begins at the same time as the one before
		}
		newest := begin(true)
		w.want(listed(10, nil)[0], newest)
		for size := 1; size <= 7; size++ {
			before := listed(1000, nil)
			w.want(listed(size, func() { wait(time.Second); begin(false) }), before)
			wait(time.Second)
		}
		for _, token := range []string{"nonsense", "MToxMjM", "MToxIHgg"} {
			_, _, err := w.ListOperations(w.ctx, "p", subscriptions.Page{Token: token})
			w.wantCode(err, subscriptions.InvalidArgument)
		}
	})
}

// Which of the named ids are not there is known at once, however far apart those are that are there, and they are told for as long
// as the operation is.
func TestNamedLettersThatAreNotThere(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		w.subscribe("orders", "shipping", deadLetterTo("dead"))
		w.die("orders", "shipping", "another") // it is one of billing, too, without the text
		var texts []string
		for i := range 30 {
			texts = append(texts, fmt.Sprintf("text %02d", i))
		}
		w.die("orders", "billing", texts...)
		all := w.letters(100, fromSub("billing"))
		anothers := w.letters(10, fromSub("shipping"))[0].Message.ID
		got := w.pull("morgue")
		w.ack("morgue", slices.DeleteFunc(got, func(r subscriptions.Received) bool { return r.Message.ID != all[10].Message.ID }))
		never := subscriptions.NewMessageID(1, 1, 1)
		q := fromSub("billing")
		q.Text = "text"
		q.IDs = []subscriptions.MessageID{all[20].Message.ID, all[10].Message.ID, never, all[1].Message.ID, anothers, never, all[20].Message.ID}
		missing := []subscriptions.MessageID{all[10].Message.ID, never, anothers}
		dry, err := w.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: q, ValidateOnly: true})
		w.must(err)
		w.want(dry.NotFound, missing)
		w.want(dry.Progress.Total, 2)
		op, err := w.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: q})
		w.must(err)
		w.want(op.NotFound, missing)
		op = w.operated(op, nil)
		w.want(op.NotFound, missing)
		w.want(op.Progress.Moved, 2)
		back := []string{string(all[1].Message.Data), string(all[20].Message.Data)}
		slices.Sort(back) // as they were published
		w.want(w.pullTexts("billing"), back)
		purged := w.operated(w.Purge(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: q}))
		w.want(purged.NotFound, []subscriptions.MessageID{all[20].Message.ID, all[10].Message.ID, never, all[1].Message.ID, anothers})
		w.want(purged.Progress.Total, 0)
		w.want(len(w.letters(100, fromSub("billing"))), 28)
	})
}

// More lies between those that are named than is looked at to count.
func TestNamedLettersFarApart(t *testing.T) {
	inWorld(t, func(w *world) {
		w.withDead("morgue")
		q := fromSub("billing")
		for _, text := range []string{"a", "b", "c"} {
			began := time.Now()
			w.die("orders", "billing", text)
			here := fromSub("billing")
			here.Since = began
			q.IDs = append(q.IDs, w.letters(10, here)[0].Message.ID)
			for range 11 {
				w.publish("dead", slices.Repeat([]string{"x"}, 1_000)...)
			}
		}
		op, err := w.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: q})
		w.must(err)
		w.want(fmt.Sprint(op.Progress.Total, op.Progress.AtLeast, op.NotFound), "3 false []")
		w.want(w.operated(op, nil).Progress.Moved, 3)
		w.want(w.pullTexts("billing"), "[a b c]")
	})
}

// meanwhile is a store on which something happens after so many looks at messages.
type meanwhile struct {
	subscriptions.Store
	looks int
	do    func()
}

func (m *meanwhile) Peek(ctx context.Context, r subscriptions.PeekRequest) (subscriptions.PeekResult, error) {
	res, err := m.Store.Peek(ctx, r)
	if m.looks--; m.looks == 0 {
		m.do()
	}
	return res, err
}

// A letter that a subscriber leases while it is looked for is found.
func TestNamedLetterThatIsLeasedMeanwhile(t *testing.T) {
	for looks := 1; looks <= 3; looks++ {
		inWorld(t, func(w *world) {
			w.withDead("morgue")
			w.die("orders", "billing", "a", "b", "c", "d")
			all := w.letters(10, fromSub("billing"))
			q := fromSub("billing")
			q.IDs = []subscriptions.MessageID{all[0].Message.ID, all[3].Message.ID}
			store := &meanwhile{w.store, looks, func() { w.want(w.pullTexts("morgue"), "[a b c d]") }}
			server := subscriptions.NewService(store, subscriptions.Options{})
			op, err := server.Redrive(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: q, ValidateOnly: true})
			w.must(err)
			w.want(fmt.Sprint(op.Progress.Total, op.NotFound), "2 []")
			w.want(store.looks <= 0, true)
		})
	}
}

// Two operations over the same dead letters at once, on two servers: each letter is counted by the one that took it.
func TestTwoOperationsCountEachLetterOnce(t *testing.T) {
	for name, c := range map[string]struct {
		holders []string
		purge   bool
	}{
		"redrive": {[]string{"morgue"}, false}, "purge": {[]string{"morgue"}, true},
		"redrive of a topic without subscriptions": {nil, false}, "purge of a topic without subscriptions": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.withDead(c.holders...)
				for range 3 {
					w.die("orders", "billing", slices.Repeat([]string{"a"}, 90)...)
				}
				w.stop()
				var all []subscriptions.Operation
				var done []func()
				for i := range 2 {
					store := &taken{Store: w.store}
					server := subscriptions.NewService(store, subscriptions.Options{})
					act := server.Redrive
					if c.purge || i == 1 {
						act = server.Purge
					}
					op, err := act(w.ctx, subscriptions.DeadLetterWork{DeadLetterQuery: fromSub("billing")})
					w.must(err)
					w.want(op.Progress.Total, 270)
					all = append(all, op)
					done = append(done, func() { server.WorkOn(w.ctx, op.Name) })
					if i == 0 { // the second sees all that the first sees, and comes first every other time
						store.before = func(calls int) {
							if calls == 2 {
								done[1]()
							}
						}
					}
				}
				done[0]()
				moved := int64(0)
				for i, op := range all {
					op, err := w.GetOperation(w.ctx, op.Name)
					w.must(err)
					w.want(op.Done, true)
					moved += op.Progress.Moved
					if op.Progress.Moved == 0 || i == 0 && op.Progress.Gone == 0 {
						t.Errorf("%+v: the test does not let them meet", op.Progress)
					}
				}
				w.want(moved, 270)
			})
		})
	}
}

// taken is a store on which something happens before letters are taken away.
type taken struct {
	subscriptions.Store
	calls  int
	before func(calls int)
}

func (m *taken) count() {
	if m.calls++; m.before != nil {
		m.before(m.calls)
	}
}

func (m *taken) Remove(ctx context.Context, r subscriptions.RemoveRequest) ([]subscriptions.RemoveFate, error) {
	m.count()
	return m.Store.Remove(ctx, r)
}

func (m *taken) Discard(ctx context.Context, topic string, ids []subscriptions.MessageID) ([]subscriptions.RemoveFate, error) {
	m.count()
	return m.Store.Discard(ctx, topic, ids)
}
