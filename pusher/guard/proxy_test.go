package guard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func proxied(t *testing.T, g *Guard, endpoint string) (*url.URL, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g.Proxy(r)
}

// Through a proxy every request is judged, since the dialer sees the proxy alone,
// which is exempt.
func TestProxy(t *testing.T) {
	proxy := &url.URL{Scheme: "http", Host: "10.0.0.5:3128"}
	resolver := &names{answers: map[string][][]string{
		"public.example.com": {{"93.184.215.14"}}, "inside.example.com": {{"10.0.0.9"}}, "localhost": {{"127.0.0.1"}},
	}}
	g, w := newGuard(t, Options{Proxy: proxy, Loopback: true, Allow: []string{"10.9.0.0/16"}, Resolver: resolver})
	for endpoint, want := range map[string]*url.URL{
		"https://public.example.com/": proxy, "https://only-the-proxy-knows.example.com/": proxy, "https://93.184.215.14/": proxy,
		"http://10.9.0.1/": proxy, "http://localhost:9000/": nil, "http://127.0.0.1:9000/": nil, "http://[::1]/": nil,
	} {
		if got, err := proxied(t, g, endpoint); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", endpoint, got, err, want)
		}
	}
	for _, endpoint := range []string{
		"https://10.0.0.5:3128/", "http://10.0.0.5:3128/", "https://inside.example.com/", "https://169.254.169.254/", "https://2130706433/",
		"https://metadata.google.internal/", "http://public.example.com/", "https://[::ffff:10.9.0.1]/",
	} {
		if got, err := proxied(t, g, endpoint); !blocked(t, err, w) || got != nil {
			t.Errorf("%s: %v, %v", endpoint, got, err)
		}
	}
	if _, err := g.DialPlainContext(t.Context(), "tcp", "10.0.0.5:3128"); !errors.Is(err, errNoWire) || !slices.Equal(w.all(), []string{"10.0.0.5:3128"}) {
		t.Errorf("the proxy: %v, after dialling %v", err, w.all())
	}
	*w = wire{}
	if _, err := g.DialPlainContext(t.Context(), "tcp", "10.0.0.6:3128"); !blocked(t, err, w) {
		t.Errorf("beside the proxy: %v", err)
	}

	// Without Loopback the proxy's own port on loopback is no endpoint either.
	g, w = newGuard(t, Options{Proxy: &url.URL{Scheme: "http", Host: "127.0.0.1:3128"}})
	for _, endpoint := range []string{"http://127.0.0.1:3128/", "https://localhost:3128/", "https://a.localhost/"} {
		if _, err := proxied(t, g, endpoint); !blocked(t, err, w) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	if got, err := proxied(t, mustGuard(t, Options{}), "https://10.0.0.1/"); got != nil || err != nil {
		t.Errorf("without a proxy the dialer judges: %v, %v", got, err)
	}
}

func mustGuard(t *testing.T, o Options) *Guard {
	g, _ := newGuard(t, o)
	return g
}

// The address that net/http dials for a proxy is the one that is exempt.
func TestProxyAddress(t *testing.T) {
	for proxy, want := range map[string]string{
		"http://proxy.internal": "proxy.internal:80", "https://proxy.internal": "proxy.internal:443", "http://proxy.internal:3128": "proxy.internal:3128",
		"http://[fd00::1]": "[fd00::1]:80", "http://user:pass@10.0.0.5:8080/": "10.0.0.5:8080",
	} {
		u, err := url.Parse(proxy)
		if err != nil {
			t.Fatal(err)
		}
		g, w := newGuard(t, Options{Proxy: u})
		transport := &http.Transport{Proxy: g.Proxy, DialContext: g.DialPlainContext, DialTLSContext: g.DialContext}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://93.184.215.14/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := transport.RoundTrip(r); !errors.Is(err, errNoWire) || !slices.Equal(w.all(), []string{want}) {
			t.Errorf("%s: %v, after dialling %v", proxy, err, w.all())
		}
	}
}

// Judgements are kept for a while, so that pushes do not wait for DNS, and no
// longer, so that what DNS says now counts.
func TestJudgementsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := resolving("moves.example.com", []string{"93.184.215.14"}, []string{"10.0.0.1"})
		g, w := newGuard(t, Options{Proxy: &url.URL{Scheme: "http", Host: "10.0.0.5:3128"}, Resolver: names})
		for range 1000 {
			if _, err := proxied(t, g, "https://moves.example.com/"); err != nil {
				t.Fatal(err)
			}
		}
		if names.asked != 1 {
			t.Errorf("%d lookups", names.asked)
		}
		time.Sleep(judgementLife)
		if _, err := proxied(t, g, "https://moves.example.com/"); !blocked(t, err, w) {
			t.Errorf("after it has moved: %v", err)
		}
	})
	// What nobody waited for says nothing.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	names := resolving("inside.example.com", []string{"10.0.0.1"})
	g, w := newGuard(t, Options{Proxy: &url.URL{Scheme: "http", Host: "10.0.0.5:3128"}, Resolver: names})
	_, _ = g.Proxy((&http.Request{URL: &url.URL{Scheme: "https", Host: "inside.example.com"}}).WithContext(ctx))
	if _, err := proxied(t, g, "https://inside.example.com/"); !blocked(t, err, w) {
		t.Errorf("after a request that was given up: %v", err)
	}
	for i := range maxJudgements + 10 {
		_, _ = proxied(t, g, "https://h"+string(rune('a'+i%26))+time.Duration(i).String()+".example.com/")
	}
	if n := len(g.judged); n > maxJudgements {
		t.Errorf("%d judgements are kept", n)
	}
}
