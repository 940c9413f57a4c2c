package pusher

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

// lines is a log in memory.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// parsed are the lines of refused pushes at a level.
func (l *lines) parsed(t *testing.T, level slog.Level) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []map[string]any
	for line := range bytes.Lines(l.Bytes()) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		if m["msg"] == "push refused" && m["level"] == level.String() {
			all = append(all, m)
		}
	}
	return all
}

func loggingWorker(log *lines) *worker {
	w := &worker{log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	w.configure(subscriptions.Subscription{
		Name: subscriptions.SubscriptionName{Project: "p", ID: "sub"}, UID: "uid", Revision: 1,
		Push: &subscriptions.PushConfig{Endpoint: "https://user:hunter2@endpoint.example/path?token=hunter2"},
	})
	return w
}

func TestARefusalIsLoggedWithoutSecrets(t *testing.T) {
	log := &lines{}
	w := loggingWorker(log)
	p := &push{
		grant:   &grant{sub: w.sub, target: w.target},
		receipt: subscriptions.Receipt{ID: subscriptions.MessageID{Milli: 5, Seq: 10001}},
		attempt: 2, took: time.Second, reason: timedOut,
		answer: answer{err: errors.New(strings.Repeat("long ", 1000))},
	}
	w.logRefusal(p)
	got := log.parsed(t, slog.LevelWarn)
	if len(got) != 1 {
		t.Fatalf("%d lines", len(got))
	}
	for attr, want := range map[string]any{
		"subscription": "projects/p/subscriptions/sub", "message": "5-10001", "attempt": 2.0, "reason": "timeout",
		"status": 0.0, "duration": float64(time.Second), "endpoint": "https://endpoint.example/path",
	} {
		if got[0][attr] != want {
			t.Errorf("%s is %v, want %v", attr, got[0][attr], want)
		}
	}
	if log.Len() > 1000 || strings.Contains(log.String(), "hunter2") {
		t.Errorf("the line is too long or holds a secret: %s", log)
	}
}

func TestAnEndpointThatIsDownDoesNotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		w := loggingWorker(log)
		p := &push{grant: &grant{sub: w.sub, target: w.target}, reason: badStatus}
		for range 10_000 {
			w.logRefusal(p)
			time.Sleep(time.Millisecond)
		}
		w.logRefusal(p)
		warned, debugged := log.parsed(t, slog.LevelWarn), log.parsed(t, slog.LevelDebug)
		if len(warned) != 11 || len(warned)+len(debugged) != 10_001 {
			t.Errorf("%d warnings and %d lines for debugging, want 11 in 10 s and the rest", len(warned), len(debugged))
		}
		if held := warned[1]["suppressed"]; held != 999.0 {
			t.Errorf("suppressed %v, want 999", held)
		}
	})
}
