package server

import (
	"reflect"
	"strings"
	"testing"

	"postrider/server/api"
	"postrider/server/wire"
)

// publishBodies are what the shortcut for publishes must read.
var publishBodies = []string{
	`{}`,
	`{"messages":[]}`,
	`{"messages":[{}]}`,
	`{"messages":[{"data":""}]}`,
	`{"messages":[{"data":"aGk="},{"data":"aGk"},{"data":"aGkh"},{"data":"+/+/"},{"data":"/w=="}]}`,
	"\r\n {\t\"messages\" : [ { \"orderingKey\" : \"k\" , \"data\":\"aGk=\" } , { \"attributes\" : { } } ] } \n",
	`{"messages":[{"attributes":{"a":"","é":"日本","":"x"},"orderingKey":""}]}`,
	`{"messages":[` + strings.Repeat(`{"data":"aGk="},`, 1500) + `{"data":"aGk="}]}`,
	`{"messages":[{"data":"` + strings.Repeat("abcd", 20_000) + `"},{"data":"` + strings.Repeat("abcd", 3_000) + `"},{"data":"aGk="}]}`,
}

// otherBodies are what it must leave alone, right or wrong.
var otherBodies = []string{
	``, `null`, `[]`, `{`, `{}{}`, `{} x`, `{"messages":[]`, `{"messages":[],}`, `{"messages":[{}],"messages":[]}`,
	`{"messages":null}`, `{"messages":[null]}`, `{"messages":[{},]}`, `{"messages":[{"data":"aGk=",}]}`, `{"messages":[{"data" "aGk="}]}`,
	`{"messages":[{"data":null}]}`, `{"messages":[{"data":"aG\/k"}]}`, "{\"messages\":[{\"data\":\"aG\nk=\"}]}", `{"messages":[{"data":"-_-_"}]}`,
	"{\"messages\":[{\"data\":\"aG\nkh\"}]}", "{\"messages\":[{\"data\":\"aG\r\n\r\nkh\"}]}", `{"messages":[{"data":"a"}]}`, `{"messages":[{"data":"aGk=="}]}`, `{"messages":[{"data":"===="}]}`, `{"messages":[{"data":"","data":""}]}`,
	`{"messages":[{"attributes":{},"attributes":{}}]}`, `{"messages":[{"attributes":{"a":"1","a":"2"}}]}`, `{"messages":[{"attributes":{"a":1}}]}`,
	`{"messages":[{"attributes":{"a":"\u0041"}}]}`, "{\"messages\":[{\"attributes\":{\"a\":\"\xff\"}}]}", "{\"messages\":[{\"orderingKey\":\"\x01\"}]}",
	`{"messages":[{"orderingKey":"","orderingKey":""}]}`, `{"messages":[{"ordering_key":"a"}]}`, `{"messages":[{"messageId":"a"}]}`,
	`{"messages":[{"Data":"aGk="}]}`, `{"messages":[{"data":"aGk`, `{"messages":[{"publishTime":"2025-01-31T12:00:00Z"}]}`,
}

func TestPublishBodyIsReadByHand(t *testing.T) {
	t.Parallel()
	for _, body := range publishBodies {
		if !samePublish(t, body) {
			t.Errorf("left to the codec: %.200s", body)
		}
	}
	for _, body := range otherBodies {
		if samePublish(t, body) {
			t.Errorf("read by hand: %s", body)
		}
	}
	if readPublish([]byte(`{}`), new(api.PullRequest)) {
		t.Error("took another message for a publish")
	}
}

// samePublish tells whether a body is read by hand. If so, the codec must find the same in it; if not, nothing may be left.
func samePublish(t *testing.T, body string) bool {
	t.Helper()
	var byHand, byCodec api.PublishRequest
	raw := []byte(body)
	if !readPublish(raw, &byHand) {
		if !reflect.DeepEqual(byHand, byCodec) {
			t.Errorf("%.200q was refused, and left %+v", body, byHand)
		}
		return false
	}
	for i := range raw {
		raw[i] = 'x' // nothing may be kept of it
	}
	if err := wire.Unmarshal([]byte(body), &byCodec); err != nil {
		t.Errorf("%.200q: %v", body, err)
	}
	if !reflect.DeepEqual(byHand, byCodec) {
		t.Errorf("%.200q is\n%+v\nnot\n%+v", body, byHand, byCodec)
	}
	return true
}

// Who appends to a payload must not write into the next one.
func TestPayloadsAreApart(t *testing.T) {
	t.Parallel()
	var request api.PublishRequest
	if !readPublish([]byte(`{"messages":[{"data":"YWE="},{"data":"YmI="}]}`), &request) {
		t.Fatal("not read")
	}
	_ = append(request.Messages[0].Data, "xx"...)
	if got := string(request.Messages[1].Data); got != "bb" {
		t.Errorf("the second is %q", got)
	}
}

func FuzzPublishBody(f *testing.F) {
	for _, body := range append(publishBodies, otherBodies...) {
		if len(body) < 10_000 {
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, body string) { samePublish(t, body) })
}
