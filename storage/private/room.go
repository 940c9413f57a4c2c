package private

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Redis that is to write before it answers ends when its disk is full, and could then not even take acknowledgements, which
// are what makes room. So before that, while a reserve is left, it is told that its memory is full: publishes are refused,
// and all that drains goes on (the store's scripts say which is which). What was drained leaves the disk when the append-only
// file is rewritten. Redis would start that by the file's size alone, and fill the disk with it; so we do, when there is room.

// The reserve is a share of the disk, and no more than a bound.
const (
	reserveShare = 10
	reserveBound = 256 << 20
)

// The pauses between looks at the disk: as long as it takes, at fastest, to fill what is left above the reserve.
const (
	shortestLook = 10 * time.Millisecond
	longestLook  = time.Second
	fastestFill  = 200 << 20 // bytes a second
)

// The append-only file is rewritten when it has doubled and is worth it, or when that frees a full disk.
const (
	leastRewrite = 64 << 20
	rewriteEvery = 5 * time.Second
)

// room is what is left on the disk.
type room struct {
	free, reserve int64
	tight         bool // the reserve has been touched, and is not whole again
}

// update takes a new measurement. A quarter more than the reserve must be free before it counts as whole, so that publishes
// are not let in and refused in turns.
func (r *room) update(free, size int64) {
	r.free, r.reserve = free, min(size/reserveShare, reserveBound)
	r.tight = free < r.reserve || r.tight && free < r.reserve+r.reserve/4
}

// nextLook is when the reserve could be reached at the earliest.
func (r *room) nextLook() time.Duration {
	above := time.Duration(r.free-r.reserve) * time.Second / fastestFill
	return min(max(above, shortestLook), longestLook)
}

func (r *room) warnings(dir string) []string {
	if !r.tight {
		return nil
	}
	return []string{fmt.Sprintf("the disk of %s has %s left, less than the reserve of %s: publishes are refused until there is more",
		dir, bytesText(r.free), bytesText(r.reserve))}
}

// bytesText is a number of bytes for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

// fullMemory is a maxmemory that any Redis is beyond.
const fullMemory = 1

// memoryLimit is the maxmemory that Redis should have now.
func (s *Server) memoryLimit() int64 {
	if s.room.tight {
		return fullMemory
	}
	return s.options.MaxMemory
}

// tend looks after the disk until ctx ends.
func (s *Server) tend(ctx context.Context) {
	var asked time.Time
	for {
		pause := s.look()
		s.applyLimit(ctx)
		if time.Since(asked) >= longestLook {
			asked = time.Now()
			s.rewrite(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// look measures the disk, warns when the reserve is touched, and says when to look again.
func (s *Server) look() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.room.tight
	if err := s.measure(); err != nil {
		s.log.warn("the room on the disk is not known", "error", err)
		return longestLook
	}
	if s.room.tight && !before {
		s.log.warn(s.room.warnings(s.folder.dir)[0])
	}
	return s.room.nextLook()
}

// measure brings the room up to date.
func (s *Server) measure() error {
	free, size, err := diskSpace(s.folder.dir)
	if err == nil {
		s.room.update(free, size)
	}
	return err
}

// applyLimit tells Redis when its limit has changed. If that fails the next look tries again.
func (s *Server) applyLimit(ctx context.Context) {
	p, serving := s.present()
	s.mu.Lock()
	limit := s.memoryLimit()
	same := limit == s.limit
	s.mu.Unlock()
	if same || !serving {
		return
	}
	if _, err := p.Ask(ctx, "CONFIG SET maxmemory "+strconv.FormatInt(limit, 10)); err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == p {
		s.limit = limit
	}
}

// rewrite has the append-only file rewritten if it should be.
func (s *Server) rewrite(ctx context.Context) {
	p, serving := s.present()
	if !serving || time.Since(s.rewrote) < rewriteEvery {
		return
	}
	info, err := p.Ask(ctx, "INFO memory persistence")
	if err != nil {
		return // it has other troubles; they are told elsewhere
	}
	s.mu.Lock()
	due := fileOf(info).due(s.room)
	s.mu.Unlock()
	if !due {
		return
	}
	s.rewrote = time.Now()
	if _, err := p.Ask(ctx, "BGREWRITEAOF"); err != nil {
		s.log.warn("the append-only file could not be rewritten", "error", err)
	}
}

// file is what INFO says of the append-only file and of what it would be if it were rewritten.
type file struct {
	size, base, data int64
	rewriting        bool
}

func fileOf(info string) file {
	numbers := map[string]int64{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			numbers[name] = n
		}
	}
	return file{
		size: numbers["aof_current_size"], base: numbers["aof_base_size"], data: numbers["used_memory_dataset"],
		rewriting: numbers["aof_rewrite_in_progress"] == 1,
	}
}

// due tells whether the file should be rewritten, and can: the old one goes when the new one is whole.
func (f file) due(r room) bool {
	grown := f.size > leastRewrite && f.size > 2*f.base
	frees := r.tight && f.size > 2*f.data
	return !f.rewriting && (grown || frees) && f.data+f.data/8 < r.free
}
