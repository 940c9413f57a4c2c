package redistest

import "fmt"

// Option changes how a server is started.
type Option func(*Server) error

// AppendOnly turns the append-only file on, with this appendfsync ("always", "everysec", "no"), so that what was written
// outlives [Server.Kill].
func AppendOnly(fsync string) Option {
	return Args("--appendonly", "yes", "--appendfsync", fsync)
}

// Args adds settings as redis-server's command line spells them, such as "--maxmemory", "4mb".
func Args(args ...string) Option {
	return func(s *Server) error {
		s.args = append(s.args, args...)
		return nil
	}
}

// Password makes the server ask for one. [Server.URL] then holds it.
func Password(password string) Option {
	return func(s *Server) error {
		s.password = password
		s.args = append(s.args, "--requirepass", password)
		return nil
	}
}

// TCP makes the server listen on a free loopback port as well, which then is what [Server.URL] names.
func TCP() Option {
	return func(s *Server) error {
		port, err := freePort()
		s.port = port
		s.args = append(s.args, "--port", fmt.Sprint(port))
		return err
	}
}
