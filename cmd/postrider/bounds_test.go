package main

import (
	"strings"
	"testing"
	"time"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// Numbers that may be too high are told so, and what is warned of is told.
func TestBoundsAndWarningsAreTold(t *testing.T) {
	t.Parallel()
	name := subscriptions.SubscriptionName{Project: "p", ID: "billing"}
	would := func(upperBound bool) string {
		return seekText(name, api.SeekUndoablyRequest{ValidateOnly: true}, api.SeekUndoablyResponse{UnackedMessages: new(wire.Int64(3)), AckedMessages: new(wire.Int64(0)), UpperBound: upperBound})
	}
	if got := would(false); got != "3 messages would come again, and 0 not any more" {
		t.Error(got)
	}
	if got := would(true); got != "at most 3 messages would come again, and at most 0 not any more" {
		t.Error(got)
	}
	at := time.Date(2026, 12, 6, 10, 0, 0, 0, time.UTC)
	text := explained(api.ExplainResponse{
		Undelivered: 7, UnackedBytes: 70, UpperBound: true, OldestUnackedAge: wire.NewDuration(time.Hour),
		ExpireTime: wire.NewTimestamp(at), Warnings: []string{"it goes soon"},
	})
	for _, want := range []string{"at most 7", "at most 70 bytes", "at most 1h", "2026-12-06T10:00:00Z", "warning: it goes soon"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %q", want, text)
		}
	}
	sub := api.Subscription{
		ExpirationPolicy: &api.ExpirationPolicy{TTL: wire.NewDuration(48 * time.Hour)},
		Postrider:        &api.SubscriptionExtensions{ExpireTime: wire.NewTimestamp(at)},
	}
	if got := expirationText(sub); got != "after 2d without use: on 2026-12-06T10:00:00Z" {
		t.Error(got)
	}
}
