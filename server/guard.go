package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"postrider/subscriptions"
)

// Any web page can make its reader's browser send requests to a server that the reader can reach, on loopback or behind a
// firewall. A server that asks for no key must therefore refuse what comes from pages of elsewhere: cross-origin writes, and
// names that an attacker's DNS makes point at us (rebinding), for which the page counts as of the same origin.

// AnyHost in Options.Hosts allows every name.
const AnyHost = "*"

// sameOrigin refuses what a page of another origin sends. Reads pass: without leave by CORS such a page cannot see the answer.
func (h *handler) sameOrigin() func(http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := protection.Check(r); err != nil {
				h.fail(w, r, subscriptions.WrapError(err, subscriptions.PermissionDenied,
					"requests from web pages of another origin are refused"))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// KnownHosts tells of the host that a request names, with or without a port, whether it is ours: one of hosts, or a name by which
// nobody else can be meant.
func KnownHosts(hosts []string) func(hostport string) bool {
	known := map[string]bool{}
	for _, host := range hosts {
		known[canonicalHost(host)] = true
	}
	return func(hostport string) bool {
		host := canonicalHost(hostport)
		return known[AnyHost] || unspoofable(host) || known[host]
	}
}

// knownHost refuses requests for names that are not ours.
func (h *handler) knownHost(hosts []string) func(http.Handler) http.Handler {
	known := KnownHosts(hosts)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !known(r.Host) && !isPublic(r.URL.Path) {
				h.fail(w, r, subscriptions.Errorf(subscriptions.PermissionDenied,
					"the server does not serve the host name %q; its operator can add it to the allowed host names", clip(canonicalHost(r.Host))))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// unspoofable tells whether no DNS server can make the host point at us: a browser that names an address has been sent to that
// very address, localhost never leaves the machine, and no browser leaves the host out.
func unspoofable(host string) bool {
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

// canonicalHost takes the port, brackets and the final point away, and upper case.
func canonicalHost(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// clip shortens what a caller sent for use in a message.
func clip(s string) string {
	const enough = 64
	if len(s) > enough {
		return s[:enough] + "…"
	}
	return s
}
