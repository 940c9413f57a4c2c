package redistest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"

	"postrider/storage/private/child"
)

// masterName is what the sentinel calls the master.
const masterName = "postrider"

// SentinelServer is a master and a replica that one sentinel watches. The roles change with each failover; the fields name
// the roles at the start.
type SentinelServer struct {
	Master, Replica *Server

	port    int
	dir     string
	process *child.Process
	client  *redis.SentinelClient
}

// Sentinel starts them on loopback, and waits until the sentinel could fail over. A master that does not answer for 500 ms is
// replaced within a few seconds.
func Sentinel(t testing.TB, options ...Option) *SentinelServer {
	t.Helper()
	s := &SentinelServer{Master: Start(t, append(options, TCP())...)}
	s.Replica = Start(t, append(options, TCP(), Args("--replicaof", fmt.Sprintf("127.0.0.1 %d", s.Master.port)))...)
	if err := s.Replica.replicates(); err != nil {
		t.Fatalf("redistest: replica: %v", err)
	}
	err := s.launch(t)
	t.Cleanup(s.close)
	if err != nil {
		t.Fatalf("redistest: sentinel: %v", err)
	}
	return s
}

// replicates waits until the server has its master's data. The sentinel asks only every ten seconds, so its first answer
// must be the right one.
func (s *Server) replicates() error {
	return poll(func() error {
		text, err := s.admin.Info(context.Background(), "replication").Result()
		if status := parseInfo(text)["master_link_status"]; err == nil && status != "up" {
			err = fmt.Errorf("master_link_status is %q", status)
		}
		return err
	})
}

// launch runs the sentinel, on another port if one is lost to somebody else.
func (s *SentinelServer) launch(t testing.TB) error {
	t.Helper()
	path := binary(t)
	var err error
	if s.dir, err = os.MkdirTemp("", "redistest-"); err != nil {
		return err
	}
	for range portTries {
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.attempt(path); err == nil || s.process == nil || !s.process.Ended() {
			return err
		}
	}
	return err
}

// attempt runs the sentinel once. It rewrites its configuration file, which must therefore be one.
func (s *SentinelServer) attempt(path string) error {
	file := filepath.Join(s.dir, "sentinel.conf")
	text := fmt.Sprintf("port %[1]d\nbind 127.0.0.1\ndir %[2]q\nsentinel monitor %[3]s 127.0.0.1 %[4]d 1\n"+
		"sentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 3000\n",
		s.port, s.dir, masterName, s.Master.port)
	if s.Master.password != "" {
		text += fmt.Sprintf("sentinel auth-pass %s %q\n", masterName, s.Master.password)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	s.end() // an earlier attempt
	p, err := child.Start(child.Command{Program: path, Args: []string{file, "--sentinel"}, Dir: s.dir})
	if err != nil {
		return err
	}
	s.process = p
	s.client = redis.NewSentinelClient(&redis.Options{Addr: s.Addr(), DialerRetries: 1,
		MaintNotificationsConfig: quiet(), DisableIdentity: true})
	return poll(s.ready)
}

// ready is nil once the sentinel knows a replica that it could promote.
func (s *SentinelServer) ready() error {
	if s.process.Ended() {
		return fatal{s.process.Err()}
	}
	connection, err := net.Dial("tcp", s.Addr())
	if err != nil {
		return err
	}
	_ = connection.Close()
	replicas, err := s.client.Replicas(context.Background(), masterName).Result()
	if err != nil {
		return err
	}
	if len(replicas) != 1 || replicas[0]["flags"] != "slave" || replicas[0]["master-link-status"] != "ok" {
		return fmt.Errorf("the sentinel knows these replicas: %v", replicas)
	}
	return nil
}

func (s *SentinelServer) close() {
	s.end()
	_ = os.RemoveAll(s.dir)
}

func (s *SentinelServer) end() {
	if s.client != nil {
		_ = s.client.Close()
	}
	if s.process != nil {
		s.process.Kill()
	}
}

// Failover makes the replica the master, in good order, and returns when the sentinel names it.
func (s *SentinelServer) Failover(t testing.TB) {
	t.Helper()
	before := s.MasterAddr(t)
	if err := s.client.Failover(t.Context(), masterName).Err(); err != nil {
		t.Fatalf("redistest: SENTINEL FAILOVER: %v", err)
	}
	s.WaitForOther(t, before)
}

// MasterAddr is the address of the master as the sentinel sees it.
func (s *SentinelServer) MasterAddr(t testing.TB) string {
	t.Helper()
	addr, err := s.client.GetMasterAddrByName(t.Context(), masterName).Result()
	if err != nil {
		t.Fatalf("redistest: sentinel: %v", err)
	}
	return net.JoinHostPort(addr[0], addr[1])
}

// WaitForOther waits until the master is not this address any more.
func (s *SentinelServer) WaitForOther(t testing.TB, before string) {
	t.Helper()
	err := poll(func() error {
		if s.MasterAddr(t) == before {
			return fmt.Errorf("the sentinel still names %s", before)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("redistest: failover: %v", err)
	}
}

// Addr is the sentinel's own address.
func (s *SentinelServer) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// Name is what the sentinel calls the master.
func (s *SentinelServer) Name() string { return masterName }

// URL is the form that go-redis's ParseFailoverURL reads: redis://host:port?master_name=name, of the sentinel. There a password
// before the host would be the sentinel's; the servers' is a parameter.
func (s *SentinelServer) URL() string {
	query := url.Values{"master_name": {masterName}}
	if s.Master.password != "" {
		query.Set("password", s.Master.password)
	}
	u := url.URL{Scheme: "redis", Host: s.Addr(), RawQuery: query.Encode()}
	return u.String()
}

// Client connects to whichever server is the master, and closes its connections with the test.
func (s *SentinelServer) Client(t testing.TB) *redis.Client {
	t.Helper()
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: masterName, SentinelAddrs: []string{s.Addr()}, Password: s.Master.password,
		DialerRetries: 1, DisableIdentity: true,
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}
