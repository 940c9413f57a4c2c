package guard

import (
	"context"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// gullible resolves as the most gullible C library would: it takes every number
// for an address, and each name for its last label's.
type gullible struct{}

func (gullible) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if addr, ok := aton(strings.TrimSuffix(host, ".")); ok {
		return []netip.Addr{addr}, nil
	}
	if strings.HasSuffix(strings.ToLower(strings.TrimSuffix(host, ".")), "localhost") {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

// aton reads an address as inet_aton does, and ignores what is too large.
func aton(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value big.Int
	for i, part := range parts {
		n, ok := new(big.Int).SetString(part, 0) // 0x1f, 017, 42
		if !ok || strings.ContainsAny(part, "+-_oObB") || n.Sign() < 0 {
			return netip.Addr{}, false
		}
		shift := uint(24 - 8*i)
		if i == len(parts)-1 {
			shift = 0
		}
		value.Or(&value, n.Lsh(n, shift))
	}
	b := new(big.Int).And(&value, big.NewInt(1<<32-1)).FillBytes(make([]byte, 4))
	return netip.AddrFrom4([4]byte(b)), true
}

// outside fails the test when it is told to dial what is not public, by the
// judgement of package netip rather than our own.
type outside struct{ *testing.T }

func (o outside) DialContext(_ context.Context, _, address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		o.Errorf("dialled %q, which is no address", address)
		return nil, errNoWire
	}
	addr := to.Addr().Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsMulticast() ||
		addr.IsUnspecified() || addr.As16()[0] == 0 && addr.Is6() {
		o.Errorf("dialled %s", addr)
	}
	return nil, errNoWire
}

// Whatever stands in a URL, no request reaches into a network that is not public,
// and what was accepted is dialled.
func FuzzHosts(f *testing.F) {
	for _, form := range forms {
		f.Add(form.host, "hooks.example.com")
	}
	for _, host := range []string{"example.com", "8.8.8.8", "[2606:4700::1]", "bücher.example", "user:pass@127.0.0.1", "a@b@c", "1.2.3.4:80", "[::1]:443", "a%2eb", "%31"} {
		f.Add(host, host)
	}
	f.Fuzz(func(t *testing.T, host, allow string) {
		o := Options{Resolver: gullible{}, Dialer: outside{t}}
		if a, err := parseAllow([]string{allow}); err == nil && len(a.networks)+len(a.single) == 0 && !a.host("localhost") && !strings.HasSuffix(allow, "localhost") {
			o.Allow = []string{allow} // a name, which the resolver gives a public address
		}
		g, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, scheme := range []string{"https://", "http://"} {
			u, err := url.Parse(scheme + host + "/path")
			if err != nil || u.Host == "" {
				continue
			}
			accepted := g.CheckEndpoint(t.Context(), u.String())
			transport := &http.Transport{DialContext: g.DialPlainContext, DialTLSContext: g.DialContext}
			_, err = transport.RoundTrip((&http.Request{Method: http.MethodPost, URL: u, Header: http.Header{}}).WithContext(t.Context()))
			transport.CloseIdleConnections()
			if _, is := errors.AsType[*Blocked](err); is && accepted == nil || !is && accepted != nil && errors.Is(err, errNoWire) {
				t.Errorf("%s: told %v, and then %v", u, accepted, err)
			}
		}
	})
}
