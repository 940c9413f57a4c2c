package subscriptions

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Options of a Service. The zero value is for use.
type Options struct {
	// Server names this server among those that share the store; unset, a
	// random name.
	Server string
	// Outstanding bounds the outstanding messages of one subscription;
	// 0 means DefaultOutstanding.
	Outstanding int
	// Expiration is what subscriptions get that are created with ServerExpiration; 0 means
	// DefaultExpiration.
	Expiration time.Duration
	// Endpoints says where pushes may go; nil is anywhere.
	Endpoints Endpoints
	// ClientCertificates are those that subscriptions may name; none by default.
	ClientCertificates ClientCertificates
	Logger             *slog.Logger
	// Observer hears of publishes, leases and acks; nil for none.
	Observer Observer
}

// Service is the domain's front: it validates, then asks the store. All its
// methods may be called from any goroutine, on any number of servers that share
// a store.
type Service struct {
	store       Store
	server      string
	outstanding int
	expiration  time.Duration
	endpoints   Endpoints
	log         *slog.Logger
	observer    Observer // nil for none

	certificates ClientCertificates // nil for none

	hub       *hub
	windows   *windows
	directory *directory
	fleet     *fleet
	sweeper   *sweeper
	surveyor  *surveyor
	warnings  *warnings
	operator  *operator

	expiring expiring

	drain     chan struct{} // closed by Drain
	drainOnce sync.Once
}

// NewService makes a Service on a store. It does nothing by itself until Run.
func NewService(store Store, o Options) *Service {
	if o.Server == "" {
		o.Server = newUID()
	}
	if o.Outstanding == 0 {
		o.Outstanding = DefaultOutstanding
	}
	if o.Expiration == 0 {
		o.Expiration = DefaultExpiration
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	marking := &touched{Store: store}
	store = marking
	s := &Service{
		store: store, server: o.Server, outstanding: o.Outstanding, expiration: o.Expiration, log: o.Logger,
		observer:  o.Observer,
		endpoints: o.Endpoints, certificates: o.ClientCertificates,

		hub:       newHub(store),
		windows:   newWindows(),
		directory: newDirectory(store),
		warnings:  newWarnings(o.Logger),
		drain:     make(chan struct{}),
	}
	s.fleet = newFleet(s)
	s.sweeper = newSweeper(s)
	s.surveyor = newSurveyor(s, marking)
	s.operator = newOperator(s)
	return s
}

// Drain ends waiting pulls with an empty answer and makes new ones answer at
// once, and ends streams. Everything else goes on.
func (s *Service) Drain() { s.drainOnce.Do(func() { close(s.drain) }) }

func (s *Service) draining() bool {
	select {
	case <-s.drain:
		return true
	default:
		return false
	}
}

// stepTimeout bounds a step that must finish although its caller has gone.
const stepTimeout = 10 * time.Second

// step returns a context for a store call that must not be torn by the caller's
// going: a lease whose answer is lost would spend an attempt.
func step(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), stepTimeout)
}

func jitter() float64 { return rand.Float64() }

// canceled makes the error for a call whose context ended.
func canceled(ctx context.Context) error {
	if context.Cause(ctx) == context.DeadlineExceeded {
		return WrapError(ctx.Err(), DeadlineExceeded, "the call's deadline passed")
	}
	return WrapError(ctx.Err(), Canceled, "the caller has gone")
}
