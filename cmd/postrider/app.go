package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider"
	"postrider/cmd/postrider/metrics"
	"postrider/cmd/postrider/port"
	"postrider/cmd/postrider/tracing"
	"postrider/pusher"
	"postrider/pusher/guard"
	"postrider/pusher/proof"
	"postrider/server"
	"postrider/server/grpcapi"
	"postrider/subscriptions"
	"postrider/web"
)

// app is a whole server: the store, the domain, the pushes and the interfaces.
type app struct {
	config  Config
	log     *slog.Logger
	store   store
	guard   *guard.Guard // judges where pushes go
	service *subscriptions.Service
	pusher  *pusher.Manager
	metrics *metrics.Metrics
	tracer  *tracing.Tracer // nil without an endpoint for spans
	keys    *proof.Keys
	issuer  *proof.Issuer

	certificates *proof.Certificates // for endpoints; none without a folder of them
	port         *port.Splitter
	site         *web.Site // the operator's page
	http         *http.Server
	grpc         *grpcapi.Server

	certificate *port.Certificate // nil without TLS
	loopback    bool              // listens on this machine's loopback alone

	draining atomic.Bool
	teardown []teardown // run in reverse order
}

// teardown undoes a step of newApp.
type teardown struct {
	name string
	do   func() error
}

// newApp opens what a server needs, in the order in which the parts need one another. The address is known when it returns,
// and connections wait there for Run.
func newApp(ctx context.Context, config Config, log *slog.Logger) (_ *app, err error) {
	a := &app{config: config, log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	address, err := config.listenAddress()
	if err != nil {
		return nil, err
	}
	if config.TLSCert != "" {
		if a.certificate, err = port.LoadCertificate(config.TLSCert, config.TLSKey, log); err != nil {
			return nil, usagef("--tls-cert and --tls-key: %w", err)
		}
	}
	a.loopback = address.IP.IsLoopback()
	pushes, err := config.pushTransport(a.loopback)
	if err != nil {
		return nil, err
	}
	a.guard = pushes.Guard
	listener, err := net.ListenTCP("tcp", address)
	if err != nil {
		return nil, err // net says "listen tcp 127.0.0.1:8085: …"
	}
	a.port = port.NewSplitter(listener, port.Options{Logger: log, TLS: a.tlsConfig()})
	a.onClose("listener", a.port.Close)
	if a.store, err = openStore(ctx, config, log); err != nil {
		return nil, err
	}
	a.onClose("store", a.store.close)
	if err := a.openCertificates(); err != nil {
		return nil, err
	}
	if err := a.openTracer(ctx); err != nil {
		return nil, err
	}
	a.metrics = metrics.New(metrics.Options{Version: version(), Series: config.MetricsSeries, Logger: log})
	observed, pushed := a.observe()
	a.service = subscriptions.NewService(a.store, subscriptions.Options{
		Logger: log, Endpoints: a.guard, ClientCertificates: a.certificates, Expiration: config.expiration(),
		Observer: observed,
	})
	a.metrics.Watch(a.service)
	if err := a.openIssuer(ctx); err != nil {
		return nil, err
	}
	a.pusher = pusher.New(a.service, pusher.Options{
		Logger: log, UserAgent: "Postrider/" + version(), Issuer: a.issuer, MaxPushes: config.MaxPushes, Observer: pushed,
		Transport: pusher.NewTransport(pushes), TransportAs: a.transportAs(pushes),
	})
	a.grpc = grpcapi.New(a.service, grpcapi.Options{Logger: log, Ready: a.ready})
	a.site = web.New(a.service, web.Options{
		Logger: log, KnownHost: server.KnownHosts(config.AllowedHosts), Explain: server.Explain, Warnings: a.health,
		Secure: a.certificate != nil,
	})
	a.http = a.newHTTPServer()
	a.http.RegisterOnShutdown(a.site.Drain)
	return a, nil
}

// The time limits of connections. They are longer than a long poll (30 s) with its largest answer on a slow line, and end
// what a client keeps open for nothing.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 2 * time.Minute
	writeTimeout  = 5 * time.Minute
	idleTimeout   = 2 * time.Minute
)

func (a *app) newHTTPServer() *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // package port decrypts
	return &http.Server{
		Handler: a.traced(a.grpc.Beside(a.site.Beside(server.New(a.service, server.Options{
			Logger: a.log, OpenAPI: postrider.OpenAPI, Ready: a.ready, Hosts: a.config.AllowedHosts,
			MaxBodies: a.config.bodies(),
			Issuer:    a.issuer,
			Metrics:   a.metrics.Handler(),
		})))),
		Protocols:         &protocols,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
}

// Addr is where the server listens, as HOST:PORT.
func (a *app) Addr() string { return a.port.Addr().String() }

// URL is the server's address for clients.
func (a *app) URL() string {
	if a.certificate != nil {
		return "https://" + a.Addr()
	}
	return "http://" + a.Addr()
}

