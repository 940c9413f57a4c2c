package redisstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"postrider/subscriptions"
)

// The bounds of one step of a transfer: what it takes Redis a few milliseconds for.
const (
	pageEntries = 1000
	pageBytes   = 1_000_000
	pageRecords = 200
	pageKeys    = 200
	// largestPlain is up to which size of the largest message pages are read by XRANGE alone.
	largestPlain = pageBytes / 100
)

// pageMessages is the same for outstanding messages, and all that a key holds. Tests have smaller pages, to have several.
var pageMessages = 500

var (
	logScript          = newScript("transfer_log")
	subscriptionScript = newScript("transfer_subscription")
	outstandingScript  = newScript("transfer_outstanding")
)

// readRecords reads a project's catalog.
func (s *Store) readRecords(ctx context.Context, project string, put func(recordsPart) error) error {
	for after := ""; ; {
		reply, err := s.run(ctx, listScript, s.keys.catalog(project), after, "\xff", pageRecords)
		if err != nil {
			return err
		}
		p, f := recordsPart{project: project}, fields{name: listScript.name, rest: reply}
		for len(f.rest) > 0 {
			p.records = append(p.records, pair{f.text(), f.text()})
		}
		if f.err != nil || len(p.records) == 0 {
			return f.err
		}
		if err := put(p); err != nil {
			return err
		}
		after = p.records[len(p.records)-1].name
	}
}

// topicMeta is what a topic's meta says.
type topicMeta struct{ keyPart }

// end is the id up to which messages with the meta's count reach. No entry has it: see attach.lua. It is empty for a slot that
// was never opened, or was emptied.
func (m topicMeta) end() string {
	if valueOf(m.pairs, "n") == "" {
		return ""
	}
	return endOf(valueOf(m.pairs, "ms"), numberOf(m.pairs, "n"))
}

func endOf(ms string, n int64) string { return fmt.Sprintf("%s-%d", ms, n*10_000+9_999) }

// exists tells whether the slot was ever opened: freezing makes a meta that has a version alone.
func (m topicMeta) exists() bool { return len(m.pairs) > 1 }

func (s *Store) readMeta(ctx context.Context, topic string) (topicMeta, error) {
	m := topicMeta{keyPart{topic: topic, name: "meta"}}
	key := s.keys.topic(topic, m.name)
	pipe := s.client.Pipeline()
	all, ttl := pipe.HGetAll(ctx, key), pipe.PTTL(ctx, key)
	if _, err := pipe.Exec(ctx); err != nil {
		return m, failed(ctx, "read the meta of a topic", err)
	}
	m.sort, m.ttl = sortHash, stays
	if ttl.Val() >= 0 {
		m.ttl = ttl.Val()
	}
	for _, name := range slices.Sorted(maps.Keys(all.Val())) {
		m.pairs = append(m.pairs, pair{name, all.Val()[name]})
	}
	return m, thaw(key, m.pairs)
}

// thaw puts the version that steps look for in place of the one that keeps them away. Any other one is an error.
func thaw(key string, pairs []pair) error {
	switch v := valueOf(pairs, "v"); v {
	case "", formatVersion:
	case frozenVersion:
		setValue(pairs, "v", formatVersion)
	default:
		return fmt.Errorf("redisstream: %s is of the unknown format %q: a newer Postrider wrote it", key, v)
	}
	return nil
}

// readLog reads a page of a topic's log after an id up to another. largest is the size of the largest message.
func (s *Store) readLog(ctx context.Context, topic string, largest int64, after, end string) (logPart, error) {
	p := logPart{topic: topic}
	if end == "" {
		return p, nil
	}
	var err error
	p.entries, _, err = s.readEntries(ctx, topic, largest, after, end, pageEntries)
	return p, err
}

// readEntries is readLog for at most so many entries. It tells whether there were no more.
func (s *Store) readEntries(
	ctx context.Context, topic string, largest int64, after, end string, most int64,
) (entries []entry, whole bool, err error) {
	key, largest := s.keys.topic(topic, "log"), max(1, largest)
	var reply []any
	count := min(most, pageBytes/largest)
	plain := largest <= largestPlain
	if plain {
		reply, err = s.client.Do(ctx, "xrange", key, "("+after, end, "count", count).Slice()
		err = failed(ctx, "read a log", err)
	} else {
		reply, err = s.run(ctx, logScript, []string{key}, after, end, most, pageBytes, largest)
	}
	if err != nil {
		return nil, false, err
	}
	if entries, err = entriesOf(reply); plain || err != nil {
		return entries, int64(len(entries)) < count, err
	}
	bytes := 0
	for _, e := range entries {
		bytes += len(e.h) + len(e.d)
	}
	return entries, int64(len(entries)) < most && bytes < pageBytes, nil
}

