package memory

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"postrider/subscriptions"
)

// historyMax bounds the changes that are remembered; a server that missed more reads all records again.
const historyMax = 10_000

// feed remembers the last changes of records and the living servers.
type feed struct {
	// life tells positions of this store from those of an earlier one.
	life    string
	changes []subscriptions.Change
	// first is the number of changes forgotten before changes[0].
	first   int
	servers map[string]int64 // until when each lives
}

func (f *feed) add(c subscriptions.Change) {
	f.changes = append(f.changes, c)
	if over := len(f.changes) - historyMax; over > 0 {
		f.changes = f.changes[over:]
		f.first += over
	}
}

func (f *feed) position() string {
	return f.life + "." + strconv.Itoa(f.first+len(f.changes))
}

// since returns the changes after a position, or false when some may be missing.
func (f *feed) since(position string) ([]subscriptions.Change, bool) {
	life, count, _ := strings.Cut(position, ".")
	n, err := strconv.Atoi(count)
	if err != nil || life != f.life || n < f.first || n > f.first+len(f.changes) {
		return nil, false
	}
	return slices.Clone(f.changes[n-f.first:]), true
}

// Beat implements subscriptions.Feed.
func (s *Store) Beat(_ context.Context, server string, ttl time.Duration, position string) (subscriptions.Beat, error) {
	s.begin()
	defer s.end()
	s.feed.servers[server] = s.now + millis(ttl)
	maps.DeleteFunc(s.feed.servers, func(name string, end int64) bool { return name != server && end <= s.now })
	changes, ok := s.feed.since(position)
	return subscriptions.Beat{
		Live:     slices.Sorted(maps.Keys(s.feed.servers)),
		Changes:  changes,
		Position: s.feed.position(),
		Lost:     !ok,
	}, nil
}

// Leave implements subscriptions.Feed.
func (s *Store) Leave(_ context.Context, server string) error {
	s.begin()
	defer s.end()
	delete(s.feed.servers, server)
	return nil
}

// Projects implements subscriptions.Feed.
func (s *Store) Projects(context.Context) ([]string, error) {
	s.begin()
	defer s.end()
	// A project's table stays when its last record goes.
	projects := map[string]bool{}
	for p := range s.topicRecords.records {
		projects[p] = true
	}
	for p := range s.subscriptionRecords.records {
		projects[p] = true
	}
	for p := range s.snapshotRecords.records {
		projects[p] = true
	}
	return slices.Sorted(maps.Keys(projects)), nil
}
