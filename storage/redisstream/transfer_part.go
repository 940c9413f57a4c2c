package redisstream

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A part is a piece of what a store keeps, small enough for one step. Moves, backups and restores are streams of parts. What
// the parts hold is text as Redis holds it: nothing is interpreted on the way but what must be.
type part interface {
	// kind tells the parts of a file from one another.
	kind() byte
	// texts are all that the part holds; partOf reads them.
	texts() []string
	// count adds the part to a tally.
	count(*tally)
}

// logPart is a page of a topic's log.
type logPart struct {
	topic   string // uid, here and below
	entries []entry
}

// entry is one entry of a log.
type entry struct{ id, h, d string }

// key is the hash of the message's key, as members have it; empty without one.
func (e entry) key() string {
	if len(e.h) < 17 || strings.Trim(e.h[1:17], "0") == "" {
		return ""
	}
	return e.h[1:17]
}

// size is the message's size, which stands in h.
func (e entry) size() int64 {
	if len(e.h) < headLength {
		return 0
	}
	n, _ := strconv.ParseInt(e.h[17:headLength], 16, 64)
	return n
}

// sum is the running sum of sizes up to and with this entry.
func (e entry) sum() int64 {
	length := headLength
	if strings.HasPrefix(e.h, ttlVersion) {
		length = ttlHeadLength
	}
	n, _ := strconv.ParseInt(e.h[min(length, len(e.h)):], 10, 64)
	return n
}

// headLength is where the sum begins in h, and ttlHeadLength where it does when the ms stand before it at which the message's
// time to live is over.
const (
	headLength    = 25
	ttlHeadLength = headLength + 13
)

// keyPart is one of a slot's keys, or a page of it. It is named without what the topic's keys have in common.
type keyPart struct {
	topic, name string
	sort        byte          // sortHash or sortZSet
	ttl         time.Duration // stays, or how long it lives
	pairs       []pair        // field and value, or member and score
}

const (
	sortHash = 'h'
	sortZSet = 'z'
)

// stays is the time to live of a key that has none.
const stays = -time.Millisecond

// subscriptionPart is what a backup sees of a subscription's state in one moment. floor is empty when the topic has none.
type subscriptionPart struct {
	topic, uid, name, floor string
	state                   []pair
}

// outstandingPart is what a backup sees of some of its outstanding messages, of each in one moment.
type outstandingPart struct {
	topic, uid string
	messages   []outstanding
}

// outstanding is one outstanding message. set is the key that it stands in beside out, by its place among those of a
// subscription, and score what it has there; deliveries is empty when there are none.
type outstanding struct{ member, n, set, score, deliveries string }

// The values of outstanding.set.
const (
	inNone    = "0"
	inLeased  = "6"
	inWaiting = "7"
	inDead    = "8"
	inAcked   = "13"
)

// recordsPart is a page of a project's catalog.
type recordsPart struct {
	project string
	records []pair // name in the catalog, record
}

// pair is a name and what stands under it.
type pair struct{ name, text string }

// valueOf is what stands under a name; empty without one.
func valueOf(pairs []pair, name string) string {
	i := slices.IndexFunc(pairs, func(p pair) bool { return p.name == name })
	if i < 0 {
		return ""
	}
	return pairs[i].text
}

// numberOf is valueOf for a number.
func numberOf(pairs []pair, name string) int64 {
	n, _ := strconv.ParseInt(valueOf(pairs, name), 10, 64)
	return n
}

// setValue puts another text under a name that is there.
func setValue(pairs []pair, name, text string) {
	for i := range pairs {
		if pairs[i].name == name {
			pairs[i].text = text
		}
	}
}

func appendPairs(texts []string, pairs []pair) []string {
	for _, p := range pairs {
		texts = append(texts, p.name, p.text)
	}
	return texts
}

func (logPart) kind() byte          { return 'l' }
func (keyPart) kind() byte          { return 'k' }
func (subscriptionPart) kind() byte { return 's' }
func (outstandingPart) kind() byte  { return 'o' }
func (recordsPart) kind() byte      { return 'r' }

func (p logPart) texts() []string {
	texts := append(make([]string, 0, 1+3*len(p.entries)), p.topic)
	for _, e := range p.entries {
		texts = append(texts, e.id, e.h, e.d)
	}
	return texts
}

func (p keyPart) texts() []string {
	return appendPairs([]string{p.topic, p.name, string(p.sort), itoa(p.ttl.Milliseconds())}, p.pairs)
}

func (p subscriptionPart) texts() []string {
	return appendPairs([]string{p.topic, p.uid, p.name, p.floor}, p.state)
}

func (p outstandingPart) texts() []string {
	texts := append(make([]string, 0, 2+5*len(p.messages)), p.topic, p.uid)
	for _, m := range p.messages {
		texts = append(texts, m.member, m.n, m.set, m.score, m.deliveries)
	}
	return texts
}

func (p recordsPart) texts() []string { return appendPairs([]string{p.project}, p.records) }

// shapes are how many texts a kind of part begins with, and in groups of how many the others come.
var shapes = map[byte]struct{ first, each int }{'l': {1, 3}, 'k': {4, 2}, 's': {4, 2}, 'o': {2, 5}, 'r': {1, 2}}

// partOf makes a part of its texts.
func partOf(kind byte, texts []string) (part, error) {
	shape, ok := shapes[kind]
	if !ok {
		return nil, fmt.Errorf("there is no kind %q", kind)
	}
	if len(texts) < shape.first || (len(texts)-shape.first)%shape.each != 0 {
		return nil, fmt.Errorf("kind %q has %d texts", kind, len(texts))
	}
	first, rest := texts[:shape.first], texts[shape.first:]
	switch kind {
	case 'l':
		p := logPart{topic: first[0]}
		for t := range slices.Chunk(rest, 3) {
			p.entries = append(p.entries, entry{t[0], t[1], t[2]})
		}
		return p, nil
	case 'k':
		ms, err := strconv.ParseInt(first[3], 10, 64)
		if err != nil || first[2] != string(rune(sortHash)) && first[2] != string(rune(sortZSet)) {
			return nil, fmt.Errorf("the key %q is of the sort %q and lives %q ms", first[1], first[2], first[3])
		}
		return keyPart{first[0], first[1], first[2][0], time.Duration(ms) * time.Millisecond, pairsOf(rest)}, nil
	case 's':
		return subscriptionPart{first[0], first[1], first[2], first[3], pairsOf(rest)}, nil
	case 'o':
		p := outstandingPart{topic: first[0], uid: first[1]}
		for t := range slices.Chunk(rest, 5) {
			p.messages = append(p.messages, outstanding{t[0], t[1], t[2], t[3], t[4]})
		}
		return p, nil
	default:
		return recordsPart{first[0], pairsOf(rest)}, nil
	}
}

func pairsOf(texts []string) []pair {
	var pairs []pair
	for t := range slices.Chunk(texts, 2) {
		pairs = append(pairs, pair{t[0], t[1]})
	}
	return pairs
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
