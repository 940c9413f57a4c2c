package redisstream_test

import (
	"bytes"
	"testing"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// TestPeekFollowsTheBytesSeen: one large message, long ago, does not make every page small, and pages of large ones stay so.
func TestPeekFollowsTheBytesSeen(t *testing.T) {
	t.Parallel()
	x := attach(t, open(t, redistest.Shared(t).URL(), redisstream.Options{}), "topic")
	large := func(n, size int) {
		for range n {
			_, err := x.store.Publish(t.Context(), x.topic, []subscriptions.Message{{Data: bytes.Repeat([]byte("x"), size)}})
			x.ok(err)
		}
	}
	large(1, 5_000_000)
	x.ack(x.lease(1)...)
	x.publish(400)
	large(10, 300_000)
	var pages []int
	for r := (subscriptions.PeekRequest{Ref: x.ref, Rules: x.rules, Max: 1_000}); ; {
		page, err := x.store.Peek(t.Context(), r)
		x.ok(err)
		pages = append(pages, len(page.Messages))
		if r.After = page.Next; !page.More {
			break
		}
	}
	if len(pages) != 5 || pages[0] != 200 || pages[1] != 200 || pages[2] != 4 || pages[3] != 4 || pages[4] != 2 {
		t.Errorf("pages have %v messages, want 200, 200, and then as many large ones as pass a million bytes", pages)
	}
}
