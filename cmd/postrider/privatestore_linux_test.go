package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"postrider/server/api"
)

// When the disk of the data directory fills up, publishers are told to wait and subscribers go on. What they acknowledge makes
// room, and then publishers go on, too.
func TestDataDirOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("no small disk can be mounted here, which takes root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	server, s := startOnDataDir(t, filepath.Join(disk, "data"))
	s.run("topics", "create", "orders")
	s.run("subscriptions", "create", "orders", "--topic", "orders")
	var answered, seen ledger
	s.fill(&answered)
	for seen.holds(&answered) != nil {
		messages := s.pulled("orders")
		for _, m := range messages {
			seen.add("orders", m.Message.MessageID)
		}
		if _, err := call[api.Empty](s.Acknowledge(t.Context(), defaultProject, "orders", api.AcknowledgeRequest{AckIDs: ackIDs(messages)})); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() error {
		_, err := call[api.PublishResponse](s.Publish(t.Context(), defaultProject, "orders", batch(1)))
		return err
	})
	if log := server.errors.String(); answered.size() < 1000 || strings.Contains(log, "started again") {
		t.Errorf("%d messages fitted; logged %s", answered.size(), log)
	}
	server.signal(syscall.SIGTERM)
	server.wait()
}

// batch is n messages of some size.
func batch(n int) api.PublishRequest {
	body := api.PublishRequest{}
	for range n {
		body.Messages = append(body.Messages, api.PubsubMessage{Data: make([]byte, 500)})
	}
	return body
}

// fill publishes until the server has no room, and checks how it says so.
func (s dataDirServer) fill(answered *ledger) {
	s.Helper()
	for {
		resp, err := s.Publish(s.Context(), defaultProject, "orders", batch(100))
		if err != nil {
			s.Fatal(err)
		}
		if resp.StatusCode == http.StatusTooManyRequests {
			_ = resp.Body.Close()
			if resp.Header.Get("Retry-After") == "" {
				s.Error("a publisher is not told how long to wait")
			}
			status, body := request(s.T, http.MethodGet, s.Server+"readyz", nil)
			if status == http.StatusOK && strings.Contains(body, "the disk of ") {
				return
			}
			continue // there was less data than it seemed, and so is more room
		}
		answer, err := call[api.PublishResponse](resp, nil)
		if err != nil {
			s.Fatal(err)
		}
		for _, id := range answer.MessageIDs {
			answered.add("orders", id)
		}
	}
}
