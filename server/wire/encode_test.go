package wire_test

import (
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"

	"postrider/server/api"
	"postrider/server/wire"
)

func TestMarshal(t *testing.T) {
	when := time.Date(2025, 1, 31, 12, 0, 0, 123_000_000, time.FixedZone("", 3600))
	for _, c := range []struct {
		message any
		want    string
	}{
		{api.Topic{}, `{}`},
		{&api.Topic{Name: "a"}, `{"name":"a"}`},
		{api.Topic{Labels: map[string]string{}, MessageTransforms: []api.MessageTransform{}}, `{}`},
		{api.Topic{Labels: map[string]string{"b": "2", "a_b": "<&>\u2028\"\\\x01é", "": ""}},
			`{"labels":{"":"","a_b":"<&>` + "\u2028" + `\"\\\u0001é","b":"2"}}`},
		{api.Topic{State: api.TopicStateActive}, `{"state":"ACTIVE"}`},
		{api.Topic{SchemaSettings: &api.SchemaSettings{}}, `{"schemaSettings":{}}`},
		{api.Subscription{AckDeadlineSeconds: 10, Detached: true, ExpirationPolicy: &api.ExpirationPolicy{}},
			`{"ackDeadlineSeconds":10,"detached":true,"expirationPolicy":{}}`},
		{api.Subscription{MessageRetentionDuration: &wire.Duration{}, PushConfig: &api.PushConfig{PubsubWrapper: &wire.Empty{}}},
			`{"messageRetentionDuration":"0s","pushConfig":{"pubsubWrapper":{}}}`},
		{api.PullResponse{}, `{}`},
		{api.PullResponse{ReceivedMessages: []api.ReceivedMessage{{AckID: "a", DeliveryAttempt: 1, Message: &api.PubsubMessage{
			Data: wire.Bytes("hi?>"), PublishTime: wire.NewTimestamp(when),
		}}}}, `{"receivedMessages":[{"ackId":"a","deliveryAttempt":1,` +
			`"message":{"data":"aGk/Pg==","publishTime":"2025-01-31T11:00:00.123Z"}}]}`},
		{api.ListTopicsResponse{Topics: []api.Topic{{}, {Name: "b"}}, NextPageToken: "t"}, `{"nextPageToken":"t","topics":[{},{"name":"b"}]}`},
		{api.PublishResponse{MessageIDs: []string{"1", ""}}, `{"messageIds":["1",""]}`},
		{api.Error{Error: api.ErrorStatus{Code: 404, Details: []api.ErrorDetail{api.ErrorDetail(`{"@type":"x"}`)}}},
			`{"error":{"code":404,"details":[{"@type":"x"}],"message":"","status":""}}`},
		{struct {
			N wire.Int64  `json:"n"`
			M *wire.Int64 `json:"m"`
		}{N: 1 << 60}, `{"n":"1152921504606846976","m":null}`},
	} {
		got, err := wire.Marshal(c.message)
		if err != nil || string(got) != c.want {
			t.Errorf("got  %s\nwant %s: %v", got, c.want, err)
		}
		// Generated answers are written by encoding/json: other escapes, the same content.
		var one, other any
		generated, err := json.Marshal(c.message)
		if err != nil {
			t.Errorf("%s: encoding/json: %v", c.want, err)
		}
		_, _ = json.Unmarshal(generated, &one), json.Unmarshal(got, &other)
		if plain, _ := json.Marshal(one); string(plain) != mustJSON(t, other) {
			t.Errorf("encoding/json writes %s, want %s", generated, got)
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMarshalRefuses(t *testing.T) {
	for _, message := range []any{
		nil,
		"text",
		(*api.Topic)(nil),
		api.Topic{Name: "\xff"},
		api.Topic{Labels: map[string]string{"\xff": ""}},
		api.Topic{Labels: map[string]string{"": "\xff"}},
		api.PublishResponse{MessageIDs: []string{"\xff"}},
		api.ListTopicsResponse{Topics: []api.Topic{{KmsKeyName: "\xff"}}},
	} {
		if got, err := wire.Marshal(message); err == nil {
			t.Errorf("%T: wrote %s", message, got)
		}
	}
}

func TestWriteJSON(t *testing.T) {
	w := httptest.NewRecorder()
	if err := wire.WriteJSON(w, 201, api.Topic{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if got := w.Result(); got.StatusCode != 201 || got.Header.Get("Content-Type") != "application/json" ||
		got.ContentLength != 12 || w.Body.String() != `{"name":"a"}` {
		t.Errorf("%d %v %s", got.StatusCode, got.Header, w.Body)
	}
}

func TestWriteJSONWritesNothingOnError(t *testing.T) {
	w := httptest.NewRecorder()
	if err := wire.WriteJSON(w, 200, api.Topic{Name: "\xff"}); err == nil {
		t.Error("no error")
	}
	if len(w.Header()) != 0 || w.Body.Len() != 0 {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
}
