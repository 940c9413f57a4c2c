package subscriptions_test

import (
	"context"
	"strings"
	"testing"

	"postrider/subscriptions"
)

// fenced allows endpoints below one URL, and notes what it was asked.
type fenced struct{ asked []string }

func (f *fenced) CheckEndpoint(_ context.Context, endpoint string) error {
	f.asked = append(f.asked, endpoint)
	if !strings.HasPrefix(endpoint, "https://good.example/") {
		return subscriptions.Errorf(subscriptions.InvalidArgument, "pushConfig.pushEndpoint: outside")
	}
	return nil
}

// An endpoint is judged whenever it is set, and only then; what is refused
// changes nothing.
func TestEndpointsAreJudgedWhenTheyAreSet(t *testing.T) {
	inWorld(t, func(w *world) {
		fence := &fenced{}
		service := subscriptions.NewService(w.store, subscriptions.Options{Endpoints: fence})
		w.topic("orders")
		const good, bad = "https://good.example/a", "https://bad.example/"
		push := func(endpoint string) *subscriptions.PushConfig { return &subscriptions.PushConfig{Endpoint: endpoint} }
		sub := func(endpoint string) subscriptions.Subscription {
			return subscriptions.Subscription{Name: subName("billing"), Topic: topicName("orders"), Push: push(endpoint), Labels: map[string]string{"a": "b"}}
		}
		is := func(want string) {
			w.Helper()
			got, err := w.GetSubscription(w.ctx, subName("billing"))
			w.must(err)
			w.want(got.Push.Endpoint, want)
		}
		_, err := service.CreateSubscription(w.ctx, sub(bad))
		w.wantCode(err, subscriptions.InvalidArgument)
		_, err = w.GetSubscription(w.ctx, subName("billing"))
		w.wantCode(err, subscriptions.NotFound)
		_, err = service.CreateSubscription(w.ctx, sub(good))
		w.must(err)

		now := good
		for _, mask := range []string{"pushConfig", "push_config", "pushConfig.pushEndpoint", "push_config.push_endpoint"} {
			_, err = service.UpdateSubscription(w.ctx, sub(bad), []string{"labels", mask})
			w.wantCode(err, subscriptions.InvalidArgument)
			is(now)
			_, err = service.UpdateSubscription(w.ctx, sub(good+mask), []string{mask})
			w.must(err)
			now = good + mask
			is(now)
		}
		w.wantCode(service.ModifyPushConfig(w.ctx, subName("billing"), push(bad), nil), subscriptions.InvalidArgument)
		w.must(service.ModifyPushConfig(w.ctx, subName("billing"), push(good), nil))
		is(good)

		// One that was set when it was allowed is no obstacle to other changes.
		w.must(w.ModifyPushConfig(w.ctx, subName("billing"), push(bad), nil)) // by a server that allows everything
		fence.asked = nil
		_, err = service.UpdateSubscription(w.ctx, sub(good), []string{"labels", "pushConfig.attributes"})
		w.must(err)
		is(bad)
		w.must(service.ModifyPushConfig(w.ctx, subName("billing"), nil, nil))
		w.want(len(fence.asked), 0)

		// What does not exist comes first.
		w.wantCode(service.ModifyPushConfig(w.ctx, subName("missing"), push(bad), nil), subscriptions.NotFound)
	})
}
