package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"postrider/subscriptions"
)

// What happens on a server is exported, on either store; and only to who names it by a name of its own.
func TestMetrics(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, a *testApp) {
		ctx, topic := t.Context(), subscriptions.TopicName{Project: defaultProject, ID: "orders"}
		sub := subscriptions.SubscriptionName{Project: defaultProject, ID: "billing"}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := a.service.CreateTopic(ctx, subscriptions.Topic{Name: topic})
		must(err)
		_, err = a.service.CreateSubscription(ctx, subscriptions.Subscription{Name: sub, Topic: topic})
		must(err)
		_, err = a.service.Publish(ctx, topic, []subscriptions.Message{{Data: []byte("a")}, {Data: []byte("b")}})
		must(err)
		got, err := a.service.Pull(ctx, sub, 1, true)
		must(err)
		must(a.service.Acknowledge(ctx, sub, []string{got[0].AckID}))
		labels := fmt.Sprintf(`{project_id=%q,subscription_id="billing"}`, defaultProject)
		eventually(t, func() error {
			status, text := scrapeAs(t, a, "")
			for _, line := range []string{
				"postrider_subscription_num_undelivered_messages" + labels + " 1",
				"postrider_subscription_ack_messages_total" + labels + " 1",
				"postrider_subscription_ack_latencies_seconds_count" + labels + " 1",
				fmt.Sprintf(`postrider_topic_publish_requests_total{code="OK",project_id=%q,topic_id="orders"} 1`, defaultProject),
				"postrider_store_up 1",
			} {
				if !strings.Contains(text, "\n"+line+"\n") {
					return fmt.Errorf("%d, and there is no %q", status, line)
				}
			}
			return nil
		})
		if status, _ := scrapeAs(t, a, "rebound.example"); status != http.StatusForbidden {
			t.Errorf("%d for a name that is not ours", status)
		}
	})
}

func scrapeAs(t *testing.T, a *testApp, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}
