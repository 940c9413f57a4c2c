package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// duration is a flag that also takes days, in which retention is counted.
type duration time.Duration

func (d *duration) Type() string { return "duration" }

// String is empty for zero, so that help shows no default where the server has one of its own.
func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return inDays(time.Duration(*d))
}

// inDays is 31d for what Go writes as 744h0m0s, and 10m for its 10m0s.
func inDays(d time.Duration) string {
	const day = 24 * time.Hour
	if d > 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return shortDuration(d)
}

func (d *duration) Set(s string) error {
	const day = 24 * time.Hour
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return errDuration
		}
		*d = duration(time.Duration(n) * day)
		return nil
	}
	parsed, err := time.ParseDuration(s)
	if err != nil {
		return errDuration
	}
	*d = duration(parsed)
	return nil
}

var errDuration = errors.New("expected a duration such as 90s, 10m, 12h or 7d")

// size is a flag that takes a number of bytes, in the units of Redis: each is 1024 of the one before.
type size int64

var sizeUnits = []string{"kb", "mb", "gb", "tb"}

func (s *size) Type() string { return "size" }

// String is empty for zero, as a duration's is.
func (s size) String() string {
	if s == 0 {
		return ""
	}
	unit := 0
	for s /= 1024; s%1024 == 0 && unit < len(sizeUnits)-1; unit++ {
		s /= 1024
	}
	return strconv.FormatInt(int64(s), 10) + sizeUnits[unit]
}

func (s *size) Set(text string) error {
	for i, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(strings.ToLower(text), unit)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		factor := int64(1) << (10 * (i + 1))
		if err != nil || n == 0 || n > uint64(math.MaxInt64/factor) {
			break
		}
		*s = size(int64(n) * factor)
		return nil
	}
	return errors.New("expected a size such as 512mb or 4gb")
}

// choice is a flag that takes one of a few words.
type choice struct {
	value *string
	words []string
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "string" }
func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("expected one of %s", strings.Join(c.words, ", "))
	}
	*c.value = s
	return nil
}

// logLevel is a flag that takes the name of a level.
type logLevel struct{ level *slog.Level }

func (l *logLevel) String() string { return strings.ToLower(l.level.String()) }
func (l *logLevel) Type() string   { return "string" }
func (l *logLevel) Set(s string) error {
	word := choice{new(string), []string{"debug", "info", "warn", "error"}}
	if err := word.Set(s); err != nil {
		return err
	}
	return l.level.UnmarshalText([]byte(s))
}

// expiry is a flag that takes a duration or "never".
type expiry struct {
	never bool
	after duration
}

func (e *expiry) Type() string { return "duration" }

func (e *expiry) String() string {
	if e.never {
		return "never"
	}
	return e.after.String()
}

func (e *expiry) Set(s string) error {
	if e.never = s == "never"; e.never {
		return nil
	}
	if err := e.after.Set(s); err != nil {
		return errors.New(`expected a duration such as 31d, or "never"`)
	}
	return nil
}

// pairs is a flag that takes one KEY=VALUE at a time, so that a value may hold commas.
type pairs map[string]string

func (p *pairs) String() string { return mapText(*p) }
func (p *pairs) Type() string   { return "pair" }

func (p *pairs) Set(s string) error {
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" {
		return errors.New("expected KEY=VALUE")
	}
	p.put(key, value)
	return nil
}

func (p *pairs) put(key, value string) {
	if *p == nil {
		*p = pairs{}
	}
	(*p)[key] = value
}

// dueTime is a flag that takes a time, or a duration from now on. The text is as the API takes it.
type dueTime struct{ text string }

func (m *dueTime) Type() string   { return "time" }
func (m *dueTime) String() string { return m.text }

func (m *dueTime) Set(s string) error {
	var d duration
	if _, err := time.Parse(time.RFC3339, s); err == nil {
		m.text = s
	} else if err := d.Set(s); err == nil && d >= 0 {
		m.text = secondsText(d)
	} else {
		return errors.New("expected a time such as 2030-01-31T12:00:00Z, or a duration from now such as 90s, 10m or 7d")
	}
	return nil
}

// secondsText writes a duration as the API does.
func secondsText(d duration) string {
	return strconv.FormatFloat(time.Duration(d).Seconds(), 'f', -1, 64) + "s"
}