// entriesOf reads what XRANGE gives.
func entriesOf(reply []any) ([]entry, error) {
	entries := make([]entry, len(reply))
	for i, item := range reply {
		outer, _ := item.([]any)
		if len(outer) != 2 {
			return nil, fmt.Errorf("redisstream: an entry of a log reads as %T", item)
		}
		id, _ := outer[0].(string)
		inner, _ := outer[1].([]any)
		if len(inner) != 4 || inner[0] != "h" || inner[2] != "d" {
			return nil, fmt.Errorf("redisstream: the entry %s has other fields than h and d: a newer Postrider wrote it", id)
		}
		h, ok1 := inner[1].(string)
		d, ok2 := inner[3].(string)
		if !ok1 || !ok2 || !strings.HasPrefix(h, headVersion) && !strings.HasPrefix(h, ttlVersion) {
			return nil, fmt.Errorf("redisstream: the entry %s is of an unknown format: a newer Postrider wrote it", id)
		}
		entries[i] = entry{id, h, d}
	}
	return entries, nil
}

// attached are the uids of a topic's subscriptions.
func (s *Store) attached(ctx context.Context, topic string) ([]string, error) {
	return s.namesIn(ctx, topic, "subs")
}

// taken are the uids of a topic's snapshots.
func (s *Store) taken(ctx context.Context, topic string) ([]string, error) {
	return s.namesIn(ctx, topic, "snapshots")
}

// namesIn are the fields of a hash of a topic's slot.
func (s *Store) namesIn(ctx context.Context, topic, hash string) ([]string, error) {
	var uids []string
	err := s.readKey(ctx, keyPart{topic: topic, name: hash, sort: sortHash}, func(p part) error {
		for _, sub := range p.(keyPart).pairs {
			uids = append(uids, sub.name)
		}
		return nil
	})
	slices.Sort(uids)
	return uids, err
}

