package pusher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postrider/storage/memory"
	"postrider/subscriptions"
)

// bubble is a server with a store in memory, a Service and a Manager, whose
// endpoints are functions. It is for use inside of synctest.Test, where its
// time passes only while everything waits.
type bubble struct {
	*testing.T
	store   *faultyStore
	service *subscriptions.Service
	web     *fakeWeb

	stopFetch, stopWork, stopService context.CancelFunc

	pushing, serving sync.WaitGroup
}

const testEndpoint = "http://endpoint.example/push"

var testTopic = subscriptions.TopicName{Project: "p", ID: "topic"}

// inBubble runs a test in a bubble and stops the server at its end.
func inBubble(t *testing.T, test func(b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{T: t, web: &fakeWeb{started: time.Now(), answers: accept}}
		b.store = &faultyStore{Store: memory.New(memory.Options{})}
		b.service = subscriptions.NewService(b.store, subscriptions.Options{})
		b.serve()
		defer b.stop()
		b.must(b.service.CreateTopic(t.Context(), subscriptions.Topic{Name: testTopic}))
		test(b)
	})
}

func (b *bubble) serve() {
	var service context.Context
	service, b.stopService = context.WithCancel(context.Background())
	b.serving.Go(func() {
		if err := b.service.Run(service); err != nil {
			b.Errorf("Service.Run: %v", err)
		}
	})
	b.push(b.service)
}

// push runs a Manager.
func (b *bubble) push(backend Backend) { b.pushWith(backend, Options{}) }

func (b *bubble) pushWith(backend Backend, o Options) {
	var fetch, work context.Context
	fetch, b.stopFetch = context.WithCancel(context.Background())
	work, b.stopWork = context.WithCancel(context.Background())
	o.Transport = b.web
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(b.Output(), nil))
	}
	manager := New(backend, o)
	b.pushing.Go(func() {
		if err := manager.Run(fetch, work); err != nil {
			b.Errorf("Manager.Run: %v", err)
		}
	})
	synctest.Wait()
}

// stop ends what runs.
func (b *bubble) stop() {
	b.stopFetch()
	b.stopWork()
	b.pushing.Wait()
	b.stopService()
	b.serving.Wait()
}

