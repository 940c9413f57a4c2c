package grpcapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"

	"postrider/subscriptions"
)

// stream is an open StreamingPull. What comes is read at once.
type stream struct {
	*rig
	rpc    pubsubpb.Subscriber_StreamingPullClient
	cancel context.CancelFunc
	got    chan *pubsubpb.StreamingPullResponse
	came   chan struct{} // holds a token when got may have changed
	err    error         // once got is closed
}

// open opens a stream on billing; what first leaves out gets a usable value.
func (r *rig) open(first *pubsubpb.StreamingPullRequest) *stream {
	r.Helper()
	ctx, cancel := context.WithCancel(r.ctx)
	rpc, err := r.StreamingPull(ctx)
	r.must(err)
	s := &stream{rig: r, rpc: rpc, cancel: cancel, got: make(chan *pubsubpb.StreamingPullResponse, 1000), came: make(chan struct{}, 1)}
	if first.Subscription == "" {
		first.Subscription = billing
	}
	if first.StreamAckDeadlineSeconds == 0 {
		first.StreamAckDeadlineSeconds = 10
	}
	s.send(first)
	go func() {
		defer s.tell()
		defer close(s.got)
		for s.err == nil {
			var response *pubsubpb.StreamingPullResponse
			if response, s.err = rpc.Recv(); s.err == nil {
				s.got <- response
			}
			s.tell()
		}
	}()
	r.Cleanup(func() {
		cancel()
		for range s.got {
		}
	})
	return s
}

func (s *stream) tell() {
	select {
	case s.came <- struct{}{}:
	default:
	}
}

func (s *stream) send(request *pubsubpb.StreamingPullRequest) {
	s.Helper()
	s.must(s.rpc.Send(request))
}

// next is the next response, nil when none comes within a time.
func (s *stream) next(within time.Duration) *pubsubpb.StreamingPullResponse {
	s.Helper()
	timeout := time.After(within)
	for over := false; ; {
		synctest.Wait() // what is on its way comes first
		select {
		case response, open := <-s.got:
			if !open {
				s.Fatalf("the stream ended with %v", s.err)
			}
			if response.SubscriptionProperties == nil {
				s.Error("a response without properties")
			}
			return response
		default:
		}
		if over {
			return nil
		}
		select {
		case <-timeout:
			over = true
		case <-s.came:
		}
	}
}

// messages collects messages until none comes for a second.
func (s *stream) messages() []*pubsubpb.ReceivedMessage {
	s.Helper()
	var all []*pubsubpb.ReceivedMessage
	for {
		response := s.next(time.Second)
		if response == nil {
			return all
		}
		all = append(all, response.ReceivedMessages...)
	}
}

// ended is what the stream ended with; messages before it are thrown away.
func (s *stream) ended() error {
	s.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case _, open := <-s.got:
			if !open {
				return s.err
			}
		case <-timeout:
			s.Fatal("the stream goes on")
		}
	}
}

func (r *rig) ack(got ...*pubsubpb.ReceivedMessage) {
	r.Helper()
	_, err := r.Acknowledge(r.ctx, &pubsubpb.AcknowledgeRequest{Subscription: billing, AckIds: ackIDs(got)})
	r.must(err)
}

func (r *rig) modify(d time.Duration, got ...*pubsubpb.ReceivedMessage) {
	r.Helper()
	_, err := r.ModifyAckDeadline(r.ctx, &pubsubpb.ModifyAckDeadlineRequest{
		Subscription: billing, AckIds: ackIDs(got), AckDeadlineSeconds: int32(d.Seconds()),
	})
	r.must(err)
}

// numbers are texts to publish.
func numbers(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(i)
	}
	return out
}

