package grpcapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // clients may compress
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"postrider/server"
	"postrider/subscriptions"
)

// Backend is what the interface is in front of: *subscriptions.Service.
type Backend interface {
	server.Backend
	Streams
}

// Streams are the flows of messages of StreamingPull.
type Streams interface {
	// OpenStream: NOT_FOUND, INVALID_ARGUMENT, FAILED_PRECONDITION, UNAVAILABLE.
	OpenStream(context.Context, subscriptions.SubscriptionName, subscriptions.StreamOptions) (*subscriptions.Stream, error)
}

// Options of a server. The zero value is for use.
type Options struct {
	// Logger takes internal errors and, at debug level, a line a call; none by default.
	Logger *slog.Logger
	// Ready tells whether requests can be served, for the health service. Without it the server is always ready.
	Ready func(context.Context) (ready bool, reasons []string)
}

// Server is the gRPC interface of a backend.
type Server struct {
	grpc *grpc.Server
	// shared has the calls that come by way of net/http. It is another one because grpc-go cannot stop such gracefully.
	shared      *grpc.Server
	sharedCalls sharedCalls
	// receivers are the goroutines that read the requests of streams.
	receivers *sync.WaitGroup
}

const (
	// maxReceive is what Google's clients may send. It is more than the largest legal publish (10 MB), so that one that is too
	// large is refused in words that say so.
	maxReceive = 20 << 20
	maxHeaders = 1 << 20
	// handshakeTimeout ends a connection that does not begin to speak HTTP/2.
	handshakeTimeout = 10 * time.Second
	// Clients that are silent for longer than deadAfter are asked whether they are there, or messages would be sent to one
	// that went without a word.
	deadAfter   = time.Minute
	deadTimeout = 20 * time.Second
	// pingEvery is how often clients may ask us. Google's Python client does so every 30 s, others seldom.
	pingEvery = 5 * time.Second
)

// New makes the gRPC interface of a backend.
func New(backend Backend, o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Ready == nil {
		o.Ready = func(context.Context) (bool, []string) { return true, nil }
	}
	s := &Server{receivers: &sync.WaitGroup{}}
	s.grpc, s.shared = s.newServer(backend, o), s.newServer(backend, o)
	return s
}

func (s *Server) newServer(backend Backend, o Options) *grpc.Server {
	calls := &calls{log: o.Logger}
	g := grpc.NewServer(
		grpc.ChainUnaryInterceptor(calls.unary),
		grpc.ChainStreamInterceptor(calls.stream),
		grpc.MaxRecvMsgSize(maxReceive),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: deadAfter, Timeout: deadTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingEvery, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	)
	pubsubpb.RegisterPublisherServer(g, &publisher{backend: backend})
	pubsubpb.RegisterSubscriberServer(g, &subscriber{backend: backend, receivers: s.receivers})
	pubsubpb.RegisterSchemaServiceServer(g, pubsubpb.UnimplementedSchemaServiceServer{})
	iampb.RegisterIAMPolicyServer(g, &accessControl{backend: backend})
	grpc_health_v1.RegisterHealthServer(g, &health{ready: o.Ready, known: g.GetServiceInfo})
	reflection.Register(g)
	return g
}

// Serve serves the connections of a listener until Shutdown, which is no error.
func (s *Server) Serve(l net.Listener) error {
	err := s.grpc.Serve(l)
	if errors.Is(err, grpc.ErrServerStopped) { // stopped before it began
		return nil
	}
	return err
}

// Shutdown takes no more calls and lets those under way finish until ctx ends; then it breaks them off and returns ctx's error.
// It returns when nothing of the server runs any more. Streams do not finish by themselves, unless the backend ends them first
// (subscriptions.Service.Drain).
func (s *Server) Shutdown(ctx context.Context) error {
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.grpc.GracefulStop()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
		s.grpc.Stop()
		<-done
	}
	err = errors.Join(err, s.sharedCalls.stop(ctx, s.shared.Stop))
	s.shared.Stop()
	s.receivers.Wait()
	return err
}