func (a *app) tlsConfig() *tls.Config {
	if a.certificate == nil {
		return nil
	}
	return a.certificate.Config()
}

// announce says where pushes may go, and in a last line what has been started.
func (a *app) announce(ctx context.Context) {
	a.log.Info(a.config.pushText(a.loopback))
	line := fmt.Sprintf("listening on %s; messages are kept in %s; push tokens are issued by %s", a.URL(), a.store.place, a.issuer.URL())
	_, warnings := a.ready(ctx)
	if len(warnings) == 0 {
		a.log.Info(line)
		return
	}
	a.log.Warn(line + ": " + strings.Join(warnings, "; "))
}

// ready tells whether requests can be served, and why not, or what the operator should mend.
func (a *app) ready(ctx context.Context) (bool, []string) {
	ready, reasons := a.health(ctx)
	if ready {
		reasons = append(reasons, a.service.Warnings()...)
	}
	return ready, reasons
}

// health is ready without what is to be said of single subscriptions, which the page says itself.
func (a *app) health(ctx context.Context) (bool, []string) {
	if a.draining.Load() {
		return false, []string{"the server is stopping"}
	}
	ready, reasons := a.store.health(ctx)
	if ready && a.certificate != nil {
		reasons = append(reasons, a.certificate.Warnings(time.Now())...)
	}
	return ready, reasons
}

// Run serves until ctx ends or a part fails, then drains and closes everything.
func (a *app) Run(ctx context.Context) error {
	parts, failed := errgroup.WithContext(context.WithoutCancel(ctx))
	fetch, work, loops := newPhase(ctx), newPhase(ctx), newPhase(ctx)
	pushed := make(chan struct{})
	parts.Go(func() error {
		defer close(pushed)
		return part("pushes", a.pusher.Run(fetch, work))
	})
	parts.Go(func() error { return part("background work", a.service.Run(loops)) })
	parts.Go(func() error { return part("store", a.store.run(loops)) })
	parts.Go(func() error { return part("signing keys", a.keys.Run(loops)) })
	parts.Go(func() error { return part("listener", a.port.Run()) })
	parts.Go(func() error { return part("HTTP", ignore(a.http.Serve(a.port.REST()), http.ErrServerClosed)) })
	parts.Go(func() error { return part("gRPC", a.grpc.Serve(a.port.GRPC())) })
	if a.certificate != nil {
		parts.Go(func() error { return part("certificate", a.certificate.Run(loops)) })
	}
	select {
	case <-ctx.Done():
	case <-failed.Done():
	}

	// The order of stopping. Requests and pushes drain side by side, so that each has the whole time: streams end and waiting
	// pulls are answered, nothing new is leased, and what is under way may finish.
	a.draining.Store(true)
	a.service.Drain()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.config.DrainTimeout)
	defer cancel()
	fetch.end()
	a.drainRequests(grace)
	a.drainPushes(grace, pushed)
	// What is left is given back without spending an attempt. The loops go on until then, and the store closes last.
	work.end()
	<-pushed
	loops.end()
	return errors.Join(parts.Wait(), a.close())
}

// phase is a context of its own: what runs in it outlives the one that Run was given.
type phase struct {
	context.Context
	end context.CancelFunc
}

func newPhase(ctx context.Context) phase {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	return phase{ctx, end}
}

// part says which part of the server failed.
func part(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// drainRequests lets requests finish until grace ends, and breaks off the rest.
func (a *app) drainRequests(grace context.Context) {
	_ = a.port.Close() // closing says nothing that matters now
	var draining sync.WaitGroup
	draining.Go(func() {
		if err := a.http.Shutdown(grace); err != nil {
			a.log.Warn("requests were still under way at the end of the drain timeout; they are broken off")
			_ = a.http.Close() // broken connections have nothing to say
		}
	})
	draining.Go(func() {
		if err := a.grpc.Shutdown(grace); err != nil {
			a.log.Warn("gRPC calls were still under way at the end of the drain timeout; they are broken off")
		}
	})
	draining.Wait()
}

// drainPushes lets pushes finish until grace ends.
func (a *app) drainPushes(grace context.Context, pushed <-chan struct{}) {
	select {
	case <-pushed:
	case <-grace.Done():
		a.log.Warn("pushes were still under way at the end of the drain timeout; they are given back")
	}
}

func (a *app) onClose(name string, do func() error) {
	a.teardown = append(a.teardown, teardown{name, do})
}

// close undoes what newApp did, the last step first.
func (a *app) close() error {
	var failures []error
	for len(a.teardown) > 0 {
		last := a.teardown[len(a.teardown)-1]
		a.teardown = a.teardown[:len(a.teardown)-1]
		if err := last.do(); err != nil && !errors.Is(err, net.ErrClosed) {
			failures = append(failures, fmt.Errorf("close the %s: %w", last.name, err))
		}
	}
	return errors.Join(failures...)
}
