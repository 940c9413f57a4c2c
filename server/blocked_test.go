package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

const blockedPath = "/postrider/v1/projects/" + subPath

func TestBlockedKeys(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription(`{"enableMessageOrdering": true, "retryPolicy": {"minimumBackoff": "60s"}}`)
	s.do("POST "+topicPath+":publish", `{"messages": [{"data": "YQ==", "orderingKey": "k"}, {"data": "Yg==", "orderingKey": "k"}]}`).ok()
	s.do("POST "+blockedPath+":blockedKeys", `{}`).is(`{}`)
	got := s.pull(subPath)
	s.nack(subPath, got[0].AckID)
	list := s.do("POST "+blockedPath+":blockedKeys", `{"pageSize": 5}`).ok()
	keys, _ := list["blockedKeys"].([]any)
	if len(keys) != 1 {
		t.Fatalf("blocked keys: %v", list)
	}
	key, _ := keys[0].(map[string]any)
	for name, want := range (fields{
		"orderingKey": "k", "messageId": got[0].Message.MessageID, "publishTime": got[0].Message.PublishTime,
		"lastError": "refused by the subscriber", "attempts": float64(1), "state": "WAITING", "messagesBehind": "1",
	}) {
		if key[name] != want {
			t.Errorf("%s is %v, want %v", name, key[name], want)
		}
	}
	for _, name := range []string{"blockedTime", "failedTime", "nextTime"} {
		at, err := time.Parse(time.RFC3339, fmt.Sprint(key[name]))
		if err != nil || time.Since(at).Abs() > 5*time.Minute {
			t.Errorf("%s is %v", name, key[name])
		}
	}
	unblock := func(format string, args ...any) answer {
		return s.do("POST "+blockedPath+":unblockKey", fmt.Sprintf(format, args...))
	}
	unblock(`{"orderingKey": "k", "messageId": "%s"}`, got[0].Message.MessageID).invalid("action")
	unblock(`{"orderingKey": "k", "messageId": "nonsense", "action": "DROP"}`).invalid("messageId")
	unblock(`{"orderingKey": "k", "messageId": "%s", "action": "DROP"}`, got[1].Message.MessageID).fails(http.StatusConflict, "ABORTED", got[0].Message.MessageID)
	unblock(`{"orderingKey": "k", "messageId": "%s", "action": "DEAD_LETTER"}`, got[0].Message.MessageID).fails(http.StatusBadRequest, "FAILED_PRECONDITION")
	unblock(`{"orderingKey": "k", "messageId": "%s", "action": "DROP"}`, got[0].Message.MessageID).is(`{}`)
	unblock(`{"orderingKey": "k", "messageId": "%s", "action": "DROP"}`, got[0].Message.MessageID).fails(http.StatusNotFound, "NOT_FOUND")
	if left := s.one(subPath); string(left.Message.Data) != "b" {
		t.Errorf("then %q came", left.Message.Data)
	}
	s.do("POST /postrider/v1/projects/p/subscriptions/missing:blockedKeys", `{}`).fails(http.StatusNotFound, "NOT_FOUND")
	s.do("POST /postrider/v1/projects/p/subscriptions/missing:unblockKey", `{}`).fails(http.StatusNotFound, "NOT_FOUND")
}
