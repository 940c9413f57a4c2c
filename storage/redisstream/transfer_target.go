package redisstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

var lockScript = newScript("transfer_lock")

// newTransferID names a move or a backup.
func newTransferID() string { return rand.Text() }

// target is a store that is being filled, with what it knows of how far that has come. While it is not whole its format
// keeps servers from opening it.
type target struct {
	*Store
	claimed claim

	mu   sync.Mutex
	done map[string]tally // by topic: what has arrived and was compared
}

// openTarget checks that a Redis can be filled.
func openTarget(ctx context.Context, url string, o *TransferOptions) (*target, error) {
	s, err := openTransfer(ctx, url, o)
	if err != nil {
		return nil, err
	}
	err = s.eachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		info, err := infoOf(ctx, node)
		if err != nil {
			return err
		}
		return suitable(node.Options().Addr, info)
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &target{Store: s, done: map[string]tally{}}, nil
}

// look reads what the target says of itself, and tells whether it is being, or was, filled by this move. One that is not must
// be free.
func (t *target) look(ctx context.Context, id string) (resumes bool, err error) {
	if t.claimed, err = t.claim(ctx); err != nil {
		return false, err
	}
	c := t.claimed
	switch {
	case id != "" && c.id == id && c.role == roleTarget:
		return true, nil
	case id != "" && c.id == id:
		return false, errors.New("redis: it is the same as the source")
	case c.format == fillingFormat:
		return false, errors.New("redis: it is half filled by another move or restore: go on with that one, " +
			"or throw away what has arrived with \"postrider migrate --discard\"")
	case c.format == frozenFormat:
		return false, errors.New("redis: it is itself being moved elsewhere")
	}
	return false, t.unused(ctx)
}

// begin takes a free target.
func (t *target) begin(ctx context.Context, id string) error {
	c := claim{format: fillingFormat, id: id, role: roleTarget, state: stateOpen}
	if err := t.become(ctx, t.claimed, c); err != nil {
		return err
	}
	t.claimed = c
	return nil
}

// resume reads what arrived before.
func (t *target) resume(ctx context.Context) error {
	all, err := t.client.HGetAll(ctx, t.keys.filled()).Result()
	if err != nil {
		return failed(ctx, "read how far a move has come", err)
	}
	for topic, text := range all {
		if text == "" {
			continue
		}
		if t.done[topic], err = tallyOf(text); err != nil {
			return fmt.Errorf("redisstream: %s of %s is damaged: %w", topic, t.keys.filled(), err)
		}
	}
	return nil
}

// arrived tells whether a topic is there as a whole.
func (t *target) arrived(topic string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.done[topic]
	return ok
}

// touch notes that there may be something of a topic.
func (t *target) touch(ctx context.Context, list []heldTopic) error {
	for page := range slices.Chunk(list, pageEntries) {
		pipe := t.client.Pipeline()
		for _, topic := range page {
			pipe.HSetNX(ctx, t.keys.filled(), topic.uid, "")
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return failed(ctx, "note how far a move has come", err)
		}
	}
	return nil
}

// note notes that all of a topic has arrived.
func (t *target) note(ctx context.Context, topic string, sum tally) error {
	t.mu.Lock()
	t.done[topic] = sum
	t.mu.Unlock()
	return failed(ctx, "note how far a move has come", t.client.HSet(ctx, t.keys.filled(), topic, sum.text()).Err())
}

// total sums up what has arrived.
func (t *target) total() (sum tally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.done {
		sum.add(one)
	}
	return sum
}

// finish makes the target a store that servers may open. Topics that have gone since they were touched go here, too.
func (t *target) finish(ctx context.Context, held holdings, c claim) error {
	touched, err := t.client.HKeys(ctx, t.keys.filled()).Result()
	if err != nil {
		return failed(ctx, "finish a move", err)
	}
	for _, topic := range touched {
		if !t.arrived(topic) {
			if err := t.remove(ctx, topic); err != nil {
				return err
			}
		}
	}
	for page := range slices.Chunk(held.projects, pageEntries) {
		if err := t.client.SAdd(ctx, t.keys.projects(), page).Err(); err != nil {
			return failed(ctx, "finish a move", err)
		}
	}
	if err := t.become(ctx, t.claimed, c); err != nil {
		return err
	}
	t.claimed = c
	return failed(ctx, "finish a move", t.client.Unlink(ctx, t.keys.filled()).Err())
}

// remove removes all of a topic.
func (t *target) remove(ctx context.Context, topic string) error {
	if err := t.clear(ctx, topic); err != nil {
		return err
	}
	return t.cutLog(ctx, topic, "0-0")
}

// The lock on a target: how long it lasts by itself, when it is renewed, and how long to wait for it, which is when one that
// was killed has lost it.
const (
	lockTime  = 10 * time.Second
	lockRenew = 2 * time.Second
	lockWait  = 15 * time.Second
)