func TestStreamingPull(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		r.publish("a", "b")
		s := r.open(&pubsubpb.StreamingPullRequest{})
		got := s.messages()
		if texts(got) != "a b" {
			t.Fatal(got)
		}
		s.send(&pubsubpb.StreamingPullRequest{AckIds: ackIDs(got[:1]), ModifyDeadlineAckIds: ackIDs(got[1:]), ModifyDeadlineSeconds: []int32{0}})
		again := s.messages()
		if texts(again) != "b" {
			t.Fatal(again)
		}
		s.send(&pubsubpb.StreamingPullRequest{AckIds: ackIDs(again)})
		for i := range 3 {
			time.Sleep(time.Hour)
			r.publish(fmt.Sprint(i))
			got := s.messages()
			if texts(got) != fmt.Sprint(i) {
				t.Fatal(got)
			}
			r.ack(got...)
		}
	})
}

// The deadlines of a request go to the ack ids in the same places, and the deadline of the stream to messages without.
func TestStreamDeadlines(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{AckDeadlineSeconds: 600})
		r.publish("a", "b", "c", "d", "e")
		s := r.open(&pubsubpb.StreamingPullRequest{StreamAckDeadlineSeconds: 100})
		got := s.messages()
		s.send(&pubsubpb.StreamingPullRequest{
			StreamAckDeadlineSeconds: 30,
			ModifyDeadlineAckIds:     ackIDs([]*pubsubpb.ReceivedMessage{got[0], got[1], got[2], got[1], got[3]}),
			ModifyDeadlineSeconds:    []int32{20, 600, 20, 50, 600},
		})
		start := time.Now()
		came := map[string][]int{}
		for time.Since(start) < 130*time.Second {
			if response := s.next(time.Second); response != nil {
				for _, m := range response.ReceivedMessages {
					text := string(m.Message.Data)
					came[text] = append(came[text], int(time.Since(start).Seconds()))
				}
			}
		}
		if got, want := fmt.Sprint(came), "map[a:[20 50 80 110] b:[50 80 110] c:[20 50 80 110] e:[99 129]]"; got != want {
			t.Errorf("came again at %v, want %v", got, want)
		}
	})
}

func TestStreamWindow(t *testing.T) {
	for how, settle := range map[string]func(*stream, []*pubsubpb.ReceivedMessage){
		"unary ack":  func(s *stream, got []*pubsubpb.ReceivedMessage) { s.ack(got...) },
		"unary nack": func(s *stream, got []*pubsubpb.ReceivedMessage) { s.modify(0, got...) },
		"ack on the stream": func(s *stream, got []*pubsubpb.ReceivedMessage) {
			s.send(&pubsubpb.StreamingPullRequest{AckIds: ackIDs(got)})
		},
		"nack on the stream": func(s *stream, got []*pubsubpb.ReceivedMessage) {
			s.send(&pubsubpb.StreamingPullRequest{ModifyDeadlineAckIds: ackIDs(got), ModifyDeadlineSeconds: make([]int32, len(got))})
		},
		"expiry": func(_ *stream, got []*pubsubpb.ReceivedMessage) { time.Sleep(10 * time.Second) },
	} {
		t.Run(how, func(t *testing.T) {
			run(t, func(r *rig) {
				r.subscribe(&pubsubpb.Subscription{})
				r.publish(numbers(100)...)
				s := r.open(&pubsubpb.StreamingPullRequest{MaxOutstandingMessages: 7})
				got := s.messages()
				if len(got) != 7 {
					t.Fatalf("%d messages in a window of 7", len(got))
				}
				settle(s, got[:7])
				if more := s.messages(); len(more) != 7 {
					t.Errorf("then %d", len(more))
				}
			})
		})
	}
}

// A window is for what the client holds: what it extends stays in it.
func TestStreamWindowAndExtensions(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		r.publish(numbers(10)...)
		s := r.open(&pubsubpb.StreamingPullRequest{MaxOutstandingMessages: 3})
		got := s.messages()
		for range 20 {
			r.modify(10*time.Second, got...)
			time.Sleep(8 * time.Second)
		}
		if more := s.messages(); len(got) != 3 || len(more) != 0 {
			t.Errorf("%d messages, then %d", len(got), len(more))
		}
	})
}

