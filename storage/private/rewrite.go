package private

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// The append-only file is written anew when it has doubled and is worth it, as Redis would do by itself; and where room is
// short, when a good part of it is of no use any more.
const (
	leastGrown   = 64 << 20
	uselessShare = 4 // the file's useless part is at least the fourth of the useful one
)

// The pauses between questions to Redis, and before a rewriting that has failed is tried again.
const (
	askEvery   = time.Second
	afterError = 10 * time.Second
)

// rewriter has the append-only file written anew.
type rewriter struct {
	asked, began time.Time
}

// look asks Redis for its file from time to time, or when the room on the disk has changed, and has it written anew if it
// should be.
func (r *rewriter) look(ctx context.Context, s *Server) {
	p, serving := s.present()
	s.mu.Lock()
	changed := max(s.room.free-s.room.freeThen, s.room.freeThen-s.room.free) > s.room.reserve/16
	s.mu.Unlock()
	if !serving || !changed && time.Since(r.asked) < askEvery {
		return
	}
	r.asked = time.Now()
	info, err := p.Ask(ctx, "INFO memory persistence")
	if err != nil {
		return // it has other troubles, which are told elsewhere
	}
	f := fileOf(info)
	s.mu.Lock()
	s.room.data, s.room.freeThen = f.data, s.room.free
	due := f.due(s.room)
	s.mu.Unlock()
	if !due || f.failed && time.Since(r.began) < afterError {
		return
	}
	r.began = time.Now()
	if _, err := p.Ask(ctx, "BGREWRITEAOF"); err != nil {
		s.log.warn("the append-only file could not be written anew", "error", err)
	}
}

// file is what Redis says of its append-only file, and of what that would hold if it were written anew.
type file struct {
	size, base, data  int64
	rewriting, failed bool
}

func fileOf(info string) file {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(fields[name], 10, 64)
		return n
	}
	return file{
		size: number("aof_current_size"), base: number("aof_base_size"), data: number("used_memory_dataset"),
		rewriting: fields["aof_rewrite_in_progress"] == "1", failed: fields["aof_last_bgrewrite_status"] == "err",
	}
}

// due tells whether the file should be written anew, and can: the old one goes when the new one is whole.
func (f file) due(r room) bool {
	grown := f.size > leastGrown && f.size > 2*f.base
	useless := f.size - f.data
	frees := r.free < 2*r.need() && useless > max(f.data/uselessShare, r.reserve/uselessShare)
	return !f.rewriting && (grown || frees) && f.data+f.data/8 < r.free
}
