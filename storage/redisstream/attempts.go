package redisstream

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"postrider/subscriptions"
)

var attemptsScript = newScript("attempts", onSubscription...)

// Attempts implements subscriptions.DeadLetters.
func (s *Store) Attempts(ctx context.Context, ref subscriptions.Ref, receipts []subscriptions.Receipt) ([][]subscriptions.Attempt, error) {
	all := make([][]subscriptions.Attempt, 0, len(receipts))
	err := inChunks(receipts, func(chunk []subscriptions.Receipt) error {
		args := make([]any, 0, 2*len(chunk))
		for _, r := range chunk {
			args = append(args, member(r.ID, r.Key), r.Epoch)
		}
		f, err := s.onState(ctx, attemptsScript, ref, args...)
		if err != nil {
			return err
		}
		for range chunk {
			all = append(all, f.attempts())
		}
		return f.err
	})
	return all, err
}

// encodeFailure writes why an attempt failed as failures.lua takes it.
func encodeFailure(f subscriptions.Failure) string {
	reason := cmp.Or(subscriptions.Reason(f.Reason), subscriptions.ReasonRefused)
	return fmt.Sprintf("%d:%d\t%s\t%s", f.Status, f.Took.Round(time.Millisecond).Milliseconds(), reason, subscriptions.Answer(f.Answer))
}

// attempts reads the lines that failures.lua keeps of a message.
func (f *fields) attempts() (all []subscriptions.Attempt) {
	for line := range strings.Lines(f.text()) {
		a, ok := decodeAttempt(strings.TrimSuffix(line, "\n"))
		if !ok {
			f.fail(fmt.Sprintf("holds %q where a failed attempt was expected", line))
			return nil
		}
		all = append(all, a)
	}
	return all
}

func decodeAttempt(line string) (a subscriptions.Attempt, ok bool) {
	at, rest, ok := strings.Cut(line, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return a, false
	}
	a.Time = time.UnixMilli(ms).UTC()
	if !strings.HasPrefix(rest, "\t") { // of an older Postrider
		a.Reason = rest
		return a, true
	}
	parts := strings.Split(rest[1:], "\t")
	if len(parts) != 3 {
		return a, false
	}
	var took int64
	if _, err := fmt.Sscanf(parts[0], "%d:%d:%d", &a.Number, &a.Status, &took); err != nil {
		return a, false
	}
	a.Took, a.Reason, a.Answer = time.Duration(took)*time.Millisecond, parts[1], parts[2]
	return a, true
}