func TestStreamWindowOfBytes(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		texts := make([]string, 5)
		for i := range texts {
			texts[i] = string(make([]byte, 1000))
		}
		r.publish(texts...)
		s := r.open(&pubsubpb.StreamingPullRequest{MaxOutstandingBytes: 2500})
		if got := s.messages(); len(got) != 2 && len(got) != 3 {
			t.Errorf("%d messages of 1000 bytes in a window of 2500", len(got))
		}
		small := r.open(&pubsubpb.StreamingPullRequest{MaxOutstandingBytes: 1})
		if got := small.messages(); len(got) != 1 {
			t.Errorf("%d messages in a window of 1 byte: it is one that a client waits for", len(got))
		}
	})
}

func TestStreamsShare(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		streams := make([]*stream, 4)
		for i := range streams {
			streams[i] = r.open(&pubsubpb.StreamingPullRequest{MaxOutstandingMessages: 100, StreamAckDeadlineSeconds: 600})
		}
		synctest.Wait()
		for i := range 40 {
			r.publish(fmt.Sprint(i))
			synctest.Wait()
		}
		for i, s := range streams {
			if got := s.messages(); len(got) != 10 {
				t.Errorf("stream %d got %d of 40", i, len(got))
			}
		}
	})
}

func TestKeepAlive(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		s := r.open(&pubsubpb.StreamingPullRequest{ProtocolVersion: 1})
		old := r.open(&pubsubpb.StreamingPullRequest{})
		for range 20 {
			time.Sleep(30 * time.Second)
			if response := s.next(0); response != nil {
				t.Fatalf("without being asked: %v", response)
			}
			s.send(&pubsubpb.StreamingPullRequest{})
			old.send(&pubsubpb.StreamingPullRequest{})
			if response := s.next(10 * time.Second); response == nil || len(response.ReceivedMessages) > 0 {
				t.Fatalf("answered with %v", response)
			}
		}
		if response := old.next(time.Minute); response != nil {
			t.Errorf("a client that knows of no answers got %v", response)
		}
		s.cancel()
		old.cancel()
		synctest.Wait()
		r.publish("a", "b")
		full := r.open(&pubsubpb.StreamingPullRequest{ProtocolVersion: 1, MaxOutstandingMessages: 1})
		if got := full.messages(); len(got) != 1 {
			t.Fatal(got)
		}
		full.send(&pubsubpb.StreamingPullRequest{})
		if response := full.next(8 * time.Second); response == nil || len(response.ReceivedMessages) > 0 {
			t.Errorf("answered with %v while the window is full", response)
		}
	})
}

func TestStreamIsRefused(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		_, err := r.SubscriberClient.CreateSubscription(r.ctx, &pubsubpb.Subscription{
			Name: billing + "-push", Topic: orders, PushConfig: &pubsubpb.PushConfig{PushEndpoint: "https://example.com"},
		})
		r.must(err)
		for _, c := range []struct {
			first *pubsubpb.StreamingPullRequest
			code  codes.Code
			words string
		}{
			{&pubsubpb.StreamingPullRequest{Subscription: "x"}, codes.InvalidArgument, "subscription:"},
			{&pubsubpb.StreamingPullRequest{Subscription: billing + "x"}, codes.NotFound, billing + "x"},
			{&pubsubpb.StreamingPullRequest{Subscription: billing + "-push"}, codes.FailedPrecondition, "push"},
			{&pubsubpb.StreamingPullRequest{StreamAckDeadlineSeconds: 9}, codes.InvalidArgument, "streamAckDeadlineSeconds"},
			{&pubsubpb.StreamingPullRequest{StreamAckDeadlineSeconds: 601}, codes.InvalidArgument, "streamAckDeadlineSeconds"},
			{&pubsubpb.StreamingPullRequest{AckIds: []string{"nonsense"}}, codes.InvalidArgument, "ackIds[0]"},
		} {
			r.refused(r.open(c.first).ended(), c.code, c.words)
		}
		rpc, err := r.StreamingPull(r.ctx)
		r.must(err)
		r.must(rpc.Send(&pubsubpb.StreamingPullRequest{Subscription: billing}))
		_, err = rpc.Recv()
		r.refused(err, codes.InvalidArgument, "streamAckDeadlineSeconds: 0")
	})
}

