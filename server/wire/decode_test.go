package wire_test

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"postrider/server/api"
	"postrider/server/wire"
)

func TestUnmarshal(t *testing.T) {
	var got api.Subscription
	err := wire.Unmarshal([]byte(`{
		"topic": "projects/p/topics/t",
		"push_config": {"pushEndpoint": "https://example.com", "attributes": {"x_y": "1"}, "pubsubWrapper": {}},
		"ackDeadlineSeconds": "3e1",
		"retainAckedMessages": true,
		"message_retention_duration": "86400.5s",
		"labels": {"someKey": "a", "some_key": "b"},
		"expirationPolicy": {},
		"filter": null,
		"retryPolicy": {"minimumBackoff": "10s"},
		"state": 1,
		"bigtableConfig": {"any": ["thing"]}
	}`), &got)
	if err != nil {
		t.Fatal(err)
	}
	anything := wire.Object(`{"any": ["thing"]}`)
	want := api.Subscription{
		Topic: "projects/p/topics/t",
		PushConfig: &api.PushConfig{
			PushEndpoint:  "https://example.com",
			Attributes:    map[string]string{"x_y": "1"},
			PubsubWrapper: &wire.Empty{},
		},
		AckDeadlineSeconds:       30,
		RetainAckedMessages:      true,
		MessageRetentionDuration: &wire.Duration{Seconds: 86400, Nanos: 500_000_000},
		Labels:                   map[string]string{"someKey": "a", "some_key": "b"},
		ExpirationPolicy:         &api.ExpirationPolicy{},
		RetryPolicy:              &api.RetryPolicy{MinimumBackoff: &wire.Duration{Seconds: 10}},
		State:                    api.SubscriptionStateActive,
		BigtableConfig:           &anything,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestUnmarshalSaysWhatIsWrong(t *testing.T) {
	subscription, publish := new(api.Subscription), new(api.PublishRequest)
	for _, c := range []struct {
		into any
		body string
		want string
	}{
		{subscription, ``, "invalid JSON: expected an object"},
		{subscription, `null`, "invalid JSON: expected an object"},
		{subscription, `[]`, "invalid JSON: expected an object"},
		{subscription, `{} {}`, "invalid JSON: more follows after the end of the object"},
		{subscription, `{"topik":"a"}`, "invalid JSON at topik: unknown field"},
		{subscription, `{"pushConfig":{"endpoint":"a"}}`, "invalid JSON at pushConfig.endpoint: unknown field"},
		{subscription, `{"ack_deadline_seconds":1,"ackDeadlineSeconds":1}`, "invalid JSON at ackDeadlineSeconds: the field occurs twice"},
		{subscription, `{"ack_deadline_seconds":"x"}`, "invalid JSON at ackDeadlineSeconds: expected a 32-bit integer"},
		{subscription, `{"labels":{"a.b":1}}`, `invalid JSON at labels["a.b"]: expected a string`},
		{subscription, `{"labels":{"a":"1","a":"2"}}`, "invalid JSON at labels: a name occurs twice"},
		{subscription, `{"topic":"a","topic":"b"}`, "invalid JSON: a name occurs twice"},
		{subscription, `{"detached":"true"}`, "invalid JSON at detached: expected true or false"},
		{subscription, `{"state":"ON"}`, "invalid JSON at state: expected one of STATE_UNSPECIFIED, ACTIVE, RESOURCE_ERROR"},
		{subscription, `{"expirationPolicy":{"ttl":600}}`, `invalid JSON at expirationPolicy.ttl: expected a duration such as "1.5s"`},
		{subscription, `{"pushConfig":{"noWrapper":{},"pubsubWrapper":{}}}`, "invalid JSON at pushConfig.pubsubWrapper: excludes a field that is set as well"},
		{subscription, `{"bigqueryConfig":"a"}`, "invalid JSON at bigqueryConfig: expected an object"},
		{subscription, `{"` + strings.Repeat("é", 1000) + `":1}`, "invalid JSON at " + strings.Repeat("é", 40) + "…: unknown field"},
		{publish, `{"messages":{}}`, "invalid JSON at messages: expected an array"},
		{publish, `{"messages":[{},null]}`, "invalid JSON at messages[1]: expected an object"},
		{publish, `{"messages":[{"data":"a"}]}`, "invalid JSON at messages[0].data: expected a string in base64"},
		{publish, `{"messages":[{"publishTime":"now"}]}`, `invalid JSON at messages[0].publishTime: expected a time such as "2025-01-31T12:00:00Z"`},
		{publish, "{\"messages\":[{\"orderingKey\":\"\xff\"}]}", "invalid JSON at messages[0].orderingKey: invalid UTF-8 at byte 29"},
		{publish, `{"messages":[{"data":`, "invalid JSON at messages[0].data: unexpected EOF at byte 21"},
	} {
		target := reflect.New(reflect.TypeOf(c.into).Elem()).Interface()
		err := wire.Unmarshal([]byte(c.body), target)
		var ours *wire.Error
		if !errors.As(err, &ours) || err.Error() != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.body, err, c.want)
		}
	}
}