func (b *bubble) must(_ any, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// subscribe creates a push subscription with some changes and waits until it runs.
func (b *bubble) subscribe(id string, change ...func(*subscriptions.Subscription)) subscriptions.SubscriptionName {
	b.Helper()
	sub := subscriptions.Subscription{
		Name: subscriptions.SubscriptionName{Project: "p", ID: id}, Topic: testTopic,
		Push: &subscriptions.PushConfig{Endpoint: testEndpoint},
	}
	for _, c := range change {
		c(&sub)
	}
	b.must(b.service.CreateSubscription(b.Context(), sub))
	time.Sleep(1100 * time.Millisecond) // a heartbeat tells who owns it
	synctest.Wait()
	return sub.Name
}

func (b *bubble) publish(data ...string) []subscriptions.MessageID {
	b.Helper()
	msgs := make([]subscriptions.Message, len(data))
	for i, d := range data {
		msgs[i].Data = []byte(d)
	}
	ids, err := b.service.Publish(b.Context(), testTopic, msgs)
	if err != nil {
		b.Fatal(err)
	}
	return ids
}

// left fails unless the subscription has so many messages left.
func (b *bubble) left(name subscriptions.SubscriptionName, want int64) {
	b.Helper()
	stats := b.stats(name)
	if got := stats.Undelivered + stats.Outstanding; got != want {
		b.Errorf("%s has %d messages left, want %d", name.ID, got, want)
	}
}

func (b *bubble) stats(name subscriptions.SubscriptionName) subscriptions.Stats {
	b.Helper()
	sub, err := b.store.Subscription(b.Context(), name)
	b.must(nil, err)
	stats, err := b.store.Stats(b.Context(), sub.Ref())
	b.must(nil, err)
	return stats
}

// hit is one POST.
type hit struct {
	at      time.Duration // since the bubble began
	url     string
	message string // data
	attempt int
	request *http.Request
	answer  http.Header // what the answer has
}

func (h hit) String() string { return fmt.Sprintf("%s to %s at %s", h.message, h.url, h.at) }

// endpoint answers a POST.
type endpoint func(h hit) (status int, err error)

func accept(hit) (int, error) { return http.StatusOK, nil }
func refuse(hit) (int, error) { return http.StatusInternalServerError, nil }

// fakeWeb is every endpoint there is.
type fakeWeb struct {
	started time.Time
	mu      sync.Mutex
	// answers is the endpoint.
	answers endpoint
	hits    []hit
	out     map[string]int // messages being answered
	most    map[string]int // highest of out
}

func (f *fakeWeb) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	r.Body.Close()
	var e struct {
		Message struct {
			Data []byte `json:"data"`
		} `json:"message"`
		Attempt int `json:"deliveryAttempt"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	h := hit{time.Since(f.started), r.URL.String(), string(e.Message.Data), e.Attempt, r, http.Header{}}
	f.enter(h)
	defer f.exit(h)
	status, err := f.endpoint()(h)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: h.answer, Body: http.NoBody, Request: r}, nil
}

func (f *fakeWeb) answer(e endpoint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers = e
}

func (f *fakeWeb) endpoint() endpoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answers
}

func (f *fakeWeb) enter(h hit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.out == nil {
		f.out, f.most = map[string]int{}, map[string]int{}
	}
	f.hits = append(f.hits, h)
	f.out[h.message]++
	f.most[h.message] = max(f.most[h.message], f.out[h.message])
}

func (f *fakeWeb) exit(h hit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out[h.message]--
}

func (f *fakeWeb) seen() []hit {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.hits)
}

// work answers after d, unless the request is given up before.
func (h hit) work(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-h.request.Context().Done():
		return h.request.Context().Err()
	}
}

// faultyStore is a store that can be away.
type faultyStore struct {
	*memory.Store
	mu      sync.Mutex
	away    bool
	leases  int
	reports int
	onLease func() // called in the middle of each lease
}

var errAway = subscriptions.WrapError(errors.New("connection refused"), subscriptions.Unavailable, "the store is away")

func (s *faultyStore) setAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func (s *faultyStore) setOnLease(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onLease = fn
}

func (s *faultyStore) leased() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases
}

func (s *faultyStore) told() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reports
}

func (s *faultyStore) ReportPush(ctx context.Context, ref subscriptions.Ref, r subscriptions.PushReport, keep time.Duration) error {
	if err := s.fault(); err != nil {
		return err
	}
	s.mu.Lock()
	s.reports++
	s.mu.Unlock()
	return s.Store.ReportPush(ctx, ref, r, keep)
}

func (s *faultyStore) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errAway
	}
	return nil
}

func (s *faultyStore) Lease(ctx context.Context, r subscriptions.LeaseRequest) (subscriptions.LeaseResult, error) {
	if err := s.fault(); err != nil {
		return subscriptions.LeaseResult{}, err
	}
	s.mu.Lock()
	s.leases++
	meanwhile := s.onLease
	s.mu.Unlock()
	res, err := s.Store.Lease(ctx, r)
	if meanwhile != nil {
		meanwhile()
	}
	return res, err
}

func (s *faultyStore) Acknowledge(ctx context.Context, ref subscriptions.Ref, rs []subscriptions.Receipt) error {
	if err := s.fault(); err != nil {
		return err
	}
	return s.Store.Acknowledge(ctx, ref, rs)
}

func (s *faultyStore) Nack(ctx context.Context, r subscriptions.NackRequest) ([]subscriptions.Receipt, error) {
	if err := s.fault(); err != nil {
		return nil, err
	}
	return s.Store.Nack(ctx, r)
}

func (s *faultyStore) Release(ctx context.Context, ref subscriptions.Ref, rs []subscriptions.Release) error {
	if err := s.fault(); err != nil {
		return err
	}
	return s.Store.Release(ctx, ref, rs)
}

func (s *faultyStore) Breaker(ctx context.Context, ref subscriptions.Ref) (subscriptions.Breaker, error) {
	if err := s.fault(); err != nil {
		return subscriptions.Breaker{}, err
	}
	return s.Store.Breaker(ctx, ref)
}

func (s *faultyStore) KeepBreaker(ctx context.Context, ref subscriptions.Ref, b subscriptions.Breaker) (bool, error) {
	if err := s.fault(); err != nil {
		return false, err
	}
	return s.Store.KeepBreaker(ctx, ref, b)
}
