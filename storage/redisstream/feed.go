package redisstream

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"postrider/subscriptions"
)

var (
	beatScript = newScript("beat", "clock")
	noteScript = newScript("note_change")
)

// position is the form of a position in the stream of changes. Another store's position reads as none.
var position = regexp.MustCompile(`^\d{1,19}-\d{1,19}$`)

// Beat implements subscriptions.Feed.
func (s *Store) Beat(ctx context.Context, server string, ttl time.Duration, at string) (subscriptions.Beat, error) {
	if !position.MatchString(at) {
		at = ""
	}
	reply, err := s.run(ctx, beatScript, []string{s.keys.servers(), s.keys.changes()}, s.now(), server, wholeMillis(ttl), at)
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
	case strings.Contains(text, "/subscriptions/"):
		return subscriptions.Change{Subscription: parseSubscription(text)}
	}
	return subscriptions.Change{}
}

// Leave implements subscriptions.Feed.
func (s *Store) Leave(ctx context.Context, server string) error {
	return failed(ctx, "leave", s.client.ZRem(ctx, s.keys.servers(), server).Err())
}

// Projects implements subscriptions.Feed.
func (s *Store) Projects(ctx context.Context) ([]string, error) {
	projects, err := s.client.SMembers(ctx, s.keys.projects()).Result()
	slices.Sort(projects)
	return projects, failed(ctx, "projects", err)
}

// noteProject puts a project on the list. It comes before each insert, which is rare: to remember what was noted would be
// wrong once Redis has lost it.
func (s *Store) noteProject(ctx context.Context, project string) error {
	return failed(ctx, "note project", s.client.SAdd(ctx, s.keys.projects(), project).Err())
}

// noteChange tells all servers of a written record. The record is written already, so the call does not fail for it: a
// server that is not told finds the record when it next reads all.
func (s *Store) noteChange(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	if _, err := s.run(ctx, noteScript, []string{s.keys.changes()}, name, s.keys.wake(subscriptions.CatalogTopic)); err != nil {
		s.log.Warn("other servers were not told of a changed record", "record", name, "error", err)
	}
}

// noteTimeout bounds the telling, which outlives its request's context.
const noteTimeout = 5 * time.Second