func TestUnmarshalKeepsNothingOfTheBody(t *testing.T) {
	body := []byte(`{"messages":[{"data":"aGVsbG8=","attributes":{"key":"value"},"orderingKey":"order"}]}`)
	var request api.PublishRequest
	if err := wire.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	for i := range body {
		body[i] = 'x'
	}
	m := request.Messages[0]
	if string(m.Data) != "hello" || m.Attributes["key"] != "value" || m.OrderingKey != "order" {
		t.Errorf("changed with the body: %+v", m)
	}
}

func TestUnmarshalRefusesWhatIsNoMessage(t *testing.T) {
	var ours *wire.Error
	for _, into := range []any{nil, api.Topic{}, (*api.Topic)(nil), new(string), new(map[string]any), &struct{ Untagged string }{},
		&struct {
			Any any `json:"any"`
		}{}} {
		if err := wire.Unmarshal([]byte(`{}`), into); err == nil || errors.As(err, &ours) {
			t.Errorf("%T: %v", into, err)
		}
	}
}

// A type may hold itself, and many requests may need its table first.
func TestTablesOfRecursiveTypes(t *testing.T) {
	type tree struct {
		Name     string `json:"name,omitempty"`
		Children []tree `json:"children,omitempty"`
		Parent   *tree  `json:"parent,omitempty"`
	}
	const body = `{"name":"a","children":[{"name":"b","children":[{"parent":{"name":"c"}}]}]}`
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var root tree
			if err := wire.Unmarshal([]byte(body), &root); err != nil {
				t.Error(err)
			}
			if got, err := wire.Marshal(root); err != nil || string(got) != body {
				t.Errorf("%s: %v", got, err)
			}
		})
	}
	wg.Wait()
}

// Every body must have a table: a type that wire cannot read would fail at the first request only.
func TestEveryGeneratedMessageIsKnown(t *testing.T) {
	for _, message := range []any{
		api.Topic{}, api.Subscription{}, api.PublishRequest{}, api.PublishResponse{}, api.PullRequest{}, api.PullResponse{},
		api.AcknowledgeRequest{}, api.ModifyAckDeadlineRequest{}, api.ModifyPushConfigRequest{}, api.UpdateTopicRequest{},
		api.UpdateSubscriptionRequest{}, api.ListTopicsResponse{}, api.ListSubscriptionsResponse{},
		api.ListTopicSubscriptionsResponse{}, api.DetachSubscriptionResponse{}, api.Empty{}, api.Health{}, api.Error{},
		&api.Topic{}, api.Pull200JSONResponse{}, api.DeleteTopic200JSONResponse{},
	} {
		if !wire.Encodes(message) {
			t.Errorf("%T is not known", message)
		}
	}
	for _, other := range []any{
		nil, "", 1, api.GetTopic404JSONResponse{}, api.ListTopicsdefaultJSONResponse{}, api.GetOpenAPI200ApplicationYamlResponse{},
	} {
		if wire.Encodes(other) {
			t.Errorf("%T counts as a message", other)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(`{"subscription":{"ackDeadlineSeconds":"10","labels":{"a":"b"},"state":2},"updateMask":"labels"}`)
	f.Add(`{"subscription":{"retry_policy":{"minimumBackoff":"-1.5s"},"push_config":{"noWrapper":{}}},"update_mask":"a_b,c.d"}`)
	f.Add(`{"subscription":{"bigqueryConfig":{"a":[{"b":1e3}]},"messageTransforms":[{},{"x":null}],"topic":"\ud83d\ude00"}}`)
	f.Add(`{"subscription":null}`)
	f.Fuzz(func(t *testing.T, body string) {
		var first, second api.UpdateSubscriptionRequest
		if err := wire.Unmarshal([]byte(body), &first); err != nil {
			var ours *wire.Error
			if !errors.As(err, &ours) || strings.Contains(err.Error(), "jsontext") {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		written, err := wire.Marshal(first)
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if err := wire.Unmarshal(written, &second); err != nil {
			t.Fatalf("%q became %q: %v", body, written, err)
		}
		if again, err := wire.Marshal(second); err != nil || string(again) != string(written) {
			t.Fatalf("%q became %q, then %q: %v", body, written, again, err)
		}
	})
}
