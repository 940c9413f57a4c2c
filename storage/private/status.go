package private

import (
	"errors"
	"fmt"
	"time"

	"postrider/storage/private/child"
)

// Status is how a private Redis is, for a readiness check.
type Status struct {
	// Up tells whether it serves.
	Up bool
	// Why is why it does not.
	Why string
	// Warnings are what the operator should mend though it serves.
	Warnings []string
}

// Status tells how the redis-server is, and if it is not up, why: in its own last words if it had any.
func (s *Server) Status() Status {
	p, serving := s.present()
	if p.Ended() {
		why := s.cause(p)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			why = "it is closed"
		} else if pause := time.Until(s.retry); pause > 0 {
			why += fmt.Sprintf("; it is started again in %v", pause.Round(100*time.Millisecond))
		}
		return Status{Why: why}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !serving {
		why := fmt.Sprintf("redis-server loads its data, since %v", p.Lived().Round(100*time.Millisecond))
		if s.why != "" {
			why += "; the one before: " + s.why
		}
		return Status{Why: why}
	}
	return Status{Up: true, Warnings: s.room.warnings(s.folder.dir)}
}

// cause says why a redis-server has ended.
func (s *Server) cause(p *child.Process) string {
	err := p.Err()
	text := err.Error()
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := new(child.EndError); errors.As(err, &end) && end.Killed() {
		text += killer(oomKills() - s.kills)
	}
	_ = s.measure() // without it what was known last must do
	for _, warning := range s.room.warnings(s.folder.dir) {
		text += "; " + warning
	}
	return text
}

// killer says who killed a process, as far as that can be known: the kernel counts all its victims, ours or not.
func killer(kernel int64) string {
	if kernel > 0 {
		return ": most likely by the kernel, since the machine or the container ran out of memory: give it more, or Redis less"
	}
	return ", by somebody"
}
