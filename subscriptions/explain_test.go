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
	waiting := Stats{Outstanding: 3}
	for _, c := range []struct {
		name string
		sub  Subscription
		e    Explanation
		want string
	}{
		{"pulled", Subscription{}, Explanation{Owner: "a", Stats: waiting}, "is pulled"},
		{"empty", push, Explanation{Owner: "a", Breaker: Breaker{Open: true}}, "nothing to push"},
		{"no server", push, Explanation{Stats: waiting}, "no server"},
		{"open", push, Explanation{Owner: "a", Stats: waiting, Breaker: Breaker{Open: true, Probe: 12 * time.Second}}, "tried in 12s"},
		{"probing", push, Explanation{Owner: "a", Stats: waiting, Breaker: Breaker{Open: true}}, "tried now"},
		{"dead, and no topic", push, Explanation{Owner: "a", Stats: Stats{Outstanding: 3, Dead: 3}, DeadLetterTopic: TopicName{"p", "dead"}}, "topics/dead does not exist"},
		{"dead", push, Explanation{Owner: "a", Stats: Stats{Outstanding: 3, Dead: 3}}, "dead-letter topic"},
		{"bound", push, Explanation{Owner: "a", Stats: Stats{Outstanding: 10, Undelivered: 5}}, "as many as may be"},
		{"blocked", push, Explanation{Owner: "a", Stats: waiting, Blocked: 1}, "ordering key"},
		{"waiting", push, Explanation{Owner: "a", Stats: waiting}, "waits for its retry"},
		{"flowing", push, Explanation{Owner: "a", Stats: Stats{Outstanding: 3, Undelivered: 5}}, "the store holds nothing up"},
	} {
		if got := c.e.summary(c.sub, 10); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
