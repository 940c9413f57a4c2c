package subscriptions_test

import (
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
