package pusher

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"

	"postrider/pusher/proof"
	"postrider/subscriptions"
)

// Backend is what pushing needs of the domain.
type Backend interface {
	Deliveries
	Breakers
	Reports
}

// Reports are what owners say of their pushes, for who asks why nothing is sent.
type Reports interface {
	// ReportPush passes on how the pushes of a subscription go. UNAVAILABLE.
	ReportPush(context.Context, subscriptions.Subscription, subscriptions.PushReport) error
}

// Breakers are circuit breakers, as the store keeps them from owner to owner.
type Breakers interface {
	// PushBreaker returns what is kept: the zero value unless it is open. UNAVAILABLE.
	PushBreaker(context.Context, subscriptions.Subscription) (subscriptions.Breaker, error)
	// KeepPushBreaker keeps it; kept is false when it was closed by hand
	// meanwhile. UNAVAILABLE.
	KeepPushBreaker(context.Context, subscriptions.Subscription, subscriptions.Breaker) (kept bool, err error)
}

// Deliveries are messages, and which of them this server is to push.
type Deliveries interface {
	// Owned calls fn now and with every change with the subscriptions that this
	// server looks after.
	Owned(fn func([]subscriptions.Subscription)) (stop func())
	// Wait makes wake-ups of a subscription come. UNAVAILABLE.
	Wait(context.Context, subscriptions.Subscription) (*subscriptions.Waiter, error)
	// LeasePush leases up to limit messages. NOT_FOUND; FAILED_PRECONDITION when
	// the subscription is not push; UNAVAILABLE.
	LeasePush(ctx context.Context, name subscriptions.SubscriptionName, limit int) (subscriptions.PushLease, error)
	// Settle settles what was leased of this subscription, and may be repeated.
	// UNAVAILABLE.
	Settle(context.Context, subscriptions.Subscription, subscriptions.Settlement) error
}

// Options of a Manager. The zero value is for use.
type Options struct {
	Logger *slog.Logger
	// Transport sends the POSTs; nil means NewTransport.
	Transport http.RoundTripper
	// TransportAs makes the transport that shows the client certificate of this
	// name; without it none can be shown.
	TransportAs func(certificate string) (http.RoundTripper, error)
	// UserAgent is what endpoints see as User-Agent.
	UserAgent string
	// Issuer signs the tokens of subscriptions that ask for them; without it
	// their messages cannot be pushed.
	Issuer *proof.Issuer
	// Observer hears of pushes; nil for none.
	Observer Observer
	// MaxPushes bounds the pushes of this server that are out at once; 0 means
	// DefaultMaxPushes.
	MaxPushes int
}

// Manager runs a worker for each push subscription that this server owns.
type Manager struct {
	backend    Backend
	transports *transports
	userAgent  string
	issuer     *proof.Issuer
	log        *slog.Logger
	trouble    limiter
	places     places
	observer   Observer

	changed chan struct{}
	mu      sync.Mutex
	owned   []subscriptions.Subscription
}

// New makes a Manager. It does nothing until Run.
func New(backend Backend, o Options) *Manager {
	m := &Manager{
		backend: backend, transports: &transports{plain: o.Transport, make: o.TransportAs, named: map[string]http.RoundTripper{}}, issuer: o.Issuer, log: o.Logger,
		userAgent: cmp.Or(o.UserAgent, "Postrider"),
		changed:   make(chan struct{}, 1),
		observer:  o.Observer,
	}
	m.places.most = int64(cmp.Or(o.MaxPushes, DefaultMaxPushes))
	if m.transports.plain == nil {
		m.transports.plain = NewTransport(TransportOptions{})
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	return m
}

// running is a worker that has not been told to stop.
type running struct {
	inbox    *inbox
	revision int64
	stop     context.CancelFunc
}

// Run pushes until fetch ends, and returns when all that was leased is settled:
// POSTs under way go on until work ends, and what is not finished then is
// released. Each subscription is on its own: nothing is shared between workers
// that one could hold up for another.
func (m *Manager) Run(fetch, work context.Context) error {
	fetch, cancel := context.WithCancel(fetch)
	defer cancel()
	defer context.AfterFunc(work, cancel)()
	stop := m.backend.Owned(m.own)
	defer stop()

	workers, crew := map[string]running{}, newCrew()
	defer crew.dismiss()
	var all sync.WaitGroup
	for {
		select {
		case <-m.changed:
			m.reconcile(workers, func(sub subscriptions.Subscription) running {
				return m.start(fetch, work, &all, crew, sub)
			})
		case <-fetch.Done():
			all.Wait()
			m.transports.closeIdle()
			return nil
		}
	}
}

// own notes what this server owns. It must not block, so Run does the rest.
func (m *Manager) own(subs []subscriptions.Subscription) {
	m.mu.Lock()
	m.owned = subs
	m.mu.Unlock()
	signal(m.changed)
}

// reconcile starts and stops workers so that those run that should, and tells
// the others of changes.
func (m *Manager) reconcile(workers map[string]running, start func(subscriptions.Subscription) running) {
	m.mu.Lock()
	owned := m.owned
	m.mu.Unlock()
	wanted := make(map[string]bool, len(owned))
	for _, sub := range owned {
		if !sub.IsPush() || sub.Detached || sub.TopicUID == "" {
			continue
		}
		wanted[sub.UID] = true
		r, ok := workers[sub.UID]
		switch {
		case !ok:
			r = start(sub)
		case r.revision < sub.Revision:
			r.inbox.configure(sub)
		}
		r.revision = sub.Revision
		workers[sub.UID] = r
	}
	for uid, r := range workers {
		if !wanted[uid] {
			r.stop()
			delete(workers, uid)
		}
	}
}

// start runs a worker until it is told to stop or fetch ends.
func (m *Manager) start(fetch, work context.Context, all *sync.WaitGroup, crew *crew, sub subscriptions.Subscription) running {
	fetch, stop := context.WithCancel(fetch)
	w := &worker{
		backend: m.backend, transports: m.transports, userAgent: m.userAgent, issuer: m.issuer, log: m.log,
		trouble: &m.trouble, places: &m.places, observer: m.observer, crew: crew,
		inbox: newInbox(), store: newPauses(minStoreWait, maxStoreWait),
	}
	w.fresh = true
	w.configure(sub)
	all.Go(func() {
		defer stop()
		w.run(fetch, work)
	})
	return running{inbox: w.inbox, revision: sub.Revision, stop: stop}
}
