package redisstream

import (
	"context"
	"math/rand/v2"
	"time"

	"postrider/subscriptions"
)

var noteScript = newScript("note_change", "change_stream")

// noteTimeout bounds the telling, which outlives its request's context.
const noteTimeout = 5 * time.Second

// noteChange tells all servers of a written record. The record is written already, so the call does not fail for it: a
// server that is not told finds the record when it next reads all.
func (s *Store) noteChange(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	if _, err := s.run(ctx, noteScript, []string{s.keys.changes()}, name, s.keys.wake(subscriptions.CatalogTopic), rand.Uint32()); err != nil {
		s.log.Warn("other servers were not told of a changed record", "record", name, "error", err)
	}
}
