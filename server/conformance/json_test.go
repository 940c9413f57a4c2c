package conformance

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"postrider/server/api"
	"postrider/server/wire"
)

// pair is a body as the two sides know it.
type pair struct {
	name   string
	ours   func() any
	theirs func() proto.Message
}

func pairOf[O any, T any, P interface {
	*T
	proto.Message
}](name string) pair {
	return pair{
		name:   name,
		ours:   func() any { return new(O) },
		theirs: func() proto.Message { return P(new(T)) },
	}
}

// pairs are all bodies of the contract. New ones go to the end: the fuzzers' corpus counts on the order.
var pairs = []pair{
	pairOf[api.Topic, pubsubpb.Topic]("Topic"),
	pairOf[api.Subscription, pubsubpb.Subscription]("Subscription"),
	pairOf[api.PublishRequest, pubsubpb.PublishRequest]("PublishRequest"),
	pairOf[api.PullRequest, pubsubpb.PullRequest]("PullRequest"),
	pairOf[api.AcknowledgeRequest, pubsubpb.AcknowledgeRequest]("AcknowledgeRequest"),
	pairOf[api.ModifyAckDeadlineRequest, pubsubpb.ModifyAckDeadlineRequest]("ModifyAckDeadlineRequest"),
	pairOf[api.ModifyPushConfigRequest, pubsubpb.ModifyPushConfigRequest]("ModifyPushConfigRequest"),
	pairOf[api.UpdateTopicRequest, pubsubpb.UpdateTopicRequest]("UpdateTopicRequest"),
	pairOf[api.UpdateSubscriptionRequest, pubsubpb.UpdateSubscriptionRequest]("UpdateSubscriptionRequest"),
	pairOf[api.PublishResponse, pubsubpb.PublishResponse]("PublishResponse"),
	pairOf[api.PullResponse, pubsubpb.PullResponse]("PullResponse"),
	pairOf[api.ListTopicsResponse, pubsubpb.ListTopicsResponse]("ListTopicsResponse"),
	pairOf[api.ListTopicSubscriptionsResponse, pubsubpb.ListTopicSubscriptionsResponse]("ListTopicSubscriptionsResponse"),
	pairOf[api.ListSubscriptionsResponse, pubsubpb.ListSubscriptionsResponse]("ListSubscriptionsResponse"),
	pairOf[api.DetachSubscriptionResponse, pubsubpb.DetachSubscriptionResponse]("DetachSubscriptionResponse"),
}

func pairNamed(t *testing.T, name string) pair {
	t.Helper()
	for _, p := range pairs {
		if p.name == name {
			return p
		}
	}
	t.Fatalf("no body is called %s", name)
	return pair{}
}

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// compare reads a body on both sides: both accept it or both refuse it, and what ours then writes is the same message.
// It tells whether the body was accepted.
func (p pair) compare(t failer, body []byte) bool {
	t.Helper()
	ours, theirs := p.ours(), p.theirs()
	ourErr := wire.Unmarshal(body, ours)
	theirErr := protojson.Unmarshal(body, theirs)
	var told *wire.Error
	if ourErr != nil && !errors.As(ourErr, &told) {
		t.Fatalf("%s %q: not an error for the caller: %v", p.name, body, ourErr)
	}
	if (ourErr == nil) != (theirErr == nil) {
		if !intended(body, told) {
			t.Fatalf("%s %q:\nours:   %v\ntheirs: %v", p.name, body, ourErr, theirErr)
		}
		return ourErr == nil
	}
	if ourErr != nil {
		return false
	}
	p.compareOutput(t, body, ours, theirs)
	p.compareTheirs(t, theirs)
	return true
}

// compareOutput checks that protojson finds the same message in what we write, by either encoder, and that we read it too.
func (p pair) compareOutput(t failer, body []byte, ours any, theirs proto.Message) {
	t.Helper()
	written, err := wire.Marshal(ours)
	if err != nil {
		t.Fatalf("%s %q: cannot be written: %v", p.name, body, err)
	}
	generated, err := json.Marshal(ours)
	if err != nil {
		t.Fatalf("%s %q: encoding/json cannot write it: %v", p.name, body, err)
	}
	for _, out := range [][]byte{written, generated} {
		again := p.theirs()
		if err := protojson.Unmarshal(out, again); err != nil {
			t.Fatalf("%s %q: they refuse our %q: %v", p.name, body, out, err)
		}
		if !proto.Equal(canonical(again), canonical(theirs)) {
			t.Fatalf("%s %q: became %q:\nours:   %v\ntheirs: %v", p.name, body, out, again, theirs)
		}
	}
	back := p.ours()
	if err := wire.Unmarshal(written, back); err != nil {
		t.Fatalf("%s %q: we refuse our own %q: %v", p.name, body, written, err)
	}
	rewritten, err := wire.Marshal(back)
	if err != nil || string(rewritten) != string(written) {
		t.Fatalf("%s %q: written %q, read and written again %q: %v", p.name, body, written, rewritten, err)
	}
}

// compareTheirs checks that we read what their clients write.
func (p pair) compareTheirs(t failer, theirs proto.Message) {
	t.Helper()
	sent, err := protojson.Marshal(theirs)
	if err != nil {
		t.Fatalf("%s %v: they cannot write their own message: %v", p.name, theirs, err)
	}
	ours, again := p.ours(), p.theirs()
	if err := wire.Unmarshal(sent, ours); err != nil {
		t.Fatalf("%s: we refuse their %q: %v", p.name, sent, err)
	}
	written, err := wire.Marshal(ours)
	if err != nil {
		t.Fatalf("%s: we cannot write back their %q: %v", p.name, sent, err)
	}
	if err := protojson.Unmarshal(written, again); err != nil || !proto.Equal(canonical(again), canonical(theirs)) {
		t.Fatalf("%s: their %q became %q: %v", p.name, sent, written, err)
	}
}

// TestEveryFieldIsKnown checks that our messages have every field of theirs, but for those that differ on purpose.
func TestEveryFieldIsKnown(t *testing.T) {
	for _, p := range pairs {
		known := map[string]bool{}
		typ := reflect.TypeOf(p.ours()).Elem()
		for i := range typ.NumField() {
			tag, _ := reflect.StructTag(typ.Field(i).Tag).Lookup("json")
			known[nameInTag(tag)] = true
		}
		fields := p.theirs().ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			if name := fields.Get(i).JSONName(); !known[name] && !inPath(p.name, name) {
				t.Errorf("%s lacks %s", p.name, name)
			}
		}
	}
}
