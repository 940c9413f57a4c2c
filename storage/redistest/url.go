package redistest

import "net/url"

// URL names the server as go-redis's ParseURL reads it: unix:///path, redis://host:port or rediss://host:port.
func (s *Server) URL() string {
	u := url.URL{Scheme: "unix", Path: s.socket}
	if s.port != 0 {
		u = url.URL{Scheme: "redis", Host: s.Addr()}
	}
	if s.tls != nil {
		u.Scheme = "rediss"
	}
	if s.password != "" {
		u.User = url.UserPassword("", s.password)
	}
	return u.String()
}
