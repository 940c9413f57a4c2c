package metrics

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// meters remember the series of each kind of push: to find them by their labels takes three times as long, at every push.
type meters struct {
	mu    sync.Mutex
	known map[pushKind]pushMeter
}

// pushKind is what tells the series of pushes apart. class is the first digit of the status, 0 without one.
type pushKind struct {
	name
	outcome string
	class   int
}

// pushMeter are the series that a push counts in; took is nil where there is no status.
type pushMeter struct {
	pushes prometheus.Counter
	took   prometheus.Observer
}

// of gives what is remembered, or else what find does.
func (m *meters) of(k pushKind, find func(pushKind) pushMeter) pushMeter {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.known[k]
	if !ok {
		if m.known == nil {
			m.known = map[pushKind]pushMeter{}
		}
		known = find(k)
		m.known[k] = known
	}
	return known
}

// forget drops the series of a subscription that has gone.
func (m *meters) forget(n name) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.known, func(k pushKind, _ pushMeter) bool { return k.name == n })
}
