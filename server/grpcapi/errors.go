package grpcapi

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"runtime/debug"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"postrider/server/rules"
	"postrider/subscriptions"
)

// statuses is the one table from the API's codes to gRPC's.
var statuses = map[subscriptions.Code]codes.Code{
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
}

// statusOf is what a caller is told of an error.
func statusOf(e *subscriptions.Error) *status.Status {
	code, ok := statuses[e.Code]
	if !ok {
		code = codes.Internal
	}
	s := status.New(code, rules.Legible(e.Message))
	detailed, err := s.WithDetails(details(e)...)
	if err != nil {
		return s
	}
	return detailed
}

// details are what programs are told of an error.
func details(e *subscriptions.Error) (list []protoadapt.MessageV1) {
	if e.RetryAfter > 0 {
		list = append(list, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	if e.Info != nil {
		list = append(list, &errdetails.ErrorInfo{Reason: e.Info.Reason, Domain: subscriptions.ErrorDomain, Metadata: e.Info.Metadata})
	}
	return list
}

// calls is around every call: it makes panics and errors into what callers see, and logs.
type calls struct{ log *slog.Logger }

func (c *calls) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (response any, err error) {
	start := time.Now()
	defer func() {
		err = c.ended(ctx, info.FullMethod, start, recovered(recover(), err))
		if err != nil {
			response = nil
		}
	}()
	return handle(ctx, request)
}

func (c *calls) stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	start := time.Now()
	defer func() { err = c.ended(s.Context(), info.FullMethod, start, recovered(recover(), err)) }()
	return handle(srv, s)
}

func recovered(panicked any, err error) error {
	if panicked == nil {
		return err
	}
	return fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())
}

// ended logs a call and makes its error a status.
func (c *calls) ended(ctx context.Context, method string, start time.Time, err error) error {
	if err == nil {
		c.log.DebugContext(ctx, "call", "method", method, "took", time.Since(start))
		return nil
	}
	s, foreign := status.FromError(err)
	switch {
	case !foreign:
		e := rules.Explain(ctx, err)
		s = statusOf(e)
	case s.Code() == codes.Unimplemented:
		// A method that the generated code answers for.
		s = statusOf(rules.Explain(ctx, rules.UnservedMethod(path.Base(method))))
	}
	level := slog.LevelDebug
	if s.Code() == codes.Internal {
		level = slog.LevelError
	}
	c.log.Log(ctx, level, "a call failed", "method", method, "took", time.Since(start), "error", err)
	return s.Err()
}