// What a later request may not say ends the stream, and has no effect.
func TestBadRequestEndsStream(t *testing.T) {
	for name, c := range map[string]struct {
		request *pubsubpb.StreamingPullRequest
		words   string
	}{
		"subscription":         {&pubsubpb.StreamingPullRequest{Subscription: billing}, "subscription:"},
		"window of messages":   {&pubsubpb.StreamingPullRequest{MaxOutstandingMessages: 1}, "maxOutstandingMessages"},
		"window of bytes":      {&pubsubpb.StreamingPullRequest{MaxOutstandingBytes: 1}, "maxOutstandingBytes"},
		"protocol version":     {&pubsubpb.StreamingPullRequest{ProtocolVersion: 1}, "protocolVersion"},
		"deadline too short":   {&pubsubpb.StreamingPullRequest{StreamAckDeadlineSeconds: 9}, "streamAckDeadlineSeconds"},
		"negative deadline":    {&pubsubpb.StreamingPullRequest{StreamAckDeadlineSeconds: -1}, "streamAckDeadlineSeconds"},
		"malformed ack id":     {&pubsubpb.StreamingPullRequest{AckIds: []string{"x"}}, "ackIds[0]"},
		"malformed modify id":  {&pubsubpb.StreamingPullRequest{ModifyDeadlineAckIds: []string{"x"}, ModifyDeadlineSeconds: []int32{10}}, "ackIds[0]"},
		"fewer deadlines":      {&pubsubpb.StreamingPullRequest{ModifyDeadlineAckIds: []string{"x", "y"}, ModifyDeadlineSeconds: []int32{10}}, "1 for 2"},
		"deadlines without":    {&pubsubpb.StreamingPullRequest{ModifyDeadlineSeconds: []int32{10}}, "1 for 0"},
		"negative extension":   {&pubsubpb.StreamingPullRequest{ModifyDeadlineAckIds: []string{"x"}, ModifyDeadlineSeconds: []int32{-1}}, "-1"},
		"extension over limit": {&pubsubpb.StreamingPullRequest{ModifyDeadlineAckIds: []string{"x"}, ModifyDeadlineSeconds: []int32{601}}, "601"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				r.subscribe(&pubsubpb.Subscription{})
				s := r.open(&pubsubpb.StreamingPullRequest{ProtocolVersion: 1})
				s.send(c.request)
				r.refused(s.ended(), codes.InvalidArgument, c.words)
			})
		})
	}
}

func TestWhatEndsAStream(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*rig, *stream)
		code codes.Code
	}{
		"half-close": {func(r *rig, s *stream) { r.must(s.rpc.CloseSend()) }, codes.OK},
		"delete": {func(r *rig, s *stream) {
			_, err := r.DeleteSubscription(r.ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: billing})
			r.must(err)
		}, codes.NotFound},
		"detach": {func(r *rig, s *stream) {
			_, err := r.DetachSubscription(r.ctx, &pubsubpb.DetachSubscriptionRequest{Subscription: billing})
			r.must(err)
		}, codes.FailedPrecondition},
		"push": {func(r *rig, s *stream) {
			_, err := r.ModifyPushConfig(r.ctx, &pubsubpb.ModifyPushConfigRequest{Subscription: billing, PushConfig: &pubsubpb.PushConfig{PushEndpoint: "https://example.com"}})
			r.must(err)
		}, codes.FailedPrecondition},
		"drain":  {func(r *rig, s *stream) { r.service.Drain() }, codes.Unavailable},
		"cancel": {func(r *rig, s *stream) { s.cancel() }, codes.Canceled},
	} {
		for _, window := range []int64{0, 1} {
			t.Run(fmt.Sprint(name, window), func(t *testing.T) {
				run(t, func(r *rig) {
					r.subscribe(&pubsubpb.Subscription{})
					r.publish("a")
					s := r.open(&pubsubpb.StreamingPullRequest{MaxOutstandingMessages: window})
					s.messages()
					time.Sleep(5 * time.Second)
					c.end(r, s)
					err := s.ended()
					if c.code == codes.OK && errors.Is(err, io.EOF) {
						return
					}
					r.refused(err, c.code)
				})
			})
		}
	}
}

