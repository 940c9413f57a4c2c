package redisstream_test

import (
	"fmt"
	"strings"
	"testing"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/storage/storagetest"
	"postrider/subscriptions"
)

func TestStoreOnClusters(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d nodes", nodes), func(t *testing.T) {
			t.Parallel()
			storagetest.Run(t, factory(redistest.Cluster(t, nodes).URL()))
		})
	}
}

// TestClusterSpreadsTopics shows that topics share the masters, and that wake-ups of all of them come by one connection.
func TestClusterSpreadsTopics(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	s := open(t, cluster.URL(), redisstream.Options{})
	for i := range 12 {
		sub := attach(t, s, fmt.Sprint("topic", i))
		wakes := watch(t, s, sub.ref.Topic)
		sub.publish(1)
		wakes.wait(subscriptions.Wake{Kind: subscriptions.Published})
		sub.ack(sub.lease(1)...)
	}
	for _, node := range cluster.Nodes {
		if calls := node.CommandCalls(t)["xadd"]; calls == 0 {
			t.Errorf("no topic is on %s", node.Addr())
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server := redistest.TLS(t, redistest.Password("s3cret"))
	s := open(t, server.URL(), redisstream.Options{CAFile: server.CAFile()})
	roundTrip(attach(t, s, "topic"))
	s = open(t, server.URL()+"?ca="+server.CAFile(), redisstream.Options{})
	roundTrip(attach(t, s, "topic"))
	_, err := redisstream.Open(t.Context(), server.URL(), redisstream.Options{})
	if err == nil || !strings.Contains(err.Error(), "certificate") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("an unknown authority gives %v", err)
	}
	_, err = redisstream.Open(t.Context(), server.URL()+"?tls-name=example.com", redisstream.Options{CAFile: server.CAFile()})
	if err == nil || !strings.Contains(err.Error(), "example.com") {
		t.Errorf("another host's certificate gives %v", err)
	}
}

// sentinelURL is our form of a sentinel's URL.
func sentinelURL(s *redistest.SentinelServer, password string) string {
	if password != "" {
		password = ":" + password + "@"
	}
	return "redis+sentinel://" + password + s.Addr() + "/" + s.Name()
}

func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	sentinel := redistest.Sentinel(t, redistest.Password("s3cret"), redistest.Args("--masterauth", "s3cret"))
	s := open(t, sentinelURL(sentinel, "s3cret"), redisstream.Options{})
	sub := attach(t, s, "topic")
	wakes := watch(t, s, sub.ref.Topic)
	sub.publish(3)
	sub.ack(sub.lease(1)...)
	if err := s.Client().Do(t.Context(), "wait", 1, 10_000).Err(); err != nil {
		t.Fatal(err)
	}
	sentinel.Failover(t)
	eventually(t, func() error {
		_, err := s.Publish(t.Context(), sub.topic, messages(1))
		return err
	})
	wakes.wait(subscriptions.Wake{Kind: subscriptions.Resync})
	if got := len(sub.lease(10)); got < 2 {
		t.Errorf("%d messages are left after the failover", got)
	}
}

func TestSentinelIsNoRedis(t *testing.T) {
	t.Parallel()
	sentinel := redistest.Sentinel(t)
	_, err := redisstream.Open(t.Context(), "redis://"+sentinel.Addr(), redisstream.Options{})
	if err == nil || !strings.Contains(err.Error(), "redis+sentinel://") {
		t.Errorf("a sentinel named as a Redis gives %v", err)
	}
}
