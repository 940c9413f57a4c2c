package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"

	"postrider/server/api"
)

// push is what a push endpoint is POSTed.
type push struct {
	Message         api.PubsubMessage `json:"message"`
	Subscription    string            `json:"subscription"`
	DeliveryAttempt int               `json:"deliveryAttempt"` // 0 without a dead-letter policy
}

// receiver is a push endpoint: answer chooses the status for each push.
func receiver(answer func(push) int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p push
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil || r.Method != http.MethodPost {
			http.Error(w, "expected a push of Pub/Sub", http.StatusBadRequest)
			return
		}
		w.WriteHeader(answer(p))
	})
}

// serveUntil serves on a listener until ctx ends, then lets requests finish.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	s := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { stopped <- s.Shutdown(context.WithoutCancel(ctx)) })
	err := s.Serve(listener)
	if stop() { // Serve failed by itself
		return err
	}
	return errors.Join(<-stopped, ignore(err, http.ErrServerClosed))
}

// ignore drops an error that is expected.
func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