// readKey reads a hash or a sorted set in pages. What is in it all the while is found, and once.
func (s *Store) readKey(ctx context.Context, p keyPart, put func(part) error) error {
	key, seen := s.keys.topic(p.topic, p.name), map[string]bool{}
	for cursor := uint64(0); ; {
		scan := s.client.HScan
		if p.sort == sortZSet {
			scan = s.client.ZScan
		}
		page, next, err := scan(ctx, key, cursor, "", int64(pageMessages)).Result()
		if err != nil {
			return failed(ctx, "read a part of a topic", err)
		}
		p.pairs = nil
		for _, found := range pairsOf(page) {
			if !seen[found.name] {
				seen[found.name] = true
				p.pairs = append(p.pairs, found)
			}
		}
		if len(p.pairs) > 0 {
			if err := put(p); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// readSlot reads all of a slot but its log. It must not change meanwhile.
func (s *Store) readSlot(ctx context.Context, topic string, put func(part) error) error {
	meta, err := s.readMeta(ctx, topic)
	if err != nil || !meta.exists() {
		return err
	}
	uids, err := s.attached(ctx, topic)
	if err != nil {
		return err
	}
	if err := put(meta.keyPart); err != nil {
		return err
	}
	slot := s.keys.topicSlot(topic)
	if err := s.readKeys(ctx, topic, append(slot[2:len(slot):len(slot)], s.keys.snapshots(topic)), put); err != nil {
		return err
	}
	if err := s.readDelayed(ctx, topic, put); err != nil {
		return err
	}
	snaps, err := s.taken(ctx, topic)
	if err != nil {
		return err
	}
	for _, uid := range snaps {
		if err := s.readKeys(ctx, topic, s.keys.snapshot(topic, uid), put); err != nil {
			return err
		}
	}
	for _, uid := range uids {
		if err := s.readKeys(ctx, topic, s.keys.subscription(topic, uid)[len(slot)-1:], put); err != nil {
			return err
		}
	}
	return nil
}

// readKeys reads keys of whatever sort.
func (s *Store) readKeys(ctx context.Context, topic string, keys []string, put func(part) error) error {
	pipe := s.client.Pipeline()
	sorts, lives := make([]*redis.StatusCmd, len(keys)), make([]*redis.DurationCmd, len(keys))
	for i, key := range keys {
		sorts[i], lives[i] = pipe.Type(ctx, key), pipe.PTTL(ctx, key)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return failed(ctx, "read what a topic has", err)
	}
	for i, key := range keys {
		p := keyPart{topic: topic, name: strings.TrimPrefix(key, s.keys.topic(topic, "")), ttl: stays}
		if ttl := lives[i].Val(); ttl >= 0 {
			p.ttl = ttl
		}
		switch sorts[i].Val() {
		case "none":
			continue
		case "hash":
			p.sort = sortHash
		case "zset":
			p.sort = sortZSet
		default:
			return fmt.Errorf("redisstream: %s is a %s: a newer Postrider wrote it", key, sorts[i].Val())
		}
		err := s.readKey(ctx, p, func(page part) error {
			if strings.HasPrefix(p.name, "s:") {
				if err := thaw(key, page.(keyPart).pairs); err != nil {
					return err
				}
			}
			return put(page)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// observe reads what steps on a slot may change meanwhile, as far as it concerns messages up to the meta's count: what a
// restore can make a subscription of.
func (s *Store) observe(ctx context.Context, meta topicMeta, put func(part) error) error {
	uids, err := s.attached(ctx, meta.topic)
	if err != nil {
		return err
	}
	for _, uid := range uids {
		if err := s.observeUnsought(ctx, meta, uid, put); err != nil {
			return err
		}
	}
	if err := s.observeSnapshots(ctx, meta, put); err != nil {
		return err
	}
	return s.readKey(ctx, keyPart{topic: meta.topic, name: "taken", sort: sortZSet, ttl: stays}, put)
}

// observeSubscription reads one subscription: first its state, then what its keys left in the log, and then its outstanding
// messages, to which the former turn but never the other way, unless there is a seek: see observeUnsought. Without state there
// is nothing to read.
func (s *Store) observeSubscription(ctx context.Context, meta topicMeta, uid string, put func(part) error) error {
	keys := s.keys.subscription(meta.topic, uid)
	reply, err := s.run(ctx, subscriptionScript, keys[:5], uid)
	if errors.Is(err, subscriptions.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	f := fields{name: subscriptionScript.name, rest: reply}
	p := subscriptionPart{topic: meta.topic, uid: uid, name: f.text(), floor: f.text()}
	for len(f.rest) > 0 {
		p.state = append(p.state, pair{f.text(), f.text()})
	}
	if f.err != nil {
		return f.err
	}
	slices.SortFunc(p.state, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	if err := thaw(keys[4], p.state); err != nil {
		return err
	}
	p.holdBack(meta)
	if err := put(p); err != nil {
		return err
	}
	overflow := keyPart{topic: meta.topic, name: "overflow:" + uid, sort: sortHash, ttl: stays}
	if err := s.readKey(ctx, overflow, put); err != nil {
		return err
	}
	if err := s.observeSource(ctx, p, put); err != nil {
		return err
	}
	if err := s.observeOutstanding(ctx, keys, p, put); err != nil {
		return err
	}
	return s.observeLetters(ctx, p, put)
}

// holdBack moves the cursor, and what the log need not keep, back behind the last message that the meta counts.
func (p *subscriptionPart) holdBack(meta topicMeta) {
	n := numberOf(meta.pairs, "n")
	if floor, err := strconv.ParseInt(p.floor, 10, 64); err == nil && floor > n {
		p.floor = itoa(n)
	}
	if numberOf(p.state, "n") > n {
		setValue(p.state, "n", itoa(n))
		setValue(p.state, "id", meta.end())
		setValue(p.state, "sum", valueOf(meta.pairs, "sum"))
	}
}

// observeOutstanding reads the messages that are outstanding up to the cursor. What is leased meanwhile lies behind it.
func (s *Store) observeOutstanding(ctx context.Context, keys []string, sub subscriptionPart, put func(part) error) error {
	for after, end := "-inf", valueOf(sub.state, "n"); ; {
		reply, err := s.run(ctx, outstandingScript, keys, after, end, pageMessages)
		if err != nil {
			return err
		}
		p, f := outstandingPart{topic: sub.topic, uid: sub.uid}, fields{name: outstandingScript.name, rest: reply}
		for len(f.rest) > 0 {
			p.messages = append(p.messages, outstanding{f.text(), f.text(), itoa(f.int()), f.text(), f.text()})
		}
		if f.err != nil || len(p.messages) == 0 {
			return f.err
		}
		if err := put(p); err != nil {
			return err
		}
		after = "(" + p.messages[len(p.messages)-1].n
	}
}
