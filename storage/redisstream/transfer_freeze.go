package redisstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

var (
	freezeScript = newScript("transfer_freeze")
	thawScript   = newScript("transfer_thaw")
	claimScript  = newScript("transfer_claim")
)

// What the key of the format says beside the version while a store is one side of a move. A server does not open it then.
const (
	frozenFormat  = frozenVersion              // of a source: it is frozen, or about to be
	fillingFormat = formatVersion + " filling" // of a target: it is not whole
)

// unfinished explains to a server why it cannot open one side of a move; nil when the format is none of these.
func unfinished(format string) error {
	switch format {
	case frozenFormat:
		return errors.New("redis: what is here has been, or is being, moved to another Redis: use that one, " +
			`or give the move up with "postrider migrate --abort"`)
	case fillingFormat:
		return errors.New("redis: this store is not whole: a move or a restore into it has not ended; run the same command again to go on")
	}
	return nil
}

// claim is what a store says about a move from or to it.
type claim struct {
	format string // of the store; empty when there is none
	id     string // of the move; empty without one
	role   string // roleSource or roleTarget
	state  string // stateOpen or stateDone
	total  string // what was moved: a tally; only of a target that is done
}

const (
	roleSource = "source"
	roleTarget = "target"
	stateOpen  = "open"
	stateDone  = "done"
)

func (s *Store) claim(ctx context.Context) (claim, error) {
	pipe := s.client.Pipeline()
	format, all := pipe.Get(ctx, s.keys.format()), pipe.HGetAll(ctx, s.keys.transfer())
	_, _ = pipe.Exec(ctx) // an absent format counts as an error, too
	fields, err := all.Result()
	if err != nil {
		return claim{}, failed(ctx, "look for a move", err)
	}
	c := claim{format.Val(), fields["id"], fields["role"], fields["state"], fields["total"]}
	if !slices.Contains([]string{"", formatVersion, frozenFormat, fillingFormat}, c.format) {
		return c, fmt.Errorf("redis: %s is %q, but this Postrider knows only %q: a newer one wrote this data",
			s.keys.format(), c.format, formatVersion)
	}
	return c, nil
}

// become replaces what was found before.
func (s *Store) become(ctx context.Context, was, c claim) error {
	args := []any{was.format, was.id, c.format}
	if c.id != "" {
		args = append(args, "id", c.id, "role", c.role, "state", c.state, "total", c.total)
	}
	reply, err := s.run(ctx, claimScript, []string{s.keys.format(), s.keys.transfer()}, args...)
	if err != nil {
		return err
	}
	f := fields{name: claimScript.name, rest: reply}
	if f.int() != 1 && f.err == nil {
		return errors.New("redis: another move came between, or this one was given up")
	}
	return f.err
}

// holdsData fails for a Redis in which no store is, or not a whole one.
func (s *Store) holdsData(ctx context.Context) error {
	c, err := s.claim(ctx)
	switch {
	case err != nil:
		return err
	case c.format == "":
		return errors.New("redis: there is no data of Postrider")
	case c.format == fillingFormat:
		return unfinished(c.format)
	}
	return nil
}

// freezeTopic freezes a slot, first what is published to it and what may be attached, then each subscription. It gives the
// uids of those, and whether anything had not been frozen.
func (s *Store) freezeTopic(ctx context.Context, topic string) (uids []string, fresh bool, err error) {
	meta := s.keys.topic(topic, "meta")
	freeze := func(states []string) error {
		keys := []string{meta}
		for _, uid := range states {
			keys = append(keys, s.keys.subscription(topic, uid)[4])
		}
		reply, err := s.run(ctx, freezeScript, keys, frozenVersion, formatVersion, s.keys.wake(topic))
		if err != nil {
			return err
		}
		f := fields{name: freezeScript.name, rest: reply}
		fresh = f.int() > 0 || fresh
		return f.err
	}
	if err := freeze(nil); err != nil {
		return nil, false, err
	}
	if uids, err = s.attached(ctx, topic); err != nil {
		return nil, false, err
	}
	for page := range slices.Chunk(uids, pageKeys) {
		if err := freeze(page); err != nil {
			return nil, false, err
		}
	}
	return uids, fresh, nil
}

// thawTopic lets steps on a slot again.
func (s *Store) thawTopic(ctx context.Context, topic string) error {
	uids, err := s.attached(ctx, topic)
	if err != nil {
		return err
	}
	for page := range slices.Chunk(uids, pageKeys) {
		keys := []string{s.keys.topic(topic, "meta")}
		for _, uid := range page {
			keys = append(keys, s.keys.subscription(topic, uid)[4])
		}
		// The meta comes last, so that nothing is published that a subscription does not get.
		if _, err := s.run(ctx, thawScript, keys[1:], frozenVersion, formatVersion, ""); err != nil {
			return err
		}
	}
	_, err = s.run(ctx, thawScript, []string{s.keys.topic(topic, "meta")}, frozenVersion, formatVersion, s.keys.wake(topic))
	return err
}

// freezeCatalog freezes a project's records and tells whether they had not been.
func (s *Store) freezeCatalog(ctx context.Context, project string) (fresh bool, err error) {
	reply, err := s.run(ctx, freezeScript, s.keys.catalog(project)[:1], frozenVersion, frozenVersion, "")
	if err != nil {
		return false, err
	}
	f := fields{name: freezeScript.name, rest: reply}
	return f.int() > 0, f.err
}

// Abandon gives up a move from a store: servers can use it again. One that came to its end is only given up if force is set,
// since servers may have used its target since, and what they did there is not here.
func Abandon(ctx context.Context, from string, force bool, o TransferOptions) error {
	s, err := openTransfer(ctx, from, &o)
	if err != nil {
		return err
	}
	return errors.Join(s.abandon(ctx, force, o.Progress), s.Close())
}

func (s *Store) abandon(ctx context.Context, force bool, p *Progress) error {
	c, err := s.claim(ctx)
	switch {
	case err != nil:
		return err
	case c.role != roleSource:
		return errors.New("redis: nothing is being moved from here")
	case c.state == stateDone && !force:
		return errors.New("redis: all of it has been moved, and servers may use it there: what they did since is not here. " +
			"Only with --force it becomes usable again")
	}
	// A mover that still runs finds out by the id, at the latest before its end.
	given := claim{format: c.format, id: newTransferID(), role: roleSource, state: stateOpen}
	if err := s.become(ctx, c, given); err != nil {
		return err
	}
	held, err := s.holdings(ctx)
	if err != nil {
		return err
	}
	slots := held.slots()
	p.begin("letting servers use it again", len(slots))
	err = eachTopic(ctx, slots, p, func(ctx context.Context, t heldTopic) error { return s.thawTopic(ctx, t.uid) })
	if err != nil {
		return err
	}
	for _, project := range held.projects {
		if _, err := s.run(ctx, thawScript, s.keys.catalog(project)[:1], frozenVersion, "", ""); err != nil {
			return err
		}
	}
	return s.become(ctx, given, claim{format: formatVersion})
}
