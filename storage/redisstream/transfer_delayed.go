package redisstream

import (
	"context"
	"slices"
	"strconv"

	"postrider/subscriptions"
)

// What transfers do about delayed messages. While servers go on, a message moves from here to the log, so a backup reads what
// is delayed before the log: it is in one of them at least. Where it is in both it has its own id in the log, by which a
// restore knows it.

// readDelayed reads what is delayed, each message with when it is due.
func (s *Store) readDelayed(ctx context.Context, topic string, put func(part) error) error {
	keys := s.keys.delayed(topic)
	return s.readKey(ctx, keyPart{topic: topic, name: "delayed", sort: sortZSet, ttl: stays}, func(p part) error {
		page := p.(keyPart)
		for len(page.pairs) > 0 {
			n, err := s.fitting(ctx, keys[1], page.pairs)
			if err != nil {
				return err
			}
			if err := s.readDelays(ctx, topic, page.pairs[:n], put); err != nil {
				return err
			}
			page.pairs = page.pairs[n:]
		}
		return nil
	})
}

// fitting is how many of these messages are small enough together to be read at once; one at least.
func (s *Store) fitting(ctx context.Context, key string, members []pair) (n int, err error) {
	pipe := s.client.Pipeline()
	sizes := make([]func() int64, len(members))
	for i, m := range members {
		cmd := pipe.Do(ctx, "hstrlen", key, m.name)
		sizes[i] = func() int64 { size, _ := cmd.Int64(); return size }
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, failed(ctx, "read what is delayed", err)
	}
	for bytes := int64(0); n < len(members) && (n == 0 || bytes+sizes[n]() <= pageBytes); n++ {
		bytes += sizes[n]()
	}
	return n, nil
}

// readDelays reads these messages. One that has gone meanwhile is left out.
func (s *Store) readDelays(ctx context.Context, topic string, members []pair, put func(part) error) error {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.name
	}
	stored, err := s.client.HMGet(ctx, s.keys.delayed(topic)[1], names...).Result()
	if err != nil {
		return failed(ctx, "read what is delayed", err)
	}
	due := keyPart{topic: topic, name: "delayed", sort: sortZSet, ttl: stays}
	messages := keyPart{topic: topic, name: "delays", sort: sortHash, ttl: stays}
	for i, m := range members {
		if text, ok := stored[i].(string); ok {
			due.pairs = append(due.pairs, m)
			messages.pairs = append(messages.pairs, pair{m.name, text})
		}
	}
	if len(due.pairs) == 0 {
		return nil
	}
	if err := put(due); err != nil {
		return err
	}
	return put(messages)
}

// isDelayed tells whether a part is of delayed messages.
func (p keyPart) isDelayed() bool { return p.name == "delayed" || p.name == "delays" }

// seen collects, by topic, the delayed messages that the log of a backup has, too.
type seen map[string]map[string]bool

func (s seen) part(p part) {
	page, ok := p.(logPart)
	if !ok {
		return
	}
	for _, e := range page.entries {
		own, _, err := ownID(subscriptions.MessageID{}, e.d)
		if err != nil || own.IsZero() {
			continue
		}
		if s[page.topic] == nil {
			s[page.topic] = map[string]bool{}
		}
		s[page.topic][member(own, 0)] = true
	}
}

// without leaves those out of a part.
func (s seen) without(p keyPart) keyPart {
	if p.isDelayed() {
		p.pairs = slices.DeleteFunc(slices.Clone(p.pairs), func(m pair) bool { return s[p.topic][m.name] })
	}
	return p
}

// addDelayed sums up what the meta has to say of delayed messages.
func (t *restored) addDelayed(p keyPart) {
	for _, m := range p.pairs {
		if p.name == "delays" {
			t.delayBytes += entry{h: m.text}.size()
			continue
		}
		due, _ := strconv.ParseFloat(m.text, 64)
		if t.due == 0 || int64(due) < t.due {
			t.due = int64(due)
		}
	}
}

// withDelayed gives a meta that says so.
func (t *restored) withDelayed(meta keyPart) keyPart {
	meta.pairs = slices.DeleteFunc(slices.Clone(meta.pairs), func(p pair) bool { return p.name == "due" || p.name == "delaybytes" })
	if t.due > 0 {
		meta.pairs = append(meta.pairs, pair{"due", itoa(t.due)}, pair{"delaybytes", itoa(t.delayBytes)})
	}
	return meta
}
