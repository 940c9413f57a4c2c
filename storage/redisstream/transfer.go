package redisstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"postrider/subscriptions"
)

// How all that a store keeps gets to another store (Migrate), to a file (Backup) and back (Restore). What there is follows
// from the catalogs: the projects, their records, the slots that the records name, what is attached there.
//
// Migrate goes in three stages, each of small steps that may be repeated:
//
//  1. Logs are copied while servers go on. Entries never change; those that are trimmed meanwhile are trimmed again at the
//     target.
//  2. The catalogs, and then one topic's slot after the other, are frozen at the source (frozenVersion), the tail of the log
//     and the state are copied, and read back and compared.
//  3. It is looked whether all of it is still frozen; a failover of Redis could have undone that. The source says that it
//     was moved, and only then can servers open the target.
//
// The source stays frozen, so that nothing can be answered there and be lost. Both sides keep the move's id, and the target
// what has arrived, so that a killed move goes on; Abandon undoes what it did to the source, Discard to the target.
//
// Backup freezes nothing. Of each topic it takes the log up to a count n, and after that each subscription: what it has not
// settled by then, of the messages up to n. Since a message that is still needed then was needed all the while, the log has
// it. Topics come before those to which they move dead letters, and the catalogs come last, so that no record is older than
// what the slot has seen of it. So a restored store has every message that was published before the backup began and was
// unsettled when it ended, once and with its attempts.

// TransferOptions are what moves, backups and restores take from outside, all optional.
type TransferOptions struct {
	// Log gets what is worth knowing beside the result; slog.Default() by default.
	Log *slog.Logger
	// Prefix begins the keys on both sides; see Options.
	Prefix string
	// Progress is kept up to date.
	Progress *Progress

	hook redis.Hook // sees every command; only tests set it
}

// Report says what a transfer took along, or would.
type Report struct {
	// Topics counts those with a record; Deleted those without, which subscriptions still have messages of.
	Topics, Deleted, Subscriptions int
	// Messages are the entries of all logs, and Bytes their sizes together.
	Messages, Bytes int64
	// Outstanding are messages that are leased, wait for a retry or are dead.
	Outstanding int64
	// Verified means that all was read back and compared.
	Verified bool
	// Frozen is how long the first topic was frozen when the last one had arrived.
	Frozen time.Duration
}

// Progress is how far a transfer has come. It may be read at any time.
type Progress struct {
	stage                     atomic.Pointer[string]
	total, done, topics, made atomic.Int64
}

// ProgressNow is a moment of a Progress.
type ProgressNow struct {
	// Stage says what is being done, for people.
	Stage string
	// Of so many Messages and Topics so many are done. More may come while servers go on.
	Messages, MessagesDone, Topics, TopicsDone int64
}

// Now returns the present moment.
func (p *Progress) Now() ProgressNow {
	now := ProgressNow{
		Messages: p.total.Load(), MessagesDone: p.done.Load(), Topics: p.topics.Load(), TopicsDone: p.made.Load(),
	}
	if stage := p.stage.Load(); stage != nil {
		now.Stage = *stage
	}
	return now
}

func (p *Progress) begin(stage string, topics int) {
	p.stage.Store(&stage)
	p.topics.Store(int64(topics))
	p.made.Store(0)
}

// transferWorkers is how many topics are worked on at once.
const transferWorkers = 4

// openTransfer connects to one side. Unlike Open it writes nothing: what is there is for the caller to judge.
func openTransfer(ctx context.Context, url string, o *TransferOptions) (*Store, error) {
	silenceClient()
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Progress == nil {
		o.Progress = &Progress{}
	}
	options := Options{Log: o.Log, Prefix: o.Prefix}
	client, err := dial(ctx, url, options)
	if err != nil {
		return nil, err
	}
	if o.hook != nil {
		client.AddHook(o.hook)
	}
	return newStore(client, options), nil
}

// eachTopic works on several topics at once.
func eachTopic(ctx context.Context, list []heldTopic, p *Progress, do func(context.Context, heldTopic) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(transferWorkers)
	for _, t := range list {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := do(ctx, t); err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
			p.made.Add(1)
			return nil
		})
	}
	return g.Wait()
}

// outageBound is how long a transfer waits for a Redis that does not answer.
const outageBound = time.Minute

// patiently repeats a step that may be repeated while Redis does not answer.
func patiently(ctx context.Context, log *slog.Logger, do func() error) error {
	pauses := backoff.NewExponentialBackOff(backoff.WithInitialInterval(100*time.Millisecond),
		backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(outageBound))
	return backoff.RetryNotify(func() error {
		err := do()
		if err != nil && subscriptions.CodeOf(err) != subscriptions.Unavailable {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithContext(pauses, ctx), func(err error, pause time.Duration) {
		log.Warn("Redis does not answer; the step is taken again", "in", pause.Round(time.Millisecond), "error", err)
	})
}

// copyLog copies what a log holds up to the meta's count and after an id. The next page is read while one is written.
func copyLog(ctx context.Context, from *Store, meta topicMeta, after string, put func(logPart) error) error {
	pages := make(chan logPart, 1)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(pages)
		for {
			p, err := from.readLog(ctx, meta.topic, numberOf(meta.pairs, "max"), after, meta.end())
			if err != nil || len(p.entries) == 0 {
				return err
			}
			after = p.entries[len(p.entries)-1].id
			select {
			case pages <- p:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	g.Go(func() error {
		for p := range pages {
			if err := put(p); err != nil {
				return err
			}
		}
		return nil
	})
	return g.Wait()
}

// Survey says what there is to be moved, without moving it, and whether a target could take it, if one is given. Bytes is the
// sum of the sizes of what lies between the first and the last message of each log.
func Survey(ctx context.Context, from, to string, o TransferOptions) (report Report, err error) {
	s, err := openTransfer(ctx, from, &o)
	if err != nil {
		return Report{}, fmt.Errorf("source: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if report, err = s.survey(ctx, o.Progress); err != nil || to == "" {
		return report, err
	}
	c, err := s.claim(ctx)
	if err != nil {
		return report, err
	}
	t, err := openTarget(ctx, to, &o)
	if err != nil {
		return report, fmt.Errorf("target: %w", err)
	}
	if _, err = t.look(ctx, c.id); err != nil {
		err = fmt.Errorf("target: %w", err)
	}
	return report, errors.Join(err, t.Close())
}
