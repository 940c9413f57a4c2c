package redistest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"postrider/storage/private/child"
)

// Server is one private redis-server. Its methods may be called from several tests at once, except those that stop it.
type Server struct {
	path     string
	dir      string
	socket   string
	port     int // 0 when only the socket is listened on
	busPort  int // the second port of a cluster node
	password string
	tls      *tls.Config // nil for plain text
	args     []string
	process  *child.Process
	admin    *redis.Client // our own connection, by the socket
	infos    atomic.Int64  // how many INFO calls were ours
}

// Start runs a server for one test and ends it with the test.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	s, err := start(t, options)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	t.Cleanup(s.close)
	return s
}

// start makes the folder and runs a first process. A TCP port may be lost to another process between choosing and
// listening, so it tries again with another one.
func start(t testing.TB, options []Option) (*Server, error) {
	t.Helper()
	path := binary(t)
	var err error
	for range portTries {
		var s *Server
		if s, err = newServer(path, options); err != nil {
			return nil, err
		}
		if err = s.launch(); err == nil {
			return s, nil
		}
		s.close()
		if s.port == 0 {
			break
		}
	}
	return nil, err
}

// newServer prepares a server without running it.
func newServer(path string, options []Option) (*Server, error) {
	dir, err := os.MkdirTemp("", "redistest-")
	if err != nil {
		return nil, err
	}
	s := &Server{path: path, dir: dir, socket: filepath.Join(dir, "redis.sock")}
	// Later settings win, so an option can replace any of these.
	s.args = []string{
		"--port", "0", "--bind", "127.0.0.1", "--unixsocket", s.socket, "--unixsocketperm", "700",
		"--dir", dir, "--daemonize", "no", "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
		"--repl-diskless-sync-delay", "0",
	}
	for _, option := range options {
		if err := option(s); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	s.admin = redis.NewClient(s.socketOptions())
	return s, nil
}

// launch runs the process and waits until it answers, with its data loaded.
func (s *Server) launch() error {
	p, err := child.Start(child.Command{Program: s.path, Args: s.args, Dir: s.dir, Socket: s.socket})
	if err != nil {
		return err
	}
	s.process = p
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return p.Await(ctx)
}

// close ends the server without ceremony and removes its folder.
func (s *Server) close() {
	_ = s.admin.Close()
	if s.process != nil {
		s.process.Kill()
	}
	_ = os.RemoveAll(s.dir)
}

// Kill ends the server as a crash does. What only memory held is lost; [Server.Restart] brings it back.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.process.Kill()
}

// Stop shuts the server down in good order.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.process.Stop(patience); err != nil {
		t.Errorf("redistest: stop: %v", err)
	}
}

// Restart ends the server if it still runs and starts it again, on the same socket, port and folder.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	_ = s.process.Stop(patience) // it may have been killed before
	if err := s.launch(); err != nil {
		t.Fatalf("redistest: restart: %v", err)
	}
	s.infos.Store(0) // Redis counts its commands from the start, too
}

// Socket is the path of the unix socket.
func (s *Server) Socket() string { return s.socket }

// Dir is the folder of the server's files: the socket, the append-only file.
func (s *Server) Dir() string { return s.dir }

// Addr is the TCP address, for a server that was started with [TCP], in a cluster, behind a sentinel or with TLS.
func (s *Server) Addr() string {
	if s.port == 0 {
		return ""
	}
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(s.port))
}

// Client connects to the server, by TCP if it has a port, and closes the connection with the test.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	client := redis.NewClient(s.Options())
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Options is how to connect to the server; the caller may change it.
func (s *Server) Options() *redis.Options {
	options := s.socketOptions()
	if s.port != 0 {
		options.Network, options.Addr, options.TLSConfig = "tcp", s.Addr(), s.tls.Clone()
	}
	return options
}

func (s *Server) socketOptions() *redis.Options {
	return &redis.Options{
		Network: "unix", Addr: s.socket, Password: s.password,
		DialTimeout: 5 * time.Second, DialerRetries: 1, ReadTimeout: patience,
		MaintNotificationsConfig: quiet(), DisableIdentity: true,
	}
}

// quiet keeps go-redis from greeting a server with commands that Redis 7.0 does not know.
func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}
