package pusher

import (
	"strconv"
	"testing"
	"time"

	"postrider/subscriptions"
)

// TestDelayedIsPushedWhenDue: an owner that has nothing to do is woken by the message's time.
func TestDelayedIsPushedWhenDue(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.subscribe("sub")
		time.Sleep(time.Minute) // the worker waits
		for _, after := range []time.Duration{90500 * time.Millisecond, 30 * time.Minute} {
			seen := len(b.web.seen())
			m := subscriptions.Message{Data: []byte("m"), Attributes: map[string]string{
				subscriptions.AttributeDeliverAt: strconv.FormatFloat(after.Seconds(), 'f', -1, 64),
			}}
			b.must(b.service.Publish(t.Context(), testTopic, []subscriptions.Message{m}))
			time.Sleep(after - time.Millisecond)
			if got := b.web.seen(); len(got) != seen {
				t.Fatalf("pushed %v before it was due", got[seen:])
			}
			time.Sleep(time.Second)
			if got := b.web.seen(); len(got) != seen+1 {
				t.Fatalf("pushed %v when it was due", got[seen:])
			}
		}
	})
}
