package redisstream

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"postrider/subscriptions"
)

var topicFixture = subscriptions.Topic{
	Name: subscriptions.TopicName{Project: "p", ID: "topic"}, UID: "u1", Revision: 7,
	Labels: map[string]string{"a": "b"}, Phase: subscriptions.Active,
}

var subscriptionFixture = subscriptions.Subscription{
	Name: subscriptions.SubscriptionName{Project: "p", ID: "sub"}, UID: "u2", Revision: 8,
	Topic: subscriptions.TopicName{Project: "q", ID: "topic"}, TopicUID: "u1", Detached: true,
	AckDeadline: 10 * time.Second, Push: &subscriptions.PushConfig{Endpoint: "https://example.com/"},
	PushAttributes: map[string]string{"x-goog-version": "v1"}, Retention: 7 * 24 * time.Hour, Expiration: 24 * time.Hour,
	DeadLetter: &subscriptions.DeadLetterPolicy{Topic: subscriptions.TopicName{Project: "q", ID: "dead"}, MaxAttempts: 5},
	Retry:      &subscriptions.RetryPolicy{Minimum: time.Second, Maximum: time.Minute},
	Labels:     map[string]string{"c": "d"}, Phase: subscriptions.Deleting,
}

var snapshotFixture = subscriptions.Snapshot{
	Name: subscriptions.SnapshotName{Project: "p", ID: "snap"}, UID: "u3", Revision: 9,
	Topic: subscriptions.TopicName{Project: "q", ID: "topic"}, TopicUID: "u1",
	Subscription: subscriptions.SubscriptionName{Project: "r", ID: "sub"}, SubscriptionUID: "u2",
	Expires: time.UnixMilli(1_800_000_000_123).UTC(), MaxExpires: time.UnixMilli(1_800_000_000_456).UTC(),
	Labels: map[string]string{"e": "f"}, Phase: subscriptions.Active,
}

// TestStoredRecords reads what the first version wrote. Fields may be added to records, but these texts must be read for
// ever.
func TestStoredRecords(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "records-v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	var stored struct{ Topic, Subscription, Snapshot string }
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	if got, err := decodeTopic(topicFixture.Name, stored.Topic); err != nil || !reflect.DeepEqual(got, topicFixture) {
		t.Errorf("the topic reads as %+v (%v)", got, err)
	}
	got, err := decodeSubscription(subscriptionFixture.Name, stored.Subscription)
	if err != nil || !reflect.DeepEqual(got, subscriptionFixture) {
		t.Errorf("the subscription reads as %+v (%v)", got, err)
	}
	if got, err := decodeSnapshot(snapshotFixture.Name, stored.Snapshot); err != nil || !reflect.DeepEqual(got, snapshotFixture) {
		t.Errorf("the snapshot reads as %+v (%v)", got, err)
	}
}

// TestRecordsHoldEveryField fails when a field is added to a record and not stored.
func TestRecordsHoldEveryField(t *testing.T) {
	t.Parallel()
	var topic subscriptions.Topic
	fill(reflect.ValueOf(&topic).Elem())
	text, err := encodeTopic(topic)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeTopic(topic.Name, text); err != nil || !reflect.DeepEqual(got, topic) {
		t.Errorf("%+v (%v), want %+v", got, err, topic)
	}

	var sub subscriptions.Subscription
	fill(reflect.ValueOf(&sub).Elem())
	sub.TopicDeleted, sub.TopicRetention, sub.Expires = false, 0, time.Time{} // found out when a record is read
	text, err = encodeSubscription(sub)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeSubscription(sub.Name, text); err != nil || !reflect.DeepEqual(got, sub) {
		t.Errorf("%+v (%v), want %+v", got, err, sub)
	}
}

func TestSnapshotRecordsHoldEveryField(t *testing.T) {
	t.Parallel()
	var snap subscriptions.Snapshot
	fill(reflect.ValueOf(&snap).Elem())
	snap.TopicDeleted = false // found out when a record is read
	text, err := encodeSnapshot(snap)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeSnapshot(snap.Name, text); err != nil || !reflect.DeepEqual(got, snap) {
		t.Errorf("%+v (%v), want %+v", got, err, snap)
	}
}

func TestOperationRecordsHoldEveryField(t *testing.T) {
	t.Parallel()
	var op subscriptions.Operation
	fill(reflect.ValueOf(&op).Elem())
	op.Failure = subscriptions.Errorf(subscriptions.Canceled, "text")
	text, err := encodeOperation(op)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeOperation(op.Name, text); err != nil || !reflect.DeepEqual(got, op) {
		t.Errorf("%+v (%v), want %+v", got, err, op)
	}
}

// fill sets everything in v to something that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if t, ok := v.Addr().Interface().(*time.Time); ok {
			*t = time.UnixMilli(7).UTC()
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() { // what is not exported is not stored
				fill(v.Field(i))
			}
		}
	default:
		panic("no value for " + v.Type().String())
	}
}

func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{"", "1", "1 u", "1 u 1", "1 u 1 ", "1 u x {}", "1 u 1 {", "2 u 1 {}", `{"a":1}`} {
		if _, err := decodeTopic(topicFixture.Name, stored); err == nil {
			t.Errorf("%q is taken for a topic", stored)
		}
	}
}
