package memory

import (
	"context"
	"slices"

	"postrider/subscriptions"
)

// watch holds the watchers and the wake-ups on their way to them.
type watch struct {
	watchers map[string][]*watcher // by topic UID, in the order they came
	queue    []event
	// delivering means that some step is calling watchers: a step that ends meanwhile, also one that a watcher called, leaves
	// its wake-ups to it, so that all are delivered in the order of the steps.
	delivering bool
}

type watcher struct{ fn func(subscriptions.Wake) }

type event struct {
	topic string
	wake  subscriptions.Wake
}

// wake puts a wake-up of a topic in the queue.
func (s *Store) wake(topic string, w subscriptions.Wake) {
	if len(s.watch.watchers[topic]) > 0 {
		s.watch.queue = append(s.watch.queue, event{topic, w})
	}
}

// deliverWakes empties the queue, without holding mu while watchers run.
func (s *Store) deliverWakes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch.delivering {
		return
	}
	s.watch.delivering = true
	for len(s.watch.queue) > 0 {
		e := s.watch.queue[0]
		s.watch.queue = s.watch.queue[1:]
		watchers := slices.Clone(s.watch.watchers[e.topic])
		s.mu.Unlock()
		for _, w := range watchers {
			w.fn(e.wake)
		}
		s.mu.Lock()
	}
	s.watch.delivering = false
}

// Watch implements subscriptions.Watcher.
func (s *Store) Watch(_ context.Context, topicUID string, fn func(subscriptions.Wake)) (stop func(), err error) {
	s.begin()
	defer s.end()
	w := &watcher{fn}
	s.watch.watchers[topicUID] = append(s.watch.watchers[topicUID], w)
	return func() { s.unwatch(topicUID, w) }, nil
}

func (s *Store) unwatch(topicUID string, w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := slices.DeleteFunc(s.watch.watchers[topicUID], func(other *watcher) bool { return other == w })
	if len(rest) == 0 {
		delete(s.watch.watchers, topicUID)
		return
	}
	s.watch.watchers[topicUID] = rest
}
