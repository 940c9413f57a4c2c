package redisstream

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"postrider/subscriptions"
)

var lookScript = newScript("look", with(onTopic, "no_letters", "messages", "old", "place_before", "span")...)

// How many messages ahead of the cursor a lease looks at that is for few, and how many more when none of those matches. The
// memory store does the same.
const (
	pageFirst = 100
	pageRest  = 1000
)

// place is where a lease or a sweep of a subscription with a filter is going to read its topic's log.
type place struct {
	id, hungry string // after these, ahead of the cursor and behind it; hungry is empty when there is nothing to be read
	n, last    int64  // of the cursor and of the last message
	ms, sum    int64  // of the last message
	largest    int64
	// near is a place ahead up to which a page can be read at once, however large the largest message is; its id is empty when
	// there is none, or no need for one.
	near logPlace
}

// logPlace is a place in the log, between two messages: an id that none has, the n of the one before it, and the sum of sizes up to
// there.
type logPlace struct {
	id     string
	n, sum int64
}

func (s *Store) place(ctx context.Context, ref subscriptions.Ref, r subscriptions.Rules) (place, error) {
	p, due, err := s.placeNow(ctx, ref, r)
	if err == nil && due {
		if _, err = s.AppendDue(ctx, ref.Topic); err == nil {
			p, _, err = s.placeNow(ctx, ref, r)
		}
	}
	return p, err
}

// placeNow is place, whether or not something is due and not in the log yet, which it tells.
func (s *Store) placeNow(ctx context.Context, ref subscriptions.Ref, r subscriptions.Rules) (p place, due bool, err error) {
	reply, err := s.run(ctx, lookScript, s.keys.subscription(ref.Topic, ref.Subscription), s.now(), wholeMillis(r.Retention),
		scriptMax+pageRest, pageBytes)
	if err != nil {
		return place{}, false, err
	}
	f := &fields{name: lookScript.name, rest: reply}
	p = place{id: f.text(), n: f.int(), ms: f.int(), last: f.int(), sum: f.int(), largest: f.int(), hungry: f.text()}
	due = f.int() == 1
	p.near = logPlace{id: f.text(), n: f.int(), sum: f.int()}
	return p, due, f.err
}

// behind judges what a refill will read, as filter.lua's load_verdicts takes it.
func (s *Store) behind(ctx context.Context, topic string, m *subscriptions.Match, p place) ([]any, error) {
	args := []any{0, -1, 0}
	if p.hungry == "" {
		return args, nil
	}
	entries, _, err := s.readEntries(ctx, topic, p.largest, p.hungry, p.id, scriptMax)
	if err != nil || len(entries) == 0 {
		return args, err
	}
	j := judge{match: m}
	for i, e := range entries {
		n, err := e.n()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			args[0] = n
		}
		if args[1] = n; j.matches(e) {
			args = append(args, n)
		}
	}
	args[2] = len(args) - 3
	return args, nil
}

// ahead judges what lies ahead of the cursor, as filter.lua's load_page takes it.
func (s *Store) ahead(ctx context.Context, topic string, m *subscriptions.Match, p place, limit int) ([]any, error) {
	f := found{judge: judge{match: m}, id: p.id, n: p.n}
	for _, most := range []int{min(max(limit, pageFirst), scriptMax), pageRest} {
		if len(f.matches) > 0 {
			break
		}
		if err := s.look(ctx, topic, p, &f, most); err != nil {
			return nil, err
		}
	}
	return append([]any{p.n, f.id, f.n, f.sum, f.gap}, f.matches...), nil
}

// lookStep is how many messages a script reads at most where some are large: it asks for few at a time then.
const lookStep = 200

// look judges at most so many more messages, until all that were judged have about as many bytes as a page.
func (s *Store) look(ctx context.Context, topic string, p place, f *found, most int) error {
	end := logPlace{endOf(strconv.FormatInt(p.ms, 10), p.last), p.last, p.sum}
	for most > 0 && f.n < p.last && f.bytes < pageBytes {
		to, largest, step := end, p.largest, most
		switch {
		case f.n < p.near.n: // what lies before it is a page, however large one of it could be
			to, largest = p.near, 1
		case f.n-p.n >= lookStep && (p.near.id != "" || largest > largestPlain):
			return nil // the next lease finds how far it can reach from here
		case largest > largestPlain:
			step = min(step, lookStep)
		}
		entries, whole, err := s.readEntries(ctx, topic, largest, f.id, to.id, int64(step))
		if err != nil {
			return err
		}
		for _, e := range entries {
			f.bytes += len(e.d)
		}
		full, err := f.add(entries)
		if err != nil || full {
			return err
		}
		if whole { // what n says lies ahead is not there
			f.id, f.n, f.sum = to.id, to.n, to.sum
		}
		most -= len(entries)
	}
	return nil
}

// found is what was found ahead of a cursor.
type found struct {
	judge
	id     string // of the last message that was judged
	n, sum int64  // at it
	gap    int    // how many up to it, behind the last that matches, do not match
	bytes  int    // of all that were judged
	// matches are the ids of those that do, and after each how many do not match before it.
	matches []any
}

// add judges more entries, until a script could lease no more of those that match.
func (f *found) add(entries []entry) (full bool, err error) {
	for _, e := range entries {
		if full = len(f.matches) == 2*scriptMax; full {
			break
		}
		if f.n, err = e.n(); err != nil {
			return full, err
		}
		if f.id, f.sum = e.id, e.sum(); f.judge.matches(e) {
			f.matches, f.gap = append(f.matches, e.id, f.gap), 0
		} else {
			f.gap++
		}
	}
	return len(f.matches) == 2*scriptMax, nil
}

// judge tells which messages match.
type judge struct {
	match      *subscriptions.Match
	attributes map[string]string // of the last message
}

// matches judges a message by its entry. One that is damaged is taken to match, so that whoever leases it finds out.
func (j *judge) matches(e entry) bool {
	if j.attributes == nil {
		j.attributes = map[string]string{}
	}
	return !decodeAttributes(e.d, j.attributes) || j.match.Matches(j.attributes)
}

// n is the running count of messages at an entry.
func (e entry) n() (int64, error) {
	_, seq, _ := strings.Cut(e.id, "-")
	const salt = 4 // digits
	n, err := strconv.ParseInt(seq[:max(0, len(seq)-salt)], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("redisstream: the entry %q has an id without a count", e.id)
	}
	return n, nil
}
