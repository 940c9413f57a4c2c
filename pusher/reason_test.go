package pusher

import (
	"errors"
	"net"
	"net/http"
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
		"a status":            {func(hit) (int, error) { return http.StatusServiceUnavailable, nil }, "the endpoint answered 503 Service Unavailable after 0s"},
		"a status of its own": {func(hit) (int, error) { return 599, nil }, "the endpoint answered 599 after 0s"},
		"nobody there": {
			func(hit) (int, error) { return 0, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED} }, "refused: dial: connection refused after 0s",
		},
		"nonsense": {func(hit) (int, error) { return 0, errors.New("two\nlines") }, "protocol: two lines after 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bubble) {
				b.web.answers = c.answer
				sub := b.subscribe("sub", func(s *subscriptions.Subscription) { s.Ordered = true })
				b.must(b.service.Publish(b.Context(), testTopic, []subscriptions.Message{{Data: []byte("a"), OrderingKey: "k"}}))
				time.Sleep(50 * time.Millisecond)
				blocks, _, err := b.service.BlockedKeys(b.Context(), sub, subscriptions.Page{})
				b.must(nil, err)
				if len(blocks) != 1 || blocks[0].Reason != c.want {
					b.Errorf("blocked: %+v, want %q", blocks, c.want)
				}
			})
		})
	}
}
