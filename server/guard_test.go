package server_test

import (
	"net/http"
	"strings"
	"testing"

	"postrider/server"
)

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	for header, allowed := range map[string]bool{
		"":                                 true,
		"Origin: http://localhost":         true,
		"Sec-Fetch-Site: same-origin":      true,
		"Sec-Fetch-Site: none":             true,
		"Origin: https://attacker.example": false,
		"Origin: http://localhost:9999":    false,
		"Origin: null":                     false,
		"Sec-Fetch-Site: cross-site":       false,
		"Sec-Fetch-Site: same-site":        false,
	} {
		for _, request := range []string{"POST p/topics/orders:publish", "PATCH p/topics/orders", "DELETE p/topics/missing", "PUT p/topics/other", "POST /nowhere"} {
			answer := s.doWith(header, request, "")
			if refused := answer.status == http.StatusForbidden; refused == allowed {
				t.Errorf("%s with %q: %d %s", request, header, answer.status, answer.body)
			}
			if !allowed {
				answer.fails(http.StatusForbidden, "PERMISSION_DENIED", "another origin")
			}
		}
		s.doWith(header, "GET p/topics/orders", "").ok()
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	always := []string{"localhost", "localhost:8085", "LOCALHOST.", "app.localhost", "127.0.0.1:80", "127.1.2.3", "[::1]:8085", "[::1]", "192.0.2.7:80"}
	for name, c := range map[string]struct {
		hosts, allowed, refused []string
	}{
		"none":  {nil, nil, []string{"postrider:8085", "attacker.example", "localhost.attacker.example", "127.0.0.1.attacker.example", "notlocalhost", "0x7f.1"}},
		"named": {[]string{"postrider", "Queue.Example:8085"}, []string{"postrider:8085", "POSTRIDER.", "queue.example", "queue.example:443"}, []string{"attacker.example", "postrider.attacker.example"}},
		"any":   {[]string{server.AnyHost}, []string{"attacker.example", "postrider:8085"}, nil},
	} {
		s := newREST(t)
		s.handler = server.New(s.service, server.Options{Hosts: c.hosts})
		for _, host := range append(c.allowed, always...) {
			if got := s.doWith("Host: "+host, "GET p/topics", ""); got.status != http.StatusOK {
				t.Errorf("%s: %s is refused: %s", name, host, got.body)
			}
		}
		for _, host := range c.refused {
			for _, request := range []string{"GET p/topics", "POST p/topics/orders:publish", "GET /readyz", "GET /nowhere"} {
				s.doWith("Host: "+host, request, "").fails(http.StatusForbidden, "PERMISSION_DENIED", `"`+host[:strings.Index(host+":", ":")]+`"`)
			}
		}
	}
}
