package redisstream

import (
	"context"
	"errors"
	"fmt"
)

// moveTopic freezes a topic's slot and copies what is not there yet. It may be repeated.
func (m *move) moveTopic(ctx context.Context, topic string) error {
	if err := m.goesOn(ctx); err != nil {
		return err
	}
	uids, _, err := m.from.freezeTopic(ctx, topic)
	if err != nil {
		return err
	}
	meta, err := m.from.readMeta(ctx, topic)
	if err != nil {
		return err
	}
	if err := m.to.clear(ctx, topic); err != nil {
		return err
	}
	if !meta.exists() {
		if err := m.to.remove(ctx, topic); err != nil {
			return err
		}
		return m.to.note(ctx, topic, tally{})
	}
	var sent tally
	if err := m.alignLog(ctx, meta, &sent); err != nil {
		return err
	}
	if err := m.moveState(ctx, topic, uids, &sent); err != nil {
		return err
	}
	return m.to.note(ctx, topic, sent)
}

// goesOn fails once the move was given up.
func (m *move) goesOn(ctx context.Context) error {
	now, err := m.from.claim(ctx)
	if err == nil && now != m.from.claimed {
		err = errors.New("source: the move was given up")
	}
	return err
}

// alignLog makes the target's log the same as one that is frozen.
func (m *move) alignLog(ctx context.Context, meta topicMeta, sent *tally) error {
	want, err := m.from.logEnds(ctx, meta.topic)
	if err != nil {
		return err
	}
	for again := false; ; again = true {
		if err := m.to.cutLog(ctx, meta.topic, want.first); err != nil {
			return err
		}
		if _, _, err := m.catchUp(ctx, meta); err != nil {
			return err
		}
		there, err := m.to.logEnds(ctx, meta.topic)
		if err != nil {
			return err
		}
		if there == want {
			sent.messages, sent.bytes = want.length, want.bytes(meta)
			return nil
		}
		if again {
			return fmt.Errorf("redisstream: the log did not arrive as it is: %+v, not %+v", there, want)
		}
		// Something vanished from the middle after it was copied.
		if err := m.to.cutLog(ctx, meta.topic, "0-0"); err != nil {
			return err
		}
	}
}

// moveState copies what a frozen slot holds beside the log, and compares what is there then.
func (m *move) moveState(ctx context.Context, topic string, uids []string, sent *tally) error {
	err := m.from.readSlot(ctx, topic, func(p part) error {
		p.count(sent)
		return m.to.put(ctx, p)
	})
	if err != nil {
		return err
	}
	there, err := m.to.holds(ctx, topic)
	if err != nil {
		return err
	}
	if err := differ(sent.state(), there); err != nil {
		return err
	}
	n, err := m.from.outstandingOf(ctx, topic, uids)
	if err == nil && n != sent.outstanding {
		err = fmt.Errorf("redisstream: %d messages are outstanding, but %d were found", n, sent.outstanding)
	}
	return err
}

// holds counts what a slot holds beside its log.
func (s *Store) holds(ctx context.Context, topic string) (there tally, err error) {
	err = s.readSlot(ctx, topic, func(p part) error {
		p.count(&there)
		return nil
	})
	return there, err
}
