package redisstream

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"postrider/subscriptions"
)

// observed is what a backup saw of a subscription: its state in one moment, and after that of each outstanding message, and of
// each key that left messages in the log, where they stood in another. What belongs together may have changed in between, so
// a restore works out again what follows from the rest: queues, sums and counts.
type observed struct {
	sub      subscriptionPart
	left     []pair // key hash, count:bytes:id as in overflow
	messages []outstanding
	source   []pair // member, n
	redriven []pair // padded id, ms
	letters  []pair // padded id, h without the sum and d

	sizes map[string]int64    // by member, as the log has them
	rest  map[string]leftover // by key hash: what the log has behind the id
}

// leftover are messages of a key that stand in the log alone.
type leftover struct {
	after        subscriptions.MessageID // none of them is older
	count, bytes int64
	first        int64 // n of the first
}

// build gives the keys of a subscription in its topic's slot.
func (o *observed) build() []keyPart {
	kept := o.settleOrder()
	keys := map[string][]pair{}
	add := func(name, key, text string) { keys[name] = append(keys[name], pair{key, text}) }
	var bytes int64
	sets := map[string]string{inLeased: "leased", inWaiting: "waiting", inDead: "dead", inAcked: "acked"}
	for _, m := range kept {
		bytes += o.sizes[m.member]
		add("out", m.member, m.n)
		if m.set != inNone {
			add(sets[m.set], m.member, m.score)
		}
		if m.deliveries != "" {
			add("deliveries", m.member, m.deliveries)
		}
	}
	queues := byKey(kept)
	for _, key := range slices.Sorted(maps.Keys(queues)) {
		if queue := queues[key]; len(queue) == 1 {
			add("keys", key, queue[0].member[:memberLength])
			continue
		}
		add("keys", key, "m")
		for _, m := range queues[key] {
			add("order", key+m.member[:memberLength], "0")
		}
	}
	over, overbytes := int64(0), int64(0)
	for _, key := range slices.Sorted(maps.Keys(o.rest)) {
		r := o.rest[key]
		if r.count == 0 {
			continue
		}
		over, overbytes = over+r.count, overbytes+r.bytes
		add("overflow", key, fmt.Sprintf("%d:%d:%s", r.count, r.bytes, r.after))
		add("overflowed", key, itoa(r.first))
		if len(queues[key]) == 0 {
			add("hungry", key, itoa(r.first))
		}
	}
	src, srcbytes := o.buildSource(add)
	state := slices.Clone(o.sub.state)
	setValue(state, "bytes", itoa(bytes))
	setValue(state, "over", itoa(over))
	setValue(state, "overbytes", itoa(overbytes))
	setValue(state, "acked", itoa(numberOf(state, "acked")+int64(len(o.messages)-len(kept))))
	if src > 0 || valueOf(state, "src") != "" {
		state = putValue(state, "src", itoa(src))
		state = putValue(state, "srcbytes", itoa(srcbytes))
		setValue(state, "purge", "")
	}
	members := map[string]bool{}
	for _, name := range []string{"out", "source"} {
		for _, m := range keys[name] {
			members[m.name[:min(memberLength, len(m.name))]] = true
		}
	}
	if red := o.buildLetters(members, add); red > 0 || valueOf(state, "red") != "" {
		state = putValue(state, "red", itoa(red))
	}
	keys["s"] = state
	return o.parts(keys)
}

// parts makes keys of what stands in them. The name comes first: by it the others are found when a restore is broken off.
func (o *observed) parts(keys map[string][]pair) []keyPart {
	var parts []keyPart
	if o.sub.name != "" {
		parts = append(parts, keyPart{o.sub.topic, "subs", sortHash, stays, []pair{{o.sub.uid, o.sub.name}}})
	}
	if o.sub.floor != "" {
		parts = append(parts, keyPart{o.sub.topic, "floors", sortZSet, stays, []pair{{o.sub.uid, o.sub.floor}}})
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		sort := byte(sortZSet)
		if slices.Contains([]string{"s", "deliveries", "keys", "acked", "overflow", "letters"}, name) {
			sort = sortHash
		}
		parts = append(parts, keyPart{o.sub.topic, name + ":" + o.sub.uid, sort, stays, keys[name]})
	}
	return parts
}

// memberLength is how long a member is without a key.
const memberLength = 30

// keyOf is the key's hash in a member; empty without one.
func keyOf(member string) string {
	_, key, _ := strings.Cut(member, ":")
	return key
}

// byKey are the queues of keys, in order of the log.
func byKey(messages []outstanding) map[string][]*outstanding {
	queues := map[string][]*outstanding{}
	for i := range messages {
		if key := keyOf(messages[i].member); key != "" {
			queues[key] = append(queues[key], &messages[i])
		}
	}
	return queues
}

// settleOrder gives the outstanding messages in states that go together, as order.lua says: what was acked at the head of its
// queue is gone; the head is leased, waits or is dead; leased or acked behind it is only what follows a leased head without
// a gap. Messages that are sent back for that spend no attempt.
func (o *observed) settleOrder() []outstanding {
	all := slices.Clone(o.messages)
	gone := map[string]bool{}
	for i := range all {
		if keyOf(all[i].member) == "" && all[i].set == inNone { // nothing would ever find it
			all[i].set, all[i].score = inWaiting, "0"
		}
	}
	for _, queue := range byKey(all) {
		for len(queue) > 0 && queue[0].set == inAcked {
			gone[queue[0].member] = true
			queue = queue[1:]
		}
		if len(queue) == 0 {
			continue
		}
		head := queue[0]
		if head.set == inNone {
			head.set, head.score = inWaiting, "0"
			head.deliveries = orText(head.deliveries, "0:0")
		}
		run := head.set == inLeased
		for _, m := range queue[1:] {
			if run = run && (m.set == inLeased || m.set == inAcked); !run {
				m.park()
			}
		}
	}
	return slices.DeleteFunc(all, func(m outstanding) bool { return gone[m.member] })
}

// park lets a message wait for those before it in its queue.
func (m *outstanding) park() {
	if m.set == inNone {
		return
	}
	number, released, _ := strings.Cut(orText(m.deliveries, "1:0"), ":")
	if m.set == inLeased || m.set == inAcked {
		n, _ := strconv.ParseInt(released, 10, 64)
		released = itoa(n + 1)
	}
	m.set, m.score, m.deliveries = inNone, "", number+":"+released
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// leftAfter says from where on each key left messages in the log: not before what is outstanding of it.
func (o *observed) leftAfter() (map[string]subscriptions.MessageID, error) {
	queues, after := byKey(o.messages), map[string]subscriptions.MessageID{}
	for _, l := range o.left {
		parts := strings.SplitN(l.text, ":", 3)
		id, err := subscriptions.ParseMessageID(parts[len(parts)-1])
		if err != nil {
			return nil, fmt.Errorf("redisstream: what the key %s left in the log reads as %q", l.name, l.text)
		}
		if queue := queues[l.name]; len(queue) > 0 {
			last, _, err := parseMember(queue[len(queue)-1].member)
			if err != nil {
				return nil, err
			}
			if last.Compare(id) > 0 {
				id = last
			}
		}
		after[l.name] = id
	}
	return after, nil
}
