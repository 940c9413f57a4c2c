package grpcapi_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Google's Python client pings every 30 s, which grpc-go by default takes for abuse.
func TestClientsMayPing(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		pinging := r.connect(func(c net.Conn) net.Conn { return c },
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, PermitWithoutStream: true}))
		s := pinging.open(&pubsubpb.StreamingPullRequest{})
		for range 3 {
			time.Sleep(time.Hour)
			r.publish("a")
			got := s.messages()
			if texts(got) != "a" {
				t.Fatal(got)
			}
			r.ack(got...)
		}
	})
}

// frozen is a connection that at some time loses all that is sent, in both directions, without a word.
type frozen struct {
	net.Conn
	once sync.Once
	at   chan struct{} // closed when it freezes
}

func (f *frozen) freeze() { f.once.Do(func() { close(f.at) }) }

func (f *frozen) Write(b []byte) (int, error) {
	select {
	case <-f.at:
		return len(b), nil
	default:
		return f.Conn.Write(b)
	}
}

func (f *frozen) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	for err == nil {
		select {
		case <-f.at:
			n, err = f.Conn.Read(b)
		default:
			return n, nil
		}
	}
	return n, err
}

// What is published after a client vanished without a word goes to others, once that is noticed.
func TestVanishedClient(t *testing.T) {
	run(t, func(r *rig) {
		r.subscribe(&pubsubpb.Subscription{})
		var lost *frozen
		vanishing := r.connect(func(c net.Conn) net.Conn {
			lost = &frozen{Conn: c, at: make(chan struct{})}
			return lost
		})
		s := vanishing.open(&pubsubpb.StreamingPullRequest{StreamAckDeadlineSeconds: 600})
		if got := s.messages(); len(got) != 0 {
			t.Fatal(got)
		}
		lost.freeze()
		time.Sleep(2 * time.Minute)
		r.publish("a")
		if got := r.pull(); texts(got) != "a" {
			t.Errorf("pulled %v: the message went to a client that is gone", got)
		}
	})
}
