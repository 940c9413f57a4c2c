package guard

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	// judgementLife is how long a judgement is good for, and maxJudgements how many
	// are kept: each request through a proxy is judged, and must not wait for DNS.
	judgementLife = 30 * time.Second
	maxJudgements = 4096
)

// judgement is what was found of a target, until then.
type judgement struct {
	err   error
	until time.Time
}

func (g *Guard) setProxy(u *url.URL) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	g.proxy, g.proxyAddress = u, net.JoinHostPort(u.Hostname(), port)
	g.judged = map[string]judgement{}
}

// IsProxy tells whether an address that is dialled is the proxy's.
func (g *Guard) IsProxy(address string) bool { return g.proxy != nil && address == g.proxyAddress }

// Proxy is the proxy of a request, for http.Transport. It fails for targets that
// requests may not go to, since the connection goes elsewhere then. Loopback is
// this machine's, so that is dialled from here.
func (g *Guard) Proxy(r *http.Request) (*url.URL, error) {
	if g.proxy == nil {
		return nil, nil
	}
	t, err := newTarget(r.URL.Hostname(), r.URL.Scheme != "https")
	if err != nil {
		return nil, &Blocked{reason: err.Error()}
	}
	if err := g.judgeOnce(r.Context(), t); err != nil || t.local() {
		return nil, err
	}
	return g.proxy, nil
}

// judgeOnce judges a target once in a while.
func (g *Guard) judgeOnce(ctx context.Context, t target) error {
	key := t.host
	if t.plain {
		key = "http://" + key
	}
	g.mu.Lock()
	j, ok := g.judged[key]
	g.mu.Unlock()
	if ok && time.Now().Before(j.until) {
		return j.err
	}
	j = judgement{g.judge(ctx, t), time.Now().Add(judgementLife)}
	if ctx.Err() != nil {
		return j.err // nobody waited for what the lookup would have said
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.judged) >= maxJudgements {
		clear(g.judged)
	}
	g.judged[key] = j
	return j.err
}
