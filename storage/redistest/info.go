package redistest

import (
	"context"
	"strconv"
	"strings"
	"testing"
)

// Info is one section of Redis's INFO, such as "memory" or "persistence", by field.
func (s *Server) Info(t testing.TB, section string) map[string]string {
	t.Helper()
	s.infos.Add(1)
	text, err := s.admin.Info(context.Background(), section).Result()
	if err != nil {
		t.Fatalf("redistest: INFO %s: %v", section, err)
	}
	return parseInfo(text)
}

func parseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// UsedMemory is how many bytes Redis holds.
func (s *Server) UsedMemory(t testing.TB) int64 {
	t.Helper()
	return number(t, s.Info(t, "memory")["used_memory"])
}

// Calls counts commands by their name in lower case ("evalsha", "config|get").
type Calls map[string]int64

// CommandCalls is what the server has run since it started, less this package's own questions. Redis counts what a script
// calls under the name of the called command, beside the script's evalsha. Take one before and one after, on a server that
// no other test uses: Shared(t) counts for all of them.
func (s *Server) CommandCalls(t testing.TB) Calls {
	t.Helper()
	ours := s.infos.Load() // INFO counts itself when it is done: this one is not in its own answer
	calls := make(Calls)
	for name, value := range s.Info(t, "commandstats") {
		if command, ok := strings.CutPrefix(name, "cmdstat_"); ok {
			count, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			calls[command] = number(t, count)
		}
	}
	if calls["info"] -= ours; calls["info"] <= 0 {
		delete(calls, "info")
	}
	return calls
}

// Since is what came on top of an earlier count.
func (c Calls) Since(before Calls) Calls {
	more := make(Calls)
	for command, count := range c {
		if count -= before[command]; count > 0 {
			more[command] = count
		}
	}
	return more
}

// Total is the number of all calls.
func (c Calls) Total() int64 {
	var total int64
	for _, count := range c {
		total += count
	}
	return total
}

func number(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("redistest: Redis gave no number: %v", err)
	}
	return n
}
