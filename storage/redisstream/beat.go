package redisstream

import (
	"context"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"postrider/subscriptions"
)

var beatScript = newScript("beat", "clock", "change_stream")

// position is the form of a position in the stream of changes. Another store's position reads as none.
var position = regexp.MustCompile(`^\d{1,19}-\d{1,19}$`)

// Beat implements subscriptions.Feed.
func (s *Store) Beat(ctx context.Context, server string, ttl time.Duration, at string) (subscriptions.Beat, error) {
	if !position.MatchString(at) {
		at = ""
	}
	reply, err := s.run(ctx, beatScript, []string{s.keys.servers(), s.keys.changes()}, s.now(), server, wholeMillis(ttl), at, rand.Uint32())
	if err != nil {
		return subscriptions.Beat{}, err
	}
	f := fields{name: "beat", rest: reply}
	beat := subscriptions.Beat{Lost: f.int() == 1, Position: f.text()}
	for range f.int() {
		beat.Live = append(beat.Live, f.text())
	}
	slices.Sort(beat.Live)
	for len(f.rest) > 0 {
		if c := parseChange(f.text()); c != (subscriptions.Change{}) {
			beat.Changes = append(beat.Changes, c)
		}
	}
	return beat, f.err
}

// parseChange reads a record's full name; the entry that only holds the stream's place has none.
func parseChange(text string) subscriptions.Change {
	switch {
	case strings.Contains(text, "/topics/"):
		return subscriptions.Change{Topic: parseTopic(text)}
	case strings.Contains(text, "/snapshots/"):
		return subscriptions.Change{Snapshot: parseSnapshot(text)}
	case strings.Contains(text, "/operations/"):
		return subscriptions.Change{Operation: parseOperation(text)}
	case strings.Contains(text, "/subscriptions/"):
		return subscriptions.Change{Subscription: parseSubscription(text)}
	}
	return subscriptions.Change{}
}

// Leave implements subscriptions.Feed.
func (s *Store) Leave(ctx context.Context, server string) error {
	return failed(ctx, "leave", s.client.ZRem(ctx, s.keys.servers(), server).Err())
}
