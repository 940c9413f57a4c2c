package redisstream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"postrider/subscriptions"
)

// names spells the names of keys and channels. All of a topic's state is in one hash slot, tagged with the topic's UID and
// partition, which is 0 until topics have several; a project's catalog is in a slot of its own, and what concerns all
// servers in another.
type names struct{ prefix string }

// defaultPrefix begins every name unless Options say otherwise.
const defaultPrefix = "postrider:"

func (k names) fleet(part string) string { return k.prefix + "{fleet}:" + part }

func (k names) servers() string  { return k.fleet("servers") }  // sorted set: server -> ms until which it lives
func (k names) changes() string  { return k.fleet("changes") }  // stream: n, the name of a changed record
func (k names) projects() string { return k.fleet("projects") } // set: projects that have or had a record
func (k names) format() string   { return k.fleet("format") }   // string: the version of all that is stored
func (k names) transfer() string { return k.fleet("transfer") } // hash: a move from or to here (transfer.go)
func (k names) filled() string   { return k.fleet("filled") }   // hash: topic uid -> what was moved here of it, or ''
func (k names) mover() string    { return k.fleet("mover") }    // string: the process that is filling this store
func (k names) signing() string  { return k.fleet("signing") }  // string: the keys that servers sign pushes with

// surveys are the keys of what surveys found:
//
//	survey    hash: life, seq
//	findings  hash: uid -> ms and what was found
//	found     sorted set: uid -> seq of what was found
func (k names) surveys() []string {
	return []string{k.fleet("survey"), k.fleet("findings"), k.fleet("found")}
}

func (k names) topic(uid, part string) string { return k.prefix + "{" + uid + ":0}:" + part }

// wake is the channel on which a topic's wake-ups, or those of the catalog, are published.
func (k names) wake(uid string) string {
	if uid == subscriptions.CatalogTopic {
		return k.fleet("wake")
	}
	return k.topic(uid, "wake")
}

// topicSlot are the keys of a topic's slot in the order in which every script on it takes them:
//
//	meta    hash: v, rev, closed, n, ms, sum, max, kept, keep, retention, retain:SUB, retained, delays, due, delaybytes, ttl
//	log     stream: id ms-nSSSS, fields h and d
//	subs    hash: subscription uid -> name
//	floors  sorted set: subscription or snapshot uid -> n up to which it needs nothing
//	taken   sorted set: SOURCE:ID of a dead letter that was taken, or letter:TOPIC:ID of one that came back -> ms when that
//	        was, or less: rememberTaken after it the topic has forgotten
func (k names) topicSlot(uid string) []string {
	return []string{
		k.topic(uid, "meta"), k.topic(uid, "log"), k.topic(uid, "subs"), k.topic(uid, "floors"), k.topic(uid, "taken"),
	}
}

// delayed are the keys of what is not due yet. They are the last ones of each script that knows them:
//
//	delayed  sorted set: padded own id of a message -> ms when it is due
//	delays   hash: the same -> h without its sum, d
func (k names) delayed(topic string) []string {
	return []string{k.topic(topic, "delayed"), k.topic(topic, "delays")}
}

// subscription are the topic's first four keys and those of one subscription, in the order scripts take them:
//
//	s           hash: v, rev, epoch, the cursor's id, n and sum, where it was at first, bytes outstanding, bound, used, src,
//	            srcbytes and purge of the source, red of what was redriven, counters,
//	            breaker: ms since which it is open, ms of the next probe, failed probes, endpoint
//	leased      sorted set: member -> ms when its lease runs out
//	waiting     sorted set: member -> ms when it is due again
//	out         sorted set: member -> n, of all that is outstanding
//	deliveries  hash: member -> number:released, of what was delivered more than once or released
//	dead        sorted set: member -> ms when it may be taken to be moved
//	order       sorted set of text: key hash and padded id, of what is outstanding of keys with more than one message
//	keys        hash: key hash -> the padded id of the only message that is outstanding, or m for those in order
//	acked       hash: member -> size, of what was acked provisionally
//	overflow    hash: key hash -> count:bytes:id, of what keys left in the log, the first of it after the id
//	overflowed  sorted set: key hash -> n from which there may be something that the key left
//	hungry      sorted set: key hash -> the same n, of those keys whose queue is empty
//	confirmed   sorted set: padded id#number#epoch of an ack that was confirmed -> ms when its lease would have ended
//	failures    hash: member -> the last attempts that failed, a line each (failures.lua)
//	blocked     sorted set: member with a key -> ms when its first attempt failed
//	source      sorted set: member -> n, of what leases read before the log
//	redriven    sorted set: padded id -> ms when it was redriven, of what is outstanding or in the source
//	letters     hash: padded id -> h without the sum, then d, of the same
func (k names) subscription(topic, subscription string) []string {
	keys := k.topicSlot(topic)[:4]
	for _, part := range []string{
		"s:", "leased:", "waiting:", "dead:", "out:", "deliveries:", "order:", "keys:", "acked:", "overflow:", "overflowed:", "hungry:",
		"confirmed:", "failures:", "blocked:", "source:", "redriven:", "letters:",
	} {
		keys = append(keys, k.topic(topic, part+subscription))
	}
	return keys
}

