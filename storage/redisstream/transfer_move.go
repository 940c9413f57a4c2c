package redisstream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// How often logs are copied before anything is frozen. Each time only what was published since is left; it ends early when
// that is little, or does not become less.
const (
	livePasses = 5
	littleLeft = 1000
)

// source is a store that is being moved, with what it was last made to say about that.
type source struct {
	*Store
	claimed claim
}

// move takes what one store keeps to another.
type move struct {
	from    *source
	to      *target
	options TransferOptions

	held   holdings
	frozen time.Time // when the first topic was
	took   time.Duration
}

// Migrate moves all that a store keeps to another one, and leaves the source frozen. When it was interrupted it goes on. Its
// errors are for people.
func Migrate(ctx context.Context, from, to string, o TransferOptions) (Report, error) {
	s, err := openTransfer(ctx, from, &o)
	if err != nil {
		return Report{}, fmt.Errorf("source: %w", err)
	}
	t, err := openTarget(ctx, to, &o)
	if err != nil {
		return Report{}, errors.Join(fmt.Errorf("target: %w", err), s.Close())
	}
	m := &move{from: &source{Store: s}, to: t, options: o}
	report, err := m.run(ctx)
	return report, errors.Join(err, s.Close(), t.Close())
}

func (m *move) run(ctx context.Context) (report Report, err error) {
	err = m.to.alone(ctx, func(ctx context.Context) error {
		whole, err := m.begin(ctx)
		if err != nil {
			return err
		}
		stages := []func(context.Context) error{m.copyLogs, m.moveRecords, m.moveTopics, m.confirm, m.finish}
		if whole {
			stages = nil
		}
		for _, stage := range stages {
			if err := stage(ctx); err != nil {
				return err
			}
		}
		report, err = m.report(ctx)
		return err
	})
	return report, err
}

// report says what has been moved.
func (m *move) report(ctx context.Context) (Report, error) {
	held, err := m.from.holdings(ctx)
	if err != nil {
		return Report{}, err
	}
	sum, err := tallyOf(m.to.claimed.total)
	r := held.report(sum)
	r.Frozen, r.Verified = m.took, true
	return r, err
}

// begin takes both sides for this move, or finds that it has begun before. whole tells that it came to its end then.
func (m *move) begin(ctx context.Context) (whole bool, err error) {
	was, err := m.from.claim(ctx)
	if err != nil {
		return false, fmt.Errorf("source: %w", err)
	}
	if was.role == roleSource {
		other, err := m.to.claim(ctx)
		if err != nil {
			return false, fmt.Errorf("target: %w", err)
		}
		if other.role == roleTarget && other.id == was.id {
			m.from.claimed, m.to.claimed = was, other
			return other.state == stateDone, m.to.resume(ctx)
		}
		if was.state == stateDone {
			return false, errors.New("source: it has been moved already, to another target")
		}
	}
	if err := m.from.holdsData(ctx); err != nil {
		return false, fmt.Errorf("source: %w", err)
	}
	m.from.claimed = claim{format: was.format, id: newTransferID(), role: roleSource, state: stateOpen}
	if err := m.from.become(ctx, was, m.from.claimed); err != nil {
		return false, fmt.Errorf("source: %w", err)
	}
	if _, err = m.to.look(ctx, m.from.claimed.id); err == nil {
		err = m.to.begin(ctx, m.from.claimed.id)
	}
	if err != nil { // the source is as it was
		return false, errors.Join(fmt.Errorf("target: %w", err), m.from.become(ctx, m.from.claimed, was))
	}
	return false, nil
}

// copyLogs is the first stage.
func (m *move) copyLogs(ctx context.Context) error {
	p := m.options.Progress
	if _, err := m.from.survey(ctx, p); err != nil {
		return err
	}
	before := int64(math.MaxInt64)
	for pass := range livePasses {
		held, err := m.from.holdings(ctx)
		if err != nil {
			return err
		}
		if err := m.to.touch(ctx, held.slots()); err != nil {
			return err
		}
		p.begin("copying messages while servers go on", len(held.slots()))
		var copied atomic.Int64
		err = eachTopic(ctx, held.slots(), p, func(ctx context.Context, t heldTopic) error {
			if m.to.arrived(t.uid) {
				return nil
			}
			meta, err := m.from.readMeta(ctx, t.uid)
			if err != nil {
				return err
			}
			return patiently(ctx, m.options.Log, func() error {
				there, n, err := m.catchUp(ctx, meta)
				copied.Add(n)
				if pass == 0 {
					p.done.Add(there) // by a move that was interrupted
				}
				return err
			})
		})
		if n := copied.Load(); err != nil || n < littleLeft || n > before/2 {
			return err
		}
		before = copied.Load()
	}
	return nil
}