// alone runs do while no other process fills the target.
func (t *target) alone(ctx context.Context, do func(context.Context) error) error {
	me := newTransferID()
	lock := func(ctx context.Context, d time.Duration) (bool, error) {
		reply, err := t.run(ctx, lockScript, []string{t.keys.mover()}, me, wholeMillis(d))
		f := fields{name: lockScript.name, rest: reply}
		return err == nil && f.int() == 1, err
	}
	for deadline, told := time.Now().Add(lockWait), false; ; told = true {
		held, err := lock(ctx, lockTime)
		if err != nil {
			return err
		}
		if held {
			break
		}
		if !told {
			t.log.Info("another process is filling the target, or was killed a moment ago: waiting", "at_most", lockWait)
		}
		if time.Now().After(deadline) {
			return errors.New("redis: another process is filling the target")
		}
		if err := pause(ctx, lockTime/20); err != nil {
			return err
		}
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockRenew)
		defer cancel()
		_, _ = lock(ctx, 0) // else it ends by itself
	}()
	g, working := errgroup.WithContext(ctx)
	working, end := context.WithCancel(working)
	g.Go(func() error {
		defer end()
		return do(working)
	})
	g.Go(func() error {
		for last := time.Now(); pause(working, lockRenew) == nil; {
			held, err := lock(working, lockTime)
			switch {
			case held:
				last = time.Now()
			case err == nil || time.Since(last) > lockTime-lockRenew:
				if working.Err() == nil {
					return errors.Join(errors.New("redis: the lock on the target was lost"), err)
				}
			}
		}
		return nil
	})
	return g.Wait()
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unused fails for a Redis that holds what would be mixed with what is moved to it, or that servers use.
func (s *Store) unused(ctx context.Context) error {
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return failed(ctx, "look what is there", err)
	}
	pipe := s.client.Pipeline()
	projects := pipe.SCard(ctx, s.keys.projects())
	alive := pipe.ZCount(ctx, s.keys.servers(), fmt.Sprintf("(%d", now.UnixMilli()), "+inf")
	if _, err := pipe.Exec(ctx); err != nil {
		return failed(ctx, "look what is there", err)
	}
	if projects.Val() > 0 {
		return errors.New("redis: it already holds data of Postrider: name another Redis or database, or empty this one")
	}
	if alive.Val() > 0 {
		return errors.New("redis: servers are running on it: stop them first")
	}
	found, err := s.anyKey(ctx)
	if err == nil && found != "" {
		err = fmt.Errorf("redis: it holds %q, left over from another store: empty it first", found)
	}
	return err
}

// anyKey looks for a key of ours that an unused store does not have.
func (s *Store) anyKey(ctx context.Context) (found string, err error) {
	harmless := []string{
		s.keys.servers(), s.keys.changes(), s.keys.format(), s.keys.mover(), s.keys.transfer(), s.keys.filled(), s.keys.signing(),
	}
	pattern := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s.keys.prefix) + "*"
	var mu sync.Mutex
	err = s.eachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		for cursor := uint64(0); ; {
			page, next, err := node.Scan(ctx, cursor, pattern, pageEntries).Result()
			if err != nil {
				return failed(ctx, "look what is there", err)
			}
			for _, key := range page {
				if !slices.Contains(harmless, key) {
					mu.Lock()
					defer mu.Unlock()
					found = key
					return nil
				}
			}
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	})
	return found, err
}

// Discard empties a store that a move or a restore left half filled.
func Discard(ctx context.Context, to string, o TransferOptions) error {
	s, err := openTransfer(ctx, to, &o)
	if err != nil {
		return err
	}
	t := &target{Store: s, done: map[string]tally{}}
	return errors.Join(t.alone(ctx, func(ctx context.Context) error { return t.discard(ctx, o.Progress) }), s.Close())
}

func (t *target) discard(ctx context.Context, p *Progress) error {
	var err error
	if t.claimed, err = t.claim(ctx); err != nil {
		return err
	}
	if t.claimed.format != fillingFormat {
		return errors.New("redis: nothing is half moved to here")
	}
	touched, err := t.client.HGetAll(ctx, t.keys.filled()).Result()
	if err != nil {
		return failed(ctx, "discard", err)
	}
	var list []heldTopic
	for _, uid := range slices.Sorted(maps.Keys(touched)) {
		list = append(list, heldTopic{uid: uid})
	}
	p.begin("throwing away what has arrived", len(list))
	if err := eachTopic(ctx, list, p, func(ctx context.Context, one heldTopic) error { return t.remove(ctx, one.uid) }); err != nil {
		return err
	}
	projects, err := t.Projects(ctx)
	if err != nil {
		return err
	}
	for _, project := range projects {
		if err := t.client.Unlink(ctx, t.keys.catalog(project)...).Err(); err != nil {
			return failed(ctx, "discard", err)
		}
	}
	if err := t.client.Unlink(ctx, t.keys.projects(), t.keys.filled(), t.keys.signing()).Err(); err != nil {
		return failed(ctx, "discard", err)
	}
	return t.become(ctx, t.claimed, claim{})
}
