package redisstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// What a backup reads of seeks and snapshots while servers go on, and how a restore puts it back.

// soughtTries is how often a subscription is read again because of a seek.
const soughtTries = 10

// observeUnsought reads a subscription between two seeks: a seek turns around the order in which messages move, so that what is
// read in that order may have been passed by.
func (s *Store) observeUnsought(ctx context.Context, meta topicMeta, uid string, put func(part) error) error {
	for range soughtTries {
		before, err := s.epoch(ctx, meta.topic, uid)
		if err != nil {
			return err
		}
		var parts []part
		err = s.observeSubscription(ctx, meta, uid, func(p part) error {
			parts = append(parts, p)
			return nil
		})
		if err != nil {
			return err
		}
		after, err := s.epoch(ctx, meta.topic, uid)
		if err != nil {
			return err
		}
		if before != after && after != "" {
			continue
		}
		for _, p := range parts {
			if err := put(p); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("redisstream: the subscription with uid %s is sought over and over, so that it cannot be read", uid)
}

// epoch is empty when there is no state.
func (s *Store) epoch(ctx context.Context, topic, uid string) (string, error) {
	epoch, err := s.client.HGet(ctx, s.keys.subscription(topic, uid)[4], "epoch").Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return epoch, failed(ctx, "read the epoch of a subscription", err)
}

// observeSource reads what leases read before the log, up to the cursor.
func (s *Store) observeSource(ctx context.Context, sub subscriptionPart, put func(part) error) error {
	high := numberOf(sub.state, "n")
	low := int64(-1)
	if from, to, pending := strings.Cut(valueOf(sub.state, "purge"), ":"); pending {
		low, _ = strconv.ParseInt(from, 10, 64)
		to, _ := strconv.ParseInt(to, 10, 64)
		high = min(high, to)
	}
	p := keyPart{topic: sub.topic, name: "source:" + sub.uid, sort: sortZSet, ttl: stays}
	return s.readKey(ctx, p, func(p part) error {
		page := p.(keyPart)
		page.pairs = slices.DeleteFunc(page.pairs, func(m pair) bool {
			n, _ := strconv.ParseInt(m.text, 10, 64)
			return n <= low || n > high
		})
		return put(page)
	})
}

// observeLetters reads what was redriven, after what is outstanding: what it has no letter for by then has been acked.
func (s *Store) observeLetters(ctx context.Context, sub subscriptionPart, put func(part) error) error {
	for _, p := range []keyPart{
		{topic: sub.topic, name: "redriven:" + sub.uid, sort: sortZSet, ttl: stays}, {topic: sub.topic, name: "letters:" + sub.uid, sort: sortHash, ttl: stays},
	} {
		if err := s.readKey(ctx, p, put); err != nil {
			return err
		}
	}
	return nil
}

// sizeLetters notes the sizes of redriven messages, which the log need not have.
func (o *observed) sizeLetters() {
	sizes := map[string]int64{}
	for _, l := range o.letters {
		sizes[l.name] = entry{h: l.text[:min(headLength, len(l.text))]}.size()
	}
	sized := func(member string) {
		if size, ok := sizes[member[:min(memberLength, len(member))]]; ok {
			o.sizes[member] = size
		}
	}
	for _, m := range o.messages {
		sized(m.member)
	}
	for _, m := range o.source {
		sized(m.name)
	}
}

// buildLetters gives what was redriven of the messages that there are.
func (o *observed) buildLetters(members map[string]bool, add func(name, key, text string)) (count int64) {
	since := map[string]string{}
	for _, p := range o.redriven {
		since[p.name] = p.text
	}
	for _, l := range o.letters {
		if at := since[l.name]; at != "" && members[l.name] {
			add("letters", l.name, l.text)
			add("redriven", l.name, at)
			count++
		}
	}
	return count
}

// observeSnapshots reads the snapshots that were there when the meta was read. They do not change but for how long they are
// kept; one that is dropped meanwhile is left out. One that is taken later may need what is not in the backup.
func (s *Store) observeSnapshots(ctx context.Context, meta topicMeta, put func(part) error) error {
	return s.readKey(ctx, keyPart{topic: meta.topic, name: "snapshots", sort: sortHash, ttl: stays}, func(p part) error {
		names := p.(keyPart)
		for _, name := range names.pairs {
			if err := s.observeSnapshot(ctx, meta, name, put); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) observeSnapshot(ctx context.Context, meta topicMeta, name pair, put func(part) error) error {
	var parts []part
	err := s.readKeys(ctx, meta.topic, s.keys.snapshot(meta.topic, name.name), func(p part) error {
		parts = append(parts, p)
		return nil
	})
	if err != nil || len(parts) == 0 || numberOf(parts[0].(keyPart).pairs, "n") > numberOf(meta.pairs, "n") {
		return err
	}
	floor, err := s.client.ZScore(ctx, s.keys.topicSlot(meta.topic)[3], name.name).Result()
	if errors.Is(err, redis.Nil) {
		return nil // dropped
	}
	if err != nil {
		return failed(ctx, "read the floor of a snapshot", err)
	}
	parts = append([]part{
		keyPart{meta.topic, "snapshots", sortHash, stays, []pair{name}},
		keyPart{meta.topic, "floors", sortZSet, stays, []pair{{name.name, itoa(int64(floor))}}},
	}, parts...)
	for _, p := range parts {
		if err := put(p); err != nil {
			return err
		}
	}
	return nil
}

// snapshotOf is the uid of the snapshot that a key of a topic's slot is of; empty when it is of none.
func snapshotOf(name string) string {
	for _, part := range []string{"snapshot:", "held:", "left:", "leftat:", "heldat:", "heldletters:"} {
		if uid, ok := strings.CutPrefix(name, part); ok {
			return uid
		}
	}
	return ""
}

// ofRecords leaves out of a part what is of snapshots without a record: they were dropped while the backup was made. In a
// backup, the floors and names that stand by themselves are those of snapshots.
func (r *restore) ofRecords(p keyPart) keyPart {
	if uid := snapshotOf(p.name); uid != "" && !r.snapshots[uid] {
		p.pairs = nil
	}
	if p.name == "snapshots" || p.name == "floors" {
		p.pairs = slices.DeleteFunc(slices.Clone(p.pairs), func(of pair) bool { return !r.snapshots[of.name] })
	}
	return p
}

// buildSource gives the source of a subscription, without what has turned into outstanding messages since it was read, and
// what the state says of it.
func (o *observed) buildSource(add func(name, key, text string)) (count, bytes int64) {
	gone := map[string]bool{}
	for _, m := range o.messages {
		gone[m.member[:memberLength]] = true
	}
	for _, m := range o.source {
		if !gone[m.name[:min(memberLength, len(m.name))]] {
			add("source", m.name, m.text)
			count, bytes = count+1, bytes+o.sizes[m.name]
		}
	}
	return count, bytes
}

// putValue puts a text under a name, whether it is there or not.
func putValue(pairs []pair, name, text string) []pair {
	if !slices.ContainsFunc(pairs, func(p pair) bool { return p.name == name }) {
		return append(pairs, pair{name, text})
	}
	setValue(pairs, name, text)
	return pairs
}
