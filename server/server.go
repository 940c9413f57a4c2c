// Package server is the REST interface: Google Cloud Pub/Sub's paths and JSON in front of the domain.
//
// Routing, parameters and the messages are generated from openapi.yaml (package api), and the JSON is package wire's. What is
// written here is what neither can know: how messages become the domain's values (convert.go), what is not built yet
// (unbuilt.go, unserved.go), how errors look (errors.go), and who may speak to a server that asks for no key (guard.go).
package server

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	chimiddleware "github.com/go-chi/chi/v5/middleware"
	"github.com/oapi-codegen/runtime"

	"postrider/server/api"
	"postrider/server/wire"
)

// The generated code decodes through one codec for the whole process. It is set before main, the only moment when no request
// can be under way.
func init() { runtime.SetJSONCodec(wire.Codec{Shortcut: readPublish}) }

// Backend is what the interface is in front of: *subscriptions.Service.
type Backend interface {
	Topics
	Subscriptions
	Attachments
	Messages
	Blocks
	Peeks
	Delays
	Operations
	Pushes
	Snapshots
	Seeks
}

// Options of a server. The zero value is for use on loopback.
type Options struct {
	// Logger takes internal errors and, at debug level, a line a request; none by default.
	Logger *slog.Logger
	// OpenAPI is the contract that /openapi.yaml hands out.
	OpenAPI []byte
	// Ready tells whether requests can be served. When they can, the reasons are warnings to the operator; when not, why
	// not. Without it the server is always ready.
	Ready func(context.Context) (ready bool, reasons []string)
	// Hosts are the names, without port, under which clients may address a server that asks for no key, besides loopback
	// names and IP addresses, which always work. AnyHost allows every name.
	Hosts []string
	// Metrics answers /metrics; without it that is not found.
	Metrics http.Handler
	// Issuer signs the tokens of pushes; without one nothing is known of keys.
	Issuer Issuer
	// MaxBody bounds the body of a request in bytes; DefaultMaxBody by default.
	MaxBody int64
	// MaxBodies bounds all bodies under way together, in bytes; DefaultMaxBodies by default. In memory each takes about three
	// times its size.
	MaxBodies int64
}

// DefaultMaxBody has room for the largest legal publish: 10 MB of data are 13.4 MB as base64.
const DefaultMaxBody = 14 << 20

// DefaultMaxBodies has room for some of the largest bodies at once.
const DefaultMaxBodies = 128 << 20

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Ready == nil {
		o.Ready = func(context.Context) (bool, []string) { return true, nil }
	}
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.MaxBodies == 0 {
		o.MaxBodies = DefaultMaxBodies
	}
	return o
}

// handler implements the generated interface.
type handler struct {
	backend Backend
	options Options
	log     *slog.Logger
}

var _ api.StrictServerInterface = (*handler)(nil)

// New makes the REST interface of a backend.
func New(backend Backend, o Options) http.Handler {
	o = o.withDefaults()
	h := &handler{backend: backend, options: o, log: o.Logger}
	r := chi.NewRouter()
	r.NotFound(h.notFound)
	refuseMethod := h.methodNotAllowed(r)
	r.MethodNotAllowed(refuseMethod)
	// From the outside in. The last one routes a HEAD as the GET that it is, without the body.
	r.Use(h.logged, h.recovered, h.underIssuer, h.knownHost(o.Hosts), h.sameOrigin(), h.readable, properVerb(r, refuseMethod),
		newBodies(o.MaxBodies).metered, h.boundBody, chimiddleware.GetHead)
	h.routeUnserved(r)
	if o.Metrics != nil {
		r.Method(http.MethodGet, "/metrics", o.Metrics)
	}
	strict := api.NewStrictHandlerWithOptions(h, []api.StrictMiddlewareFunc{encoded}, api.StrictHTTPServerOptions{
		RequestErrorHandlerFunc:  h.bodyError,
		ResponseErrorHandlerFunc: h.fail,
	})
	return api.HandlerWithOptions(strict, api.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: h.parameterError})
}

// encoded writes answers with the codec of package wire. The generated code would escape <, > and &, more slowly.
func encoded(next api.StrictHandlerFunc, _ string) api.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		response, err := next(ctx, w, r, request)
		if err != nil || !wire.Encodes(response) {
			return response, err
		}
		return nil, wire.WriteJSON(w, http.StatusOK, response)
	}
}
