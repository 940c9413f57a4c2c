package subscriptions_test

import (
	"testing"
	"time"

	"postrider/subscriptions"
)

func expiresAfter(d time.Duration) func(*subscriptions.Subscription) {
	return func(s *subscriptions.Subscription) { s.Expiration = d }
}

// expiringText is who expires soon, and in how many hours.
func (w *world) expiringText() (text string) {
	found, err := w.Expiring(w.Context())
	w.must(err)
	for _, s := range found {
		text += s.Name.ID + " " + time.Until(s.Expires).Round(time.Hour).String() + "; "
	}
	return text
}

func TestExpiringNamesWhoGoesFirst(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "stays", expiresAfter(0))
		w.subscribe("orders", "month", expiresAfter(31*24*time.Hour))
		w.subscribe("orders", "days", expiresAfter(48*time.Hour))
		w.subscribe("orders", "day", expiresAfter(24*time.Hour))
		wait(time.Minute) // the fleet learns of them
		w.want(w.expiringText(), "")
		wait(13 * time.Hour)
		w.want(w.expiringText(), "day 11h0m0s; ")
		wait(7 * time.Hour)
		w.pull("day")
		wait(6 * time.Hour)
		w.want(w.expiringText(), "days 22h0m0s; ")
	})
}
