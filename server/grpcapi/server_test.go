package grpcapi_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"postrider/server/grpcapi"
	"postrider/subscriptions"
)

// failing answers every GetTopic with an error, or panics.
type failing struct {
	grpcapi.Backend
	err error
}

func (f *failing) GetTopic(ctx context.Context, _ subscriptions.TopicName) (subscriptions.Topic, error) {
	if f.err == nil {
		panic("secret")
	}
	return subscriptions.Topic{}, f.err
}

func TestErrors(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	backend := &failing{}
	r := serve(t, backend, grpcapi.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	get := func(err error) *status.Status {
		backend.err = err
		_, got := r.GetTopic(r.ctx, &pubsubpb.GetTopicRequest{Topic: orders})
		return status.Convert(got)
	}
	for code, want := range map[subscriptions.Code]codes.Code{
		subscriptions.InvalidArgument:    codes.InvalidArgument,
		subscriptions.FailedPrecondition: codes.FailedPrecondition,
		subscriptions.PermissionDenied:   codes.PermissionDenied,
		subscriptions.NotFound:           codes.NotFound,
		subscriptions.AlreadyExists:      codes.AlreadyExists,
		subscriptions.Aborted:            codes.Aborted,
		subscriptions.ResourceExhausted:  codes.ResourceExhausted,
		subscriptions.Canceled:           codes.Canceled,
		subscriptions.Internal:           codes.Internal,
		subscriptions.Unimplemented:      codes.Unimplemented,
		subscriptions.Unavailable:        codes.Unavailable,
		subscriptions.DeadlineExceeded:   codes.DeadlineExceeded,
		"NEW":                            codes.Internal,
	} {
		got := get(subscriptions.WrapError(errors.New("secret"), code, "why"))
		if got.Code() != want || got.Message() != "why" {
			t.Errorf("%s: %v", code, got)
		}
	}
	log.Reset()
	for _, err := range []error{errors.New("secret"), nil} {
		if got := get(err); got.Code() != codes.Internal || got.Message() != "internal error" {
			t.Errorf("%v: %v", err, got)
		}
		if !strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), "GetTopic") {
			t.Errorf("logged %s", &log)
		}
		log.Reset()
	}
	if got := get(subscriptions.Errorf(subscriptions.NotFound, "\xff%s", strings.Repeat("x", 1<<20))); got.Code() != codes.NotFound || len(got.Message()) > 2100 {
		t.Errorf("a long text of %d bytes: %v", len(got.Message()), got.Code())
	}
	later := subscriptions.Errorf(subscriptions.ResourceExhausted, "full")
	later.RetryAfter = 3 * time.Second
	if details := get(later).Details(); len(details) != 1 || details[0].(*errdetails.RetryInfo).RetryDelay.AsDuration() != 3*time.Second {
		t.Errorf("details %v", details)
	}
	if log.Len() > 0 {
		t.Errorf("what callers are told is logged as an error, too: %s", &log)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	ready := true
	r := serve(t, &failing{}, grpcapi.Options{Ready: func(context.Context) (bool, []string) { return ready, nil }})
	client := grpc_health_v1.NewHealthClient(r.conn)
	for _, service := range []string{"", "google.pubsub.v1.Publisher"} {
		for _, ready = range []bool{true, false} {
			got, err := client.Check(r.ctx, &grpc_health_v1.HealthCheckRequest{Service: service})
			if err != nil || (got.Status == grpc_health_v1.HealthCheckResponse_SERVING) != ready {
				t.Errorf("%q: %v, %v", service, got, err)
			}
		}
	}
	_, err := client.Check(r.ctx, &grpc_health_v1.HealthCheckRequest{Service: "x"})
	r.refused(err, codes.NotFound, "x")
}

func TestReflection(t *testing.T) {
	t.Parallel()
	r := serve(t, &failing{}, grpcapi.Options{})
	stream, err := grpc_reflection_v1.NewServerReflectionClient(r.conn).ServerReflectionInfo(r.ctx)
	r.must(err)
	r.must(stream.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}))
	got, err := stream.Recv()
	r.must(err)
	r.must(stream.CloseSend())
	names := map[string]bool{}
	for _, service := range got.GetListServicesResponse().GetService() {
		names[service.Name] = true
	}
	for _, name := range []string{"google.pubsub.v1.Publisher", "google.pubsub.v1.Subscriber", "google.pubsub.v1.SchemaService", "google.iam.v1.IAMPolicy", "grpc.health.v1.Health"} {
		if !names[name] {
			t.Errorf("%s is not listed", name)
		}
	}
}

// A server that drains ends its streams and is done; one whose calls do not end is broken off.
func TestShutdown(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		r.open(&pubsubpb.StreamingPullRequest{})
		synctest.Wait()
		r.service.Drain()
		start := time.Now()
		r.must(r.server.Shutdown(r.ctx))
		if took := time.Since(start); took > time.Second {
			t.Errorf("took %v", took)
		}
	})
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		s := r.open(&pubsubpb.StreamingPullRequest{})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(r.ctx, 10*time.Second)
		defer cancel()
		start := time.Now()
		if err := r.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		r.refused(s.ended(), codes.Unavailable)
	})
}

func TestServeAfterShutdown(t *testing.T) {
	t.Parallel()
	s := grpcapi.New(&failing{}, grpcapi.Options{})
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := bufconnListener()
	if err := s.Serve(l); err != nil {
		t.Error(err)
	}
}
