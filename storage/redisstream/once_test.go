package redisstream

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"postrider/subscriptions"
)

// breaker is a server that closes the connection instead of answering a script: the client cannot know whether it ran.
type breaker struct {
	net.Listener
	scripts atomic.Int64
	wait    sync.WaitGroup
}

func startBreaker(t *testing.T) *breaker {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &breaker{Listener: listener}
	b.wait.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			b.wait.Go(func() { b.serve(connection) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		b.wait.Wait()
	})
	return b
}

// serve knows no command and ends with a script or the connection.
func (b *breaker) serve(connection net.Conn) {
	defer connection.Close()
	r := bufio.NewReader(connection)
	for {
		var arguments, size int
		if _, err := fmt.Fscanf(r, "*%d\r\n", &arguments); err != nil {
			return
		}
		var name string
		for i := range arguments {
			if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
				return
			}
			text := make([]byte, size+2)
			if _, err := io.ReadFull(r, text); err != nil {
				return
			}
			if i == 0 {
				name = strings.ToLower(string(text[:size]))
			}
		}
		if strings.HasPrefix(name, "eval") {
			b.scripts.Add(1)
			return
		}
		fmt.Fprintf(connection, "-ERR unknown command '%s'\r\n", name)
	}
}

// TestNothingIsSentTwice: go-redis, which retries by itself, must not do so with a script. Its cluster client would, whatever
// MaxRetries says.
func TestNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(addr string) redis.UniversalClient{
		"plain": func(addr string) redis.UniversalClient {
			return redis.NewClient(&redis.Options{Addr: addr, MaxRetries: 5})
		},
		"cluster": func(addr string) redis.UniversalClient {
			slots := []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: addr}}}}
			return redis.NewClusterClient(&redis.ClusterOptions{
				ClusterSlots:           func(context.Context) ([]redis.ClusterSlot, error) { return slots, nil },
				DisableRoutingPolicies: true,
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startBreaker(t)
			s := newStore(connect(server.Addr().String()), Options{})
			_, err := s.Publish(t.Context(), subscriptions.TopicRef{UID: "topic"}, []subscriptions.Message{{}})
			if subscriptions.CodeOf(err) != subscriptions.Unavailable {
				t.Errorf("publish gives %v", err)
			}
			if n := server.scripts.Load(); n != 1 {
				t.Errorf("the script was sent %d times", n)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
