package redistest

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
)

const slots = 16384

// ClusterServer is a Redis Cluster of masters on loopback.
type ClusterServer struct {
	Nodes []*Server
}

// Cluster starts this many masters that share the slots evenly, and waits until each of them finds the cluster whole. That
// takes Redis a little over two seconds: start one for a parent test, not one a case.
func Cluster(t testing.TB, nodes int, options ...Option) *ClusterServer {
	t.Helper()
	c := &ClusterServer{}
	for range nodes {
		c.Nodes = append(c.Nodes, Start(t, append(options, clusterNode)...))
	}
	if err := c.join(); err != nil {
		t.Fatalf("redistest: cluster: %v", err)
	}
	return c
}

// clusterNode gives a server both of its ports: the usual distance of 10000 between them could leave the safe range.
func clusterNode(s *Server) error {
	if err := TCP()(s); err != nil {
		return err
	}
	bus, err := freePort()
	s.args = append(s.args, "--cluster-enabled", "yes", "--cluster-node-timeout", "5000",
		"--cluster-port", strconv.Itoa(bus))
	s.busPort = bus
	return err
}

// join hands out the slots, introduces the nodes to each other, and waits for all to agree. Every pair is introduced: it is
// quicker than gossip.
func (c *ClusterServer) join() error {
	for i, node := range c.Nodes {
		from, to := slots*i/len(c.Nodes), slots*(i+1)/len(c.Nodes)-1
		commands := [][]any{
			{"CLUSTER", "ADDSLOTSRANGE", from, to},
			{"CLUSTER", "SET-CONFIG-EPOCH", i + 1}, // equal epochs would have to be settled first
		}
		for _, other := range c.Nodes[:i] {
			commands = append(commands, []any{"CLUSTER", "MEET", "127.0.0.1", other.port, other.busPort})
		}
		for _, command := range commands {
			if err := node.admin.Do(context.Background(), command...).Err(); err != nil {
				return fmt.Errorf("%v: %w", command, err)
			}
		}
	}
	return poll(func() error {
		for _, node := range c.Nodes {
			if err := node.whole(len(c.Nodes)); err != nil {
				return err
			}
		}
		return nil
	})
}

// whole is nil once this node sees so many nodes, all slots served, and answers for the cluster.
func (s *Server) whole(nodes int) error {
	text, err := s.admin.ClusterInfo(context.Background()).Result()
	if err != nil {
		return err
	}
	info := parseInfo(text)
	want := map[string]string{
		"cluster_state": "ok", "cluster_slots_ok": strconv.Itoa(slots),
		"cluster_known_nodes": strconv.Itoa(nodes), "cluster_size": strconv.Itoa(nodes),
	}
	for name, value := range want {
		if info[name] != value {
			return fmt.Errorf("node %s has %s %q, not %q", s.Addr(), name, info[name], value)
		}
	}
	return nil
}

// URL names the first node: a client finds the others.
func (c *ClusterServer) URL() string { return c.Nodes[0].URL() }

// Addrs are the nodes' addresses.
func (c *ClusterServer) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		addrs[i] = node.Addr()
	}
	return addrs
}

// Client connects to the cluster and closes its connections with the test.
func (c *ClusterServer) Client(t testing.TB) *redis.ClusterClient {
	t.Helper()
	options := c.Nodes[0].Options()
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: c.Addrs(), Password: options.Password,
		DialTimeout: options.DialTimeout, DialerRetries: 1, ReadTimeout: options.ReadTimeout,
		MaintNotificationsConfig: quiet(), DisableIdentity: true,
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}
