//go:build load

package pusher

import "testing"

// Ten thousand cost the store no more: the domain's check is bounded by the server.
func TestLoadIdleSubscriptionsCostNothing(t *testing.T) { idleSubscriptions(t, 10_000) }
