package subscriptions_test

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"postrider/subscriptions"
)

// Streams of several clients come and go, ack, nack, extend or forget what they hold, for an hour. No window ever holds more than
// was asked for, and in the end every message was acked and nothing is held.
func TestStreamsAtRandom(t *testing.T) {
	for range 20 {
		seed := rand.Uint64()
		inWorld(t, func(w *world) { streamsAtRandom(w, rand.New(rand.NewPCG(seed, 0)), seed) })
	}
}

// holder is a client with a stream, and what it thinks that it holds.
type holder struct {
	stream *subscriptions.Stream
	o      subscriptions.StreamOptions
	held   map[subscriptions.MessageID]holding
}

type holding struct {
	subscriptions.Received
	until time.Time // of the lease: stores count whole milliseconds and cut off the rest
}

func streamsAtRandom(w *world, r *rand.Rand, seed uint64) {
	const messages = 300
	w.topic("top")
	w.subscribe("top", "sub")
	var holders []*holder
	for i := range 3 {
		h := &holder{held: map[subscriptions.MessageID]holding{}}
		h.o = subscriptions.StreamOptions{MaxMessages: int64(1 + r.IntN(20)), AckDeadline: 10 * time.Second, Client: string(rune('a' + i))}
		h.stream = w.stream("sub", h.o)
		holders = append(holders, h)
	}
	acked := map[string]bool{}
	for step, published := 0, 0; len(acked) < messages; step++ {
		if step > 20_000 {
			w.Fatalf("seed %d: %d of %d acked", seed, len(acked), messages)
		}
		if published < messages && r.IntN(3) == 0 {
			w.publish("top", string(rune('0'+published)))
			published++
		}
		h := holders[r.IntN(len(holders))]
		h.act(w, r, acked)
		for _, other := range holders { // what one acks late, another may hold by now
			maps.DeleteFunc(other.held, func(_ subscriptions.MessageID, m holding) bool { return acked[string(m.Message.Data)] })
		}
		if n := h.holds(); n > int(h.o.MaxMessages) {
			w.Fatalf("seed %d: %d messages in a window of %d", seed, n, h.o.MaxMessages)
		}
	}
	for _, h := range holders {
		h.stream.Close()
	}
	time.Sleep(time.Hour)
	messagesHeld, clients := w.Held()
	w.want([]int{messagesHeld, clients}, []int{0, 0})
	w.want(w.stats("sub").Outstanding, 0)
}

// holds is how much the client holds whose leases go on.
func (h *holder) holds() (n int) {
	for id, m := range h.held {
		if time.Now().Before(m.until) {
			n++
		} else {
			delete(h.held, id)
		}
	}
	return n
}

// act does one thing that clients do.
func (h *holder) act(w *world, r *rand.Rand, acked map[string]bool) {
	switch r.IntN(6) {
	case 0, 1:
		for _, m := range w.next(h.stream, time.Duration(r.IntN(3000)+1)*time.Millisecond) {
			h.held[m.Message.ID] = holding{m, time.Now().Add(h.o.AckDeadline - time.Millisecond)}
		}
		return
	case 2:
		if r.IntN(10) == 0 { // the connection breaks
			h.stream.Close()
			time.Sleep(time.Duration(r.IntN(8000)) * time.Millisecond)
			h.stream = w.stream("sub", h.o)
		}
		return
	}
	for id, m := range h.held { // any
		ids := []string{m.AckID}
		switch r.IntN(8) {
		case 0:
			w.must(w.ModifyAckDeadline(w.ctx, subName("sub"), ids, 0))
			delete(h.held, id)
		case 1:
			if time.Now().Before(m.until) {
				w.must(w.ModifyAckDeadline(w.ctx, subName("sub"), ids, 20*time.Second))
				m.until = time.Now().Add(20*time.Second - time.Millisecond)
				h.held[id] = m
			}
		default:
			w.must(w.Acknowledge(w.ctx, subName("sub"), ids))
			acked[string(m.Message.Data)] = true
		}
		return
	}
}
