package redisstream

import (
	"reflect"
	"testing"
	"time"

	"postrider/subscriptions"
)

// All that an operation has comes back from what is stored: it must go on after the death of the server that began it.
func TestOperationRecord(t *testing.T) {
	at := time.UnixMilli(1_767_225_900_000).UTC()
	ids := []subscriptions.MessageID{{Milli: 5, Seq: 10_001}, {Milli: 6, Seq: 20_002}}
	sub := subscriptions.SubscriptionName{Project: "p", ID: "billing"}
	op := subscriptions.Operation{
		Name: subscriptions.OperationName{Project: "p", ID: "redrive-1"}, UID: "u", Kind: subscriptions.RedriveKind,
		Query: subscriptions.DeadLetterQuery{
			Subscription: sub, Topic: subscriptions.TopicName{Project: "p", ID: "dead"}, Holder: sub,
			DeadLetterFilter: subscriptions.DeadLetterFilter{IDs: ids, Text: "text", From: sub, Since: at, Before: at.Add(time.Hour)},
		},
		Topic: subscriptions.TopicName{Project: "p", ID: "dead"}, PerSecond: 0.5,
		Progress:        subscriptions.OperationProgress{Total: 1, AtLeast: true, Moved: 2, Gone: 4, Failed: 3, Reason: "reason", Waiting: "waiting"},
		NotFound:        ids[:1],
		CancelRequested: true, Done: true, Failure: subscriptions.Errorf(subscriptions.Canceled, "stopped"),
		Created: at, Ended: at.Add(time.Minute), Revision: 7,
		Place: subscriptions.PeekPlace{Part: subscriptions.PeekAhead, ID: ids[0]}, Until: ids[1],
	}
	checkAllSet(t, reflect.ValueOf(op), "an operation")
	stored, err := encodeOperation(op)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decodeOperation(op.Name, stored)
	if err != nil || !reflect.DeepEqual(back, op) {
		t.Errorf("%+v\ncomes back as\n%+v %v", op, back, err)
	}
}

// checkAllSet fails for a field that the test leaves out, such as one that is new.
func checkAllSet(t *testing.T, v reflect.Value, of string) {
	t.Helper()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch f := v.Field(i); {
		case f.IsZero():
			t.Errorf("%s: the test has no %s", of, name)
		case f.Kind() == reflect.Struct && f.Type() != reflect.TypeFor[time.Time]():
			checkAllSet(t, f, of+"."+name)
		}
	}
}