// What was leased and never sent comes again at once, as if it had never been leased; what was sent when its lease ends.
func TestClosedStreamGivesBackWhatItNeverSent(t *testing.T) {
	run(t, func(r *rig) {
		r.topic(dead)
		r.subscribe(&pubsubpb.Subscription{DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{DeadLetterTopic: dead}})
		for range 10 {
			r.publish(string(make([]byte, 900_000)))
		}
		ctx, cancel := context.WithCancel(r.ctx)
		rpc, err := r.StreamingPull(ctx)
		r.must(err)
		r.must(rpc.Send(&pubsubpb.StreamingPullRequest{Subscription: billing, StreamAckDeadlineSeconds: 10}))
		first, err := rpc.Recv()
		r.must(err)
		synctest.Wait() // nobody reads on, so the server has leased what it cannot send
		cancel()
		synctest.Wait()
		now := r.stats()
		if sent := len(first.ReceivedMessages); now.Outstanding > int64(sent)+3 {
			t.Errorf("%d messages are outstanding of a stream that sent %d or little more", now.Outstanding, sent)
		}
		time.Sleep(10 * time.Second)
		seen := 0
		for got := r.pull(); len(got) > 0; got = r.pull() {
			for _, m := range got {
				if m.DeliveryAttempt > 2 {
					t.Errorf("attempt %d", m.DeliveryAttempt)
				}
			}
			seen += len(got)
			r.ack(got...)
		}
		if seen != 10 {
			t.Errorf("%d messages came again", seen)
		}
	})
}

func (r *rig) stats() subscriptions.Stats {
	r.Helper()
	record, err := r.store.Subscription(r.ctx, subscriptions.SubscriptionName{Project: "p", ID: "billing"})
	r.must(err)
	stats, err := r.store.Stats(r.ctx, record.Ref())
	r.must(err)
	return stats
}

// A client that comes back with its name still holds what it was sent before.
func TestReconnectedClientIsNotOverDelivered(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		r.publish(numbers(100)...)
		first := &pubsubpb.StreamingPullRequest{MaxOutstandingMessages: 10, StreamAckDeadlineSeconds: 60, ClientId: "c"}
		s := r.open(first)
		held := s.messages()
		s.cancel()
		_ = s.ended()
		other := r.open(&pubsubpb.StreamingPullRequest{MaxOutstandingMessages: 10, StreamAckDeadlineSeconds: 60, ClientId: "another"})
		if got := other.messages(); len(held) != 10 || len(got) != 10 {
			t.Fatalf("%d messages, another client got %d", len(held), len(got))
		}
		s = r.open(first)
		if got := s.messages(); len(got) != 0 {
			t.Errorf("%d messages more than the window", len(got))
		}
		r.ack(held[:4]...)
		if got := s.messages(); len(got) != 4 {
			t.Errorf("%d messages for 4 acks", len(got))
		}
		// Two streams of one client are two windows.
		if got := r.open(first).messages(); len(got) != 10 {
			t.Errorf("%d messages on a second stream", len(got))
		}
	})
}

func TestIdleStreamsLeaveNothingBehind(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		for range 200 {
			s := r.open(&pubsubpb.StreamingPullRequest{ProtocolVersion: 1, ClientId: "c"})
			r.must(s.rpc.CloseSend())
			if err := s.ended(); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		}
		streams := make([]*stream, 200)
		for i := range streams {
			streams[i] = r.open(&pubsubpb.StreamingPullRequest{ProtocolVersion: 1})
		}
		time.Sleep(time.Hour)
		r.publish("a")
		synctest.Wait()
		came := 0
		for _, s := range streams {
			came += len(s.got)
			s.cancel()
		}
		if came != 1 {
			t.Errorf("one message came %d times", came)
		}
	}) // the bubble sees what is left
}
