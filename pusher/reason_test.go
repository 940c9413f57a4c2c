package pusher

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"testing"
	"time"

	"postrider/subscriptions"
)

// Why a push was refused is kept with the message, so that who asks what blocks an ordering key is told.
func TestWhyAPushWasRefusedIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer endpoint
		want   string
	}{
		"a status":            {func(hit) (int, error) { return http.StatusServiceUnavailable, nil }, "the endpoint answered 503 Service Unavailable after 12ms"},
		"a status of its own": {func(hit) (int, error) { return 599, nil }, "the endpoint answered 599 after 12ms"},
		"nobody there": {
			func(hit) (int, error) { return 0, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED} }, "refused: dial: connection refused after 12ms",
		},
		"nonsense": {func(hit) (int, error) { return 0, errors.New("two\nlines") }, "protocol: two lines after 12ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bubble) {
				b.web.answers = func(h hit) (int, error) {
					b.must(nil, h.work(12*time.Millisecond))
					return c.answer(h)
				}
				sub := b.subscribe("sub", func(s *subscriptions.Subscription) { s.Ordered = true })
				b.must(b.service.Publish(b.Context(), testTopic, []subscriptions.Message{{Data: []byte("a"), OrderingKey: "k"}}))
				time.Sleep(50 * time.Millisecond)
				blocks, _, err := b.service.BlockedKeys(b.Context(), sub, subscriptions.Page{})
				b.must(nil, err)
				if len(blocks) != 1 || blocks[0].Head.Failed[0].Line() != c.want {
					b.Errorf("blocked: %+v, want %q", blocks, c.want)
				}
			})
		})
	}
}

// A probe of an open breaker spends no attempt, and says why it failed all the same.
func TestAProbeThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bubble) {
		b.outage()
		sub := b.subscribe("sub", func(s *subscriptions.Subscription) { s.Ordered = true })
		for i := range breakerThreshold {
			b.must(b.service.Publish(b.Context(), testTopic, []subscriptions.Message{{Data: []byte("a"), OrderingKey: strconv.Itoa(i)}}))
		}
		time.Sleep(30 * time.Second)
		blocks, _, err := b.service.BlockedKeys(b.Context(), sub, subscriptions.Page{})
		b.must(nil, err)
		probes := 0
		for _, block := range blocks {
			if a := block.Head.Failed[0]; a.Number == 0 && a.Status == http.StatusServiceUnavailable && a.Took == 20*time.Millisecond {
				probes++
			}
		}
		if len(blocks) != breakerThreshold || probes == 0 {
			b.Errorf("%d keys are blocked, %d by a message that was a probe", len(blocks), probes)
		}
	})
}
