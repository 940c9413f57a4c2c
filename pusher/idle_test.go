package pusher

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

// A thousand idle push subscriptions do nothing but what the domain's check for
// lost wake-ups makes them do: some five leases a second, all together.
func TestIdleSubscriptionsCostNothing(t *testing.T) { idleSubscriptions(t, 1000) }

func idleSubscriptions(t *testing.T, count int) {
	t.Helper()
	inBubble(t, func(b *bubble) {
		const idle = 10 * time.Minute
		before := runtime.NumGoroutine()
		for i := range count {
			b.must(b.service.CreateSubscription(b.Context(), subscriptions.Subscription{
				Name:  subscriptions.SubscriptionName{Project: "p", ID: fmt.Sprintf("sub-%d", i)},
				Topic: testTopic, Push: &subscriptions.PushConfig{Endpoint: testEndpoint},
			}))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n > count+10 {
			b.Errorf("%d goroutines for %d idle subscriptions", n, count)
		}
		start := b.store.leased()
		time.Sleep(idle)
		synctest.Wait()
		leases := b.store.leased() - start
		t.Logf("%d leases in %v", leases, idle)
		if most := 6 * int(idle/time.Second); leases > most {
			b.Errorf("%d leases in %v, more than the %d of the check", leases, idle, most)
		}
	})
}
