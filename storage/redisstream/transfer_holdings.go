package redisstream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"postrider/subscriptions"
)

// holdings are what a store's catalogs say that there is.
type holdings struct {
	projects []string
	topics   []subscriptions.Topic
	subs     []subscriptions.Subscription
	snaps    []subscriptions.Snapshot
	count    tally // of the records
}

// heldTopic is a slot. The topic may be gone, with subscriptions left.
type heldTopic struct {
	uid         string
	name        string   // for people; empty when the topic is gone
	deadLetters []string // uids of the topics to which its subscriptions move dead letters
}

// String names the topic for people.
func (t heldTopic) String() string {
	if t.name == "" {
		return "a deleted topic (" + t.uid + ")"
	}
	return t.name
}

// holdings reads all records.
func (s *Store) holdings(ctx context.Context) (h holdings, err error) {
	projects, err := s.Projects(ctx)
	if err != nil {
		return h, err
	}
	for _, project := range projects {
		h.projects = append(h.projects, project)
		if err := s.readRecords(ctx, project, h.add); err != nil {
			return h, err
		}
	}
	return h, nil
}

// add reads a page of records. One of an unknown version or kind is an error: a newer Postrider wrote it.
func (h *holdings) add(p recordsPart) error {
	p.count(&h.count)
	for _, r := range p.records {
		switch {
		case strings.HasPrefix(r.name, topics):
			t, err := decodeTopic(subscriptions.TopicName{Project: p.project, ID: r.name[len(topics):]}, r.text)
			if err != nil {
				return err
			}
			h.topics = append(h.topics, t)
		case strings.HasPrefix(r.name, subscribers):
			sub, err := decodeSubscription(subscriptions.SubscriptionName{Project: p.project, ID: r.name[len(subscribers):]}, r.text)
			if err != nil {
				return err
			}
			h.subs = append(h.subs, sub)
		case strings.HasPrefix(r.name, snapshots):
			snap, err := decodeSnapshot(subscriptions.SnapshotName{Project: p.project, ID: r.name[len(snapshots):]}, r.text)
			if err != nil {
				return err
			}
			h.snaps = append(h.snaps, snap)
		case strings.HasPrefix(r.name, operations):
			if _, err := decodeOperation(subscriptions.OperationName{Project: p.project, ID: r.name[len(operations):]}, r.text); err != nil {
				return err
			}
		default:
			return fmt.Errorf("redisstream: project %s has the record %q of an unknown kind: a newer Postrider wrote it", p.project, r.name)
		}
	}
	return nil
}

// slots are those of topics with a record, and those that the record of a subscription or a snapshot names, in order of uid.
func (h *holdings) slots() []heldTopic {
	all, uids := map[string]*heldTopic{}, map[subscriptions.TopicName]string{}
	for _, t := range h.topics {
		all[t.UID] = &heldTopic{uid: t.UID, name: t.Name.String()}
		uids[t.Name] = t.UID
	}
	for _, sub := range h.subs {
		t := all[sub.TopicUID]
		if t == nil {
			t = &heldTopic{uid: sub.TopicUID}
			all[sub.TopicUID] = t
		}
		if sub.DeadLetter != nil && uids[sub.DeadLetter.Topic] != "" {
			t.deadLetters = append(t.deadLetters, uids[sub.DeadLetter.Topic])
		}
	}
	for _, snap := range h.snaps {
		if all[snap.TopicUID] == nil {
			all[snap.TopicUID] = &heldTopic{uid: snap.TopicUID}
		}
	}
	list := make([]heldTopic, 0, len(all))
	for _, uid := range slices.Sorted(maps.Keys(all)) {
		list = append(list, *all[uid])
	}
	return list
}

// report says how much there is of what records name, with what a tally counts beside.
func (h *holdings) report(sum tally) Report {
	return Report{
		Topics: len(h.topics), Deleted: len(h.slots()) - len(h.topics), Subscriptions: len(h.subs),
		Messages: sum.messages, Bytes: sum.bytes, Outstanding: sum.outstanding,
	}
}

// logEnds are a log's length, its first and last id ("0-0" when it is empty), and the sum of sizes before its first entry.
type logEnds struct {
	length      int64
	first, last string
	before      int64
}

// bytes is the sum of the sizes of what lies between the ends.
func (e logEnds) bytes(meta topicMeta) int64 {
	if e.length == 0 {
		return 0
	}
	return numberOf(meta.pairs, "sum") - e.before
}

func (s *Store) logEnds(ctx context.Context, topic string) (logEnds, error) {
	key := s.keys.topic(topic, "log")
	pipe := s.client.TxPipeline()
	length := pipe.XLen(ctx, key)
	first, last := pipe.Do(ctx, "xrange", key, "-", "+", "count", 1), pipe.Do(ctx, "xrevrange", key, "+", "-", "count", 1)
	if _, err := pipe.Exec(ctx); err != nil {
		return logEnds{}, failed(ctx, "read the ends of a log", err)
	}
	ends := logEnds{length.Val(), "0-0", "0-0", 0}
	for _, end := range []struct {
		cmd *redis.Cmd
		id  *string
	}{{last, &ends.last}, {first, &ends.first}} {
		reply, _ := end.cmd.Slice()
		entries, err := entriesOf(reply)
		if err != nil {
			return logEnds{}, err
		}
		for _, e := range entries {
			*end.id, ends.before = e.id, e.sum()-e.size()
		}
	}
	return ends, nil
}

// outstandingOf is how many messages are outstanding in a topic's subscriptions.
func (s *Store) outstandingOf(ctx context.Context, topic string, uids []string) (int64, error) {
	var sum int64
	for page := range slices.Chunk(uids, pageKeys) {
		pipe := s.client.Pipeline()
		for _, uid := range page {
			pipe.ZCard(ctx, s.keys.subscription(topic, uid)[8])
		}
		cmds, err := pipe.Exec(ctx)
		if err != nil {
			return 0, failed(ctx, "count what is outstanding", err)
		}
		for _, cmd := range cmds {
			sum += cmd.(*redis.IntCmd).Val()
		}
	}
	return sum, nil
}

func (s *Store) survey(ctx context.Context, p *Progress) (Report, error) {
	if err := s.holdsData(ctx); err != nil {
		return Report{}, err
	}
	held, err := s.holdings(ctx)
	if err != nil {
		return Report{}, err
	}
	slots := held.slots()
	p.begin("looking what there is", len(slots))
	var mu sync.Mutex
	var sum tally
	err = eachTopic(ctx, slots, p, func(ctx context.Context, t heldTopic) error {
		one, err := s.measure(ctx, t.uid)
		mu.Lock()
		defer mu.Unlock()
		sum.add(one)
		return err
	})
	p.total.Store(sum.messages)
	return held.report(sum), err
}

// measure says how much a slot holds without reading it.
func (s *Store) measure(ctx context.Context, topic string) (sum tally, err error) {
	meta, err := s.readMeta(ctx, topic)
	if err != nil || !meta.exists() {
		return sum, err
	}
	ends, err := s.logEnds(ctx, topic)
	if err != nil {
		return sum, err
	}
	uids, err := s.attached(ctx, topic)
	if err != nil {
		return sum, err
	}
	sum.messages, sum.bytes = ends.length, ends.bytes(meta)
	sum.outstanding, err = s.outstandingOf(ctx, topic, uids)
	return sum, err
}