// catchUp copies what the target does not have of a log, and tells how many entries were there and were copied.
func (m *move) catchUp(ctx context.Context, meta topicMeta) (there, copied int64, err error) {
	ends, err := m.to.logEnds(ctx, meta.topic)
	if err != nil {
		return 0, 0, err
	}
	err = copyLog(ctx, m.from.Store, meta, ends.last, func(p logPart) error {
		err := m.to.put(ctx, p)
		if err == nil {
			copied += int64(len(p.entries))
			m.options.Progress.done.Add(int64(len(p.entries)))
		}
		return err
	})
	return ends.length, copied, err
}

// moveRecords begins the second stage: from here on no record changes, so it is certain what there is.
func (m *move) moveRecords(ctx context.Context) error {
	frozen := m.from.claimed
	frozen.format = frozenFormat
	if err := m.from.become(ctx, m.from.claimed, frozen); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	m.from.claimed, m.frozen = frozen, time.Now()
	projects, err := m.from.Projects(ctx)
	if err != nil {
		return err
	}
	for _, project := range projects {
		if _, err := m.from.freezeCatalog(ctx, project); err != nil {
			return err
		}
		if err := m.moveCatalog(ctx, project); err != nil {
			return fmt.Errorf("records of project %s: %w", project, err)
		}
	}
	if err := m.moveKeys(ctx); err != nil {
		return err
	}
	if m.held, err = m.from.holdings(ctx); err != nil {
		return err
	}
	return m.to.touch(ctx, m.held.slots())
}

// moveKeys copies the keys that servers sign pushes with, so that receivers know what the servers on the target sign.
func (m *move) moveKeys(ctx context.Context) error {
	keys, err := m.from.SigningKeys(ctx)
	if err != nil || keys == "" {
		return err
	}
	return failed(ctx, "copy the signing keys", m.to.client.Set(ctx, m.to.keys.signing(), keys, 0).Err())
}

// moveCatalog copies a project's records.
func (m *move) moveCatalog(ctx context.Context, project string) error {
	if err := m.to.client.Unlink(ctx, m.to.keys.catalog(project)...).Err(); err != nil {
		return failed(ctx, "clear a catalog", err)
	}
	// Said first, so that what was begun can be thrown away.
	if err := m.to.client.SAdd(ctx, m.to.keys.projects(), project).Err(); err != nil {
		return failed(ctx, "note a project", err)
	}
	var sent, there tally
	err := m.from.readRecords(ctx, project, func(p recordsPart) error {
		p.count(&sent)
		return m.to.put(ctx, p)
	})
	if err != nil {
		return err
	}
	err = m.to.readRecords(ctx, project, func(p recordsPart) error {
		p.count(&there)
		return nil
	})
	return errors.Join(err, differ(sent, there))
}

// moveTopics is the rest of the second stage.
func (m *move) moveTopics(ctx context.Context) error {
	p := m.options.Progress
	p.begin("moving topic by topic", len(m.held.slots()))
	err := eachTopic(ctx, m.held.slots(), p, func(ctx context.Context, t heldTopic) error {
		if m.to.arrived(t.uid) {
			return nil
		}
		return patiently(ctx, m.options.Log, func() error { return m.moveTopic(ctx, t.uid) })
	})
	m.took = time.Since(m.frozen)
	return err
}

// confirm finds what is not frozen any more, since a failover lost the mark, and moves it again.
func (m *move) confirm(ctx context.Context) error {
	p := m.options.Progress
	p.begin("looking whether all is still as it was moved", len(m.held.slots()))
	for _, project := range m.held.projects {
		fresh, err := m.from.freezeCatalog(ctx, project)
		if err != nil {
			return err
		}
		if fresh {
			return errors.New("source: records could be changed meanwhile, as after a failover: run this again")
		}
	}
	return eachTopic(ctx, m.held.slots(), p, func(ctx context.Context, t heldTopic) error {
		_, fresh, err := m.from.freezeTopic(ctx, t.uid)
		if err != nil || !fresh {
			return err
		}
		m.options.Log.Warn("a topic could be used meanwhile, as after a failover: it is moved again", "topic", t.String())
		return m.moveTopic(ctx, t.uid)
	})
}

// finish says on both sides that the move is over.
func (m *move) finish(ctx context.Context) error {
	done := m.from.claimed
	done.state = stateDone
	if err := m.from.become(ctx, m.from.claimed, done); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	m.from.claimed = done
	c := claim{format: formatVersion, id: done.id, role: roleTarget, state: stateDone, total: m.to.total().text()}
	if err := m.to.finish(ctx, m.held, c); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	return nil
}
