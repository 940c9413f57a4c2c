package metrics

import (
	"maps"
	"sync"
	"time"

	"postrider/subscriptions"
)

const (
	// sampledLeases is how many leases are remembered until they are acked.
	sampledLeases = 8192
	// longestLease is when a lease has ended without anybody's saying so.
	longestLease = subscriptions.MaxAckDeadline
)

// leases remember when messages were leased. While there are more than are remembered, every second, fourth … message is, chosen
// by its number, so that those which take long are in the sample as often as others.
type leases struct {
	mu    sync.Mutex
	most  int
	every int64
	at    map[leased]time.Time
	since time.Time // when the sample last became thinner
}

type leased struct {
	subscription string
	message      subscriptions.MessageID
	number       int64
}

func newLeases(most int) *leases {
	return &leases{most: most, every: 1, at: map[leased]time.Time{}}
}

func (l *leases) add(sub string, at time.Time, ds []subscriptions.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range ds {
		if d.Message.ID.N()%l.every != 0 {
			continue
		}
		l.at[leased{sub, d.Message.ID, d.Number}] = at
		if len(l.at) > l.most {
			l.thin(at)
		}
	}
	if l.every > 1 && len(l.at) < l.most/4 && at.Sub(l.since) > longestLease {
		l.every, l.since = l.every/2, at
	}
}

// thin makes room: first of what has ended unnoticed, then by a thinner sample.
func (l *leases) thin(now time.Time) {
	maps.DeleteFunc(l.at, func(_ leased, at time.Time) bool { return now.Sub(at) > longestLease })
	for len(l.at) > l.most {
		l.every, l.since = l.every*2, now
		maps.DeleteFunc(l.at, func(k leased, _ time.Time) bool { return k.message.N()%l.every != 0 })
	}
}

// end forgets leases, and tells when each of those remembered began.
func (l *leases) end(sub string, rs []subscriptions.Receipt) (began []time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	began = make([]time.Time, 0, len(rs))
	for _, r := range rs {
		k := leased{sub, r.ID, r.Number}
		if at, ok := l.at[k]; ok {
			delete(l.at, k)
			began = append(began, at)
		}
	}
	return began
}