// history is a list of a topic's slot: what it, or a subscription, held at the end of each minute of the last hour
// (survey.lua). It is not moved with the rest.
func (k names) history(topic, subscription string) string {
	if subscription == "" {
		return k.topic(topic, "history")
	}
	return k.topic(topic, "history:"+subscription)
}

// surveyed are the keys of a subscription in the order in which surveys take them.
func (k names) surveyed(topic, subscription string) []string {
	var keys []string
	for _, part := range []string{"s:", "leased:", "waiting:", "dead:", "out:", "acked:", "overflow:", "overflowed:", "source:", "redriven:"} {
		keys = append(keys, k.topic(topic, part+subscription))
	}
	keys = append(keys, k.history(topic, subscription))
	for _, part := range []string{"order:", "keys:", "failures:", "blocked:", "report:"} {
		keys = append(keys, k.topic(topic, part+subscription))
	}
	return keys
}

// state is the first key of one subscription alone.
func (k names) state(topic, subscription string) string { return k.topic(topic, "s:"+subscription) }

// reported are the keys of a subscription and what its owner says of its pushes:
//
//	report  string: version, ms when it was said, ms until which it counts, JSON; it expires
func (k names) reported(topic, subscription string) []string {
	return append(k.subscription(topic, subscription), k.topic(topic, "report:"+subscription))
}

// snapshots is a hash of a topic's slot: snapshot uid -> name.
func (k names) snapshots(topic string) string { return k.topic(topic, "snapshots") }

// snapshot are the keys of a snapshot in its topic's slot:
//
//	snapshot  hash: v, rev, expires, the cursor's id, n and sum, bytes, over and overbytes of the subscription
//	held      sorted set: member -> n, of what was outstanding or in the source
//	left      hash: overflow of the subscription
//	leftat    sorted set: overflowed of the subscription
//	heldat    sorted set: redriven of the subscription
//	heldletters  hash: letters of the subscription
func (k names) snapshot(topic, snapshot string) []string {
	var keys []string
	for _, part := range []string{"snapshot:", "held:", "left:", "leftat:", "heldat:", "heldletters:"} {
		keys = append(keys, k.topic(topic, part+snapshot))
	}
	return keys
}

// brought is a hash of a topic's slot: what a restore of a snapshot that is under way has copied of heldletters. It expires.
func (k names) brought(topic, call string) string { return k.topic(topic, "brought:"+call) }

// catalog are a project's records (hash: name -> record) and their names (sorted set of text), each "t/", "s/" or
// "n/" and the id. While the records are being moved the hash has a v.
func (k names) catalog(project string) []string {
	tag := k.prefix + "{p:" + project + "}:"
	return []string{tag + "catalog", tag + "names"}
}

// member is how a message is written in the sorted sets: its id padded, so that text sorts as the log does, and its key, if
// order is kept.
func member(id subscriptions.MessageID, key uint64) string {
	b := append(appendPadded(make([]byte, 0, 64), uint64(id.Milli), 10, 13), '-')
	b = appendPadded(b, uint64(id.Seq), 10, 16)
	if key != 0 {
		b = appendPadded(append(b, ':'), key, 16, 16)
	}
	return string(b)
}

// parseMember reads a member.
func parseMember(s string) (id subscriptions.MessageID, key uint64, err error) {
	s, hash, keyed := strings.Cut(s, ":")
	ms, seq, _ := strings.Cut(s, "-")
	m, err1 := strconv.ParseInt(ms, 10, 64)
	q, err2 := strconv.ParseInt(seq, 10, 64)
	var err3 error
	if keyed {
		key, err3 = strconv.ParseUint(hash, 16, 64)
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return subscriptions.MessageID{}, 0, fmt.Errorf("redisstream: %q is not a padded message id: %w", s, err)
	}
	return subscriptions.MessageID{Milli: m, Seq: q}, key, nil
}

// takenMember names a dead letter by where it comes from.
func takenMember(source string, id subscriptions.MessageID) string { return source + ":" + id.String() }

// redrivenMember names a dead letter that was put back, by where it comes from.
func redrivenMember(l subscriptions.RedriveLetter) string {
	return "letter:" + takenMember(l.Topic, l.ID)
}
