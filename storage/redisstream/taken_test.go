package redisstream_test

import (
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/storage/storagetest"
	"postrider/subscriptions"
)

// TestTakenNamesGo: what a topic remembers of redriven letters goes with the next look after the topic, though nothing is
// redriven any more and no server knows of it; what it was not let forget stays.
func TestTakenNamesGo(t *testing.T) {
	t.Parallel()
	clock := storagetest.NewClock()
	s := open(t, redistest.Shared(t).URL(), redisstream.Options{Now: clock.Now, Salt: storagetest.Salt})
	x := attach(t, s, "topic")
	r := subscriptions.RedriveRequest{Ref: x.ref, Rules: x.rules}
	for n := range int64(3) {
		id := subscriptions.NewMessageID(1, n+1, 1)
		r.Letters = append(r.Letters, subscriptions.RedriveLetter{Message: subscriptions.Message{ID: id, Data: []byte("x")}, Topic: "dead", ID: id})
	}
	_, err := s.Redrive(t.Context(), r)
	x.ok(err)
	x.ok(s.ForgetRedriven(t.Context(), x.topic.UID, r.Letters[:2], 30*time.Second))
	for _, after := range []struct {
		wait time.Duration
		left int64
	}{{30*time.Second - 1, 3}, {1, 1}, {subscriptions.MaxRetention - 31*time.Second, 1}, {time.Second, 0}} {
		clock.Advance(after.wait)
		_, err := s.Trim(t.Context(), x.topic.UID)
		x.ok(err)
		if left := s.Client().ZCard(t.Context(), s.Prefix()+"{topic:0}:taken").Val(); left != after.left {
			t.Errorf("%v later there are %d names, want %d", after.wait, left, after.left)
		}
	}
}
