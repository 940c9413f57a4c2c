package storagetest

import (
	"slices"
	"sync"
	"time"

	"postrider/subscriptions"
)

// recorder collects the wake-ups of a topic.
type recorder struct {
	*rig
	topic string
	stop  func()

	mu   sync.Mutex
	got  []subscriptions.Wake
	news chan struct{}
	// end is a subscription of the topic whose wake-up tells that all earlier ones have come.
	end *sub
}

// patience is how long a wake-up may take on the way.
const patience = 10 * time.Second

func (r *rig) watch(topicUID string) *recorder {
	r.Helper()
	w := &recorder{rig: r, topic: topicUID, news: make(chan struct{}, 1)}
	stop, err := r.Store.Watch(r.Context(), topicUID, w.record)
	r.ok(err)
	w.stop = stop
	r.Cleanup(stop)
	return w
}

// watchClosing is watch for a case that closes the topic: nothing can be attached then to tell the end.
func (t *topic) watchClosing() *recorder {
	t.Helper()
	w := t.watch(t.ref.UID)
	w.end = t.attach()
	return w
}

func (w *recorder) record(wake subscriptions.Wake) {
	if wake.Kind == subscriptions.Resync {
		return // may come at any time
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, wake)
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// brought checks which wake-ups came since the last call, no more and no fewer, in this order.
func (w *recorder) brought(want ...subscriptions.Wake) {
	w.Helper()
	same(w.rig, "wake-ups", w.collect(), append([]subscriptions.Wake{}, want...))
}

// collect takes what came up to now.
func (w *recorder) collect() []subscriptions.Wake {
	w.Helper()
	if w.end == nil {
		end := (&topic{w.rig, subscriptions.TopicRef{UID: w.topic, Revision: 1}}).attach()
		w.end = end
		defer func() {
			end.drop()
			w.until(end.revised())
			w.end = nil
		}()
	}
	w.end.ref.Revision++
	w.ok(w.Store.Revise(w.Context(), w.end.ref))
	return w.until(w.end.revised())
}

// until waits for a wake-up and takes all before it, and it.
func (w *recorder) until(last subscriptions.Wake) []subscriptions.Wake {
	w.Helper()
	timeout := time.After(patience)
	for {
		w.mu.Lock()
		i := slices.Index(w.got, last)
		if i >= 0 {
			before := append([]subscriptions.Wake{}, w.got[:i]...)
			w.got = w.got[i+1:]
			w.mu.Unlock()
			return before
		}
		w.mu.Unlock()
		select {
		case <-w.news:
		case <-timeout:
			w.Fatalf("the wake-up %+v did not come, only %+v", last, w.got)
		}
	}
}

var published = subscriptions.Wake{Kind: subscriptions.Published}

func (s *sub) due(in time.Duration) subscriptions.Wake {
	return subscriptions.Wake{Kind: subscriptions.Due, Subscription: s.ref.Subscription, In: in}
}

func (s *sub) revised() subscriptions.Wake {
	return subscriptions.Wake{Kind: subscriptions.Revised, Subscription: s.ref.Subscription}
}
