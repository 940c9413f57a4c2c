package private

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// A Redis that is to write before it answers ends when its disk is full, and could then not even take acknowledgements, which
// are what makes room. They are written too, and leave the disk only with what they acknowledged, when the append-only file is
// written anew beside the old one. So as much is kept free as that takes. Below it Redis is told that its memory is full:
// publishes are refused, and all that drains goes on (the store's scripts say which is which). Redis would write anew by the
// file's size alone, and fill the disk with it; so we have it done, in rewrite.go.

// What is kept free: a share of the disk within a bound for what is written meanwhile, and half as much again as the data.
const (
	reserveShare = 10
	reserveBound = 256 << 20
)

// The pauses between looks at the disk: as long as it takes, at fastest, until publishes must be refused.
const (
	shortestLook = 10 * time.Millisecond
	longestLook  = time.Second
	fastestFill  = 200 << 20 // bytes a second
)

// room is what is left on the disk, and what must be.
type room struct {
	free, reserve int64
	data          int64 // what a file written anew would hold, when Redis was asked last
	freeThen      int64
	tight         bool // too little was free, and not much more is now
}

// update takes a new measurement. An eighth more than needed must be free before publishes are let in again, so that they are
// not refused and let in by turns.
func (r *room) update(free, size int64) {
	r.free, r.reserve = free, min(size/reserveShare, reserveBound)
	need := r.need()
	r.tight = free < need || r.tight && free < need+need/8
}

// need is how much must be free. What was filled since Redis was asked is taken for data.
func (r *room) need() int64 {
	data := r.data + max(0, r.freeThen-r.free)
	return r.reserve + data + data/2
}

// nextLook is when there could be less than is needed, at the earliest: that rises as the room falls.
func (r *room) nextLook() time.Duration {
	above := time.Duration(r.free-r.need()) * time.Second / (5 * fastestFill / 2)
	return min(max(above, shortestLook), longestLook)
}

func (r *room) warnings(dir string) []string {
	if !r.tight {
		return nil
	}
	return []string{fmt.Sprintf("the disk of %s has %s left, and needs %s to write the append-only file anew: publishes are refused until it has",
		dir, bytesText(r.free), bytesText(r.need()))}
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
	var r rewriter
	for {
		pause := s.look()
		s.applyLimit(ctx)
		r.look(ctx, s)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// look measures the disk, warns when it is too full, and says when to look again.
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
