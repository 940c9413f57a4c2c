package redisstream

import (
	"fmt"
	"strconv"
	"strings"

	"postrider/subscriptions"
)

// Key and channel names. All of a topic's state is in one hash slot, tagged with the topic's UID and partition, which is 0
// until topics have several; a project's catalog is in a slot of its own, and what concerns all servers in another.
const (
	prefix = "postrider:"

	fleet       = prefix + "{fleet}:"
	serversKey  = fleet + "servers"  // sorted set: server -> ms until which it lives
	changesKey  = fleet + "changes"  // stream: names of changed records
	projectsKey = fleet + "projects" // set: projects that have or had a record
	formatKey   = fleet + "format"   // string: the version of all that is stored

	catalogChannel = fleet + "wake"
)

func topicKey(uid, part string) string { return prefix + "{" + uid + ":0}:" + part }

// wakeChannel is where a topic's wake-ups are published.
func wakeChannel(uid string) string {
	if uid == subscriptions.CatalogTopic {
		return catalogChannel
	}
	return topicKey(uid, "wake")
}

// topicKeys are the keys of a topic's slot in the order in which every script on it takes them:
//
//	meta    hash: v, rev, closed, n, ms, sum, max, kept, keep
//	log     stream: id ms-nSSSS, fields h and d
//	subs    hash: subscription uid -> name
//	floors  sorted set: subscription uid -> n up to which it needs nothing
//	taken   sorted set: SOURCE:ID of a dead letter that was taken -> ms
func topicKeys(uid string) []string {
	return []string{
		topicKey(uid, "meta"), topicKey(uid, "log"), topicKey(uid, "subs"), topicKey(uid, "floors"), topicKey(uid, "taken"),
	}
}

// subscriptionKeys are the topic's first four keys and those of one subscription, in the order scripts take them:
//
//	s           hash: v, rev, epoch, the cursor's id, n and sum, bytes outstanding, full, used, counters
//	due         sorted set: member -> 2*ms leased until ms, 2*ms+1 waiting until ms
//	out         sorted set: member -> n, of all that is outstanding
//	deliveries  hash: member -> number:released, of what was delivered more than once or released
//	dead        sorted set: member -> ms when it may be taken to be moved
func subscriptionKeys(topic, subscription string) []string {
	keys := topicKeys(topic)[:4]
	for _, part := range []string{"s:", "due:", "out:", "deliveries:", "dead:"} {
		keys = append(keys, topicKey(topic, part+subscription))
	}
	return keys
}

// catalogKeys are a project's records (hash: name -> record) and their names (sorted set of text), each "t/" or "s/" and
// the id.
func catalogKeys(project string) []string {
	tag := prefix + "{p:" + project + "}:"
	return []string{tag + "catalog", tag + "names"}
}

// member is how a message id is written in the sorted sets: padded, so that text sorts as the log does.
func member(id subscriptions.MessageID) string {
	return fmt.Sprintf("%013d-%016d", id.Milli, id.Seq)
}

// parseMember reads a padded id.
func parseMember(s string) (subscriptions.MessageID, error) {
	ms, seq, _ := strings.Cut(s, "-")
	m, err1 := strconv.ParseInt(ms, 10, 64)
	q, err2 := strconv.ParseInt(seq, 10, 64)
	if err1 != nil || err2 != nil {
		return subscriptions.MessageID{}, fmt.Errorf("redisstream: %q is not a padded message id", s)
	}
	return subscriptions.MessageID{Milli: m, Seq: q}, nil
}

// takenMember names a dead letter by where it comes from.
func takenMember(source string, id subscriptions.MessageID) string { return source + ":" + id.String() }
