package redisstream

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// put writes a part. Again changes nothing, except that a page of a log must come after what is there.
func (s *Store) put(ctx context.Context, p part) error {
	switch p := p.(type) {
	case logPart:
		return s.putLog(ctx, p)
	case keyPart:
		return s.putKey(ctx, p)
	case recordsPart:
		keys, names := s.keys.catalog(p.project), []any{}
		for _, r := range p.records {
			names = append(names, "0", r.name)
		}
		pipe := s.client.Pipeline()
		pipe.Do(ctx, slices.Concat([]any{"hset", keys[0]}, namesFirst(p.records))...)
		pipe.Do(ctx, slices.Concat([]any{"zadd", keys[1]}, names)...)
		_, err := pipe.Exec(ctx)
		return failed(ctx, "write records", err)
	}
	return fmt.Errorf("redisstream: %T cannot be written as it is", p)
}

// putKey writes a key, in pages that Redis takes well.
func (s *Store) putKey(ctx context.Context, p keyPart) error {
	key := s.keys.topic(p.topic, p.name)
	pipe := s.client.Pipeline()
	for page := range slices.Chunk(p.pairs, pageMessages) {
		if p.sort == sortZSet {
			pipe.Do(ctx, slices.Concat([]any{"zadd", key}, textsFirst(page))...)
		} else {
			pipe.Do(ctx, slices.Concat([]any{"hset", key}, namesFirst(page))...)
		}
	}
	if p.ttl >= 0 {
		pipe.PExpire(ctx, key, p.ttl)
	}
	_, err := pipe.Exec(ctx)
	return failed(ctx, "write a part of a topic", err)
}

func namesFirst(pairs []pair) []any {
	args := make([]any, 0, 2*len(pairs))
	for _, p := range pairs {
		args = append(args, p.name, p.text)
	}
	return args
}

func textsFirst(pairs []pair) []any {
	args := make([]any, 0, 2*len(pairs))
	for _, p := range pairs {
		args = append(args, p.text, p.name)
	}
	return args
}

// putLog appends a page to a log and reads it back: what counts is what is there then.
func (s *Store) putLog(ctx context.Context, p logPart) error {
	if len(p.entries) == 0 {
		return nil
	}
	key := s.keys.topic(p.topic, "log")
	pipe := s.client.Pipeline()
	for _, e := range p.entries {
		pipe.Do(ctx, "xadd", key, e.id, "h", e.h, "d", e.d)
	}
	back := pipe.Do(ctx, "xrange", key, p.entries[0].id, p.entries[len(p.entries)-1].id)
	_, failure := pipe.Exec(ctx)
	reply, err := back.Slice()
	if err != nil {
		return failed(ctx, "append to a log", errors.Join(failure, err))
	}
	entries, err := entriesOf(reply)
	if err != nil || slices.Equal(entries, p.entries) {
		return err
	}
	if failure != nil {
		return failed(ctx, "append to a log", failure)
	}
	return fmt.Errorf("redisstream: entries from %s on did not arrive in %s as they were sent", p.entries[0].id, key)
}

// cutLog removes what is older than an id. A log of which nothing is kept goes as a whole.
func (s *Store) cutLog(ctx context.Context, topic, first string) error {
	key := s.keys.topic(topic, "log")
	if first == "0-0" {
		return failed(ctx, "empty a log", s.client.Unlink(ctx, key).Err())
	}
	for {
		gone, err := s.client.XTrimMinIDApprox(ctx, key, first, pageEntries).Result()
		if err != nil {
			return failed(ctx, "trim a log", err)
		}
		if gone == 0 {
			return failed(ctx, "trim a log", s.client.XTrimMinID(ctx, key, first).Err())
		}
	}
}

// clear removes what a topic's slot holds beside its log.
func (s *Store) clear(ctx context.Context, topic string) error {
	uids, err := s.attached(ctx, topic)
	if err != nil {
		return err
	}
	for page := range slices.Chunk(uids, pageKeys/18) {
		var keys []string
		for _, uid := range page {
			keys = append(keys, s.keys.subscription(topic, uid)[4:]...)
		}
		if err := s.client.Unlink(ctx, keys...).Err(); err != nil {
			return failed(ctx, "clear a topic", err)
		}
	}
	snaps, err := s.taken(ctx, topic)
	if err != nil {
		return err
	}
	for page := range slices.Chunk(snaps, pageKeys/6) {
		var keys []string
		for _, uid := range page {
			keys = append(keys, s.keys.snapshot(topic, uid)...)
		}
		if err := s.client.Unlink(ctx, keys...).Err(); err != nil {
			return failed(ctx, "clear a topic", err)
		}
	}
	slot := s.keys.topicSlot(topic)
	keys := append(s.keys.delayed(topic), slot[0], slot[2], slot[3], slot[4], s.keys.snapshots(topic))
	return failed(ctx, "clear a topic", s.client.Unlink(ctx, keys...).Err())
}

// sizes are those of outstanding messages, as the log has them. One that has vanished has none.
func (s *Store) sizes(ctx context.Context, topic string, messages []outstanding) (map[string]int64, error) {
	sizes := map[string]int64{}
	for page := range slices.Chunk(messages, 100) {
		pipe := s.client.Pipeline()
		for _, m := range page {
			id, _, err := parseMember(m.member)
			if err != nil {
				return nil, err
			}
			pipe.Do(ctx, "xrange", s.keys.topic(topic, "log"), id.String(), id.String())
		}
		cmds, err := pipe.Exec(ctx)
		if err != nil {
			return nil, failed(ctx, "look at outstanding messages", err)
		}
		for i, cmd := range cmds {
			reply, _ := cmd.(*redis.Cmd).Slice()
			entries, err := entriesOf(reply)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				sizes[page[i].member] = e.size()
			}
		}
	}
	return sizes, nil
}
