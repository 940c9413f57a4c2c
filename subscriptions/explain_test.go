package subscriptions

import (
	"strings"
	"testing"
	"time"
)

// What comes first of several things in the way is what is told.
func TestSummary(t *testing.T) {
	t.Parallel()
	push := Subscription{Push: &PushConfig{Endpoint: "https://example.com/"}}
	waiting, flowing := Stats{Outstanding: 3}, Stats{Outstanding: 3, Undelivered: 5}
	at := time.Unix(1_700_000_000, 0)
	answered := func(r PushReport) Explanation {
		r.At, r.Age = at, time.Second
		return Explanation{Owner: "a", Stats: flowing, Push: r, Answered: true}
	}
	for _, c := range []struct {
		name string
		sub  Subscription
		e    Explanation
		want string
	}{
		{"pulled", Subscription{}, Explanation{Stats: flowing, Unused: 10 * time.Minute}, "is pulled, and was last used 10m0s ago: messages that wait: 5, outstanding: 3"},
		{"pulled now", Subscription{}, Explanation{Stats: waiting}, "last used just now: messages that wait: 0, outstanding: 3"},
		{"probing soon", push, Explanation{Owner: "a", Stats: waiting, Breaker: Breaker{Open: true, Probe: time.Millisecond}}, "tried now"},
		{"empty", push, Explanation{Owner: "a", Breaker: Breaker{Open: true}}, "nothing to push"},
		{"no server", push, Explanation{Stats: waiting}, "no server"},
		{"open", push, Explanation{Owner: "a", Stats: waiting, Breaker: Breaker{Open: true, Probe: 12 * time.Second}}, "tried in 12s"},
		{"probing", push, Explanation{Owner: "a", Stats: waiting, Breaker: Breaker{Open: true}}, "tried now"},
		{"dead, and no topic", push, Explanation{Owner: "a", Stats: Stats{Outstanding: 3, Dead: 3}, DeadLetterTopic: TopicName{"p", "dead"}}, "topics/dead does not exist"},
		{"dead", push, Explanation{Owner: "a", Stats: Stats{Outstanding: 3, Dead: 3}}, "dead-letter topic"},
		{"bound", push, Explanation{Owner: "a", Stats: Stats{Outstanding: 10, Undelivered: 5}}, "as many as may be"},
		{"blocked", push, Explanation{Owner: "a", Stats: waiting, Blocked: 1}, "ordering key"},
		{"waiting", push, Explanation{Owner: "a", Stats: waiting}, "waits for its retry"},
		{"no answer", push, Explanation{Owner: "a", Stats: flowing, Push: PushReport{RetryAfter: at.Add(time.Hour), At: at}}, "does not say"},
		{"flowing", push, answered(PushReport{InFlight: 3, Limit: 4}), "nothing is held up: 3 messages"},
		{"asked to wait", push, answered(PushReport{Limit: 4, RetryAfter: at.Add(13 * time.Second), Backoff: at.Add(time.Second)}), "waits 12s more: the endpoint asked for it with Retry-After"},
		{"backing off", push, answered(PushReport{Limit: 4, RetryAfter: at.Add(time.Second), Backoff: at.Add(3 * time.Second)}), "waits 2s more, since most pushes were refused"},
		{"that has passed", push, answered(PushReport{Limit: 4, RetryAfter: at.Add(time.Second)}), "nothing is held up"},
		{"full server", push, answered(PushReport{Limit: 4, Full: true}), "the server that pushes has as many"},
		{"on trial", push, answered(PushReport{Limit: 4, InFlight: 4, Window: 10, HalfOpen: true}), "until it has shown"},
	} {
		if got := c.e.summary(c.sub, 10); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
