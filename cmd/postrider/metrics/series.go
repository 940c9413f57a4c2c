package metrics

import "sync"

// OtherID is the id under which stands what has no series of its own. No resource has it: ids begin with a letter.
const OtherID = "_other"

// name is a project and an id.
type name struct{ project, id string }

// other is what is not named.
var other = name{"", OtherID}

// series says which topics and which subscriptions have series of their own: the first that come, as long as they are there,
// so that none comes and goes with its numbers.
type series struct {
	most int

	mu                    sync.Mutex
	topics, subscriptions map[name]bool
}

func newSeries(most int) *series {
	return &series{most: most, topics: map[name]bool{}, subscriptions: map[name]bool{}}
}

// topic is the name under which a topic stands.
func (s *series) topic(n name) name { return s.of(s.topics, n) }

// subscription is the name under which a subscription stands.
func (s *series) subscription(n name) name { return s.of(s.subscriptions, n) }

func (s *series) of(named map[name]bool, n name) name {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case named[n]:
		return n
	case len(named) < s.most:
		named[n] = true
		return n
	}
	return other
}

// keep makes room for others in place of what is not there any more. It returns what has gone.
func (s *series) keep(topics, subscriptions map[name]bool) (goneTopics, goneSubscriptions []name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return drop(s.topics, topics), drop(s.subscriptions, subscriptions)
}

func drop(named, there map[name]bool) (gone []name) {
	for n := range named {
		if !there[n] {
			delete(named, n)
			gone = append(gone, n)
		}
	}
	return gone
}
