package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"postrider/subscriptions"
)

const (
	// lookupTime is how long whoever creates a subscription waits for its host to
	// be resolved.
	lookupTime = 2 * time.Second
	// dialTime bounds a connection attempt, lookup included.
	dialTime = 10 * time.Second
)

// Resolver is what the guard asks for addresses; net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer is what the guard connects with, always to an address that it judged;
// net.Dialer is one.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Options say what is allowed. The zero value allows what is public, by https.
type Options struct {
	// Allow names what else is: networks such as 10.1.0.0/16, addresses, host
	// names, and *.NAME for all names below NAME.
	Allow []string
	// Loopback allows this machine's loopback.
	Loopback bool
	// Proxy is what all requests but those to loopback go through; nil is none.
	Proxy *url.URL

	Resolver Resolver // nil is that of the system
	Dialer   Dialer   // nil is that of package net
}

// Guard judges targets and dials them. It can be used by several goroutines.
type Guard struct {
	allow    allowed
	loopback bool
	resolver Resolver
	dialer   Dialer

	proxy        *url.URL
	proxyAddress string
	mu           sync.Mutex
	judged       map[string]judgement
}

// New makes a Guard. It fails when an entry of Allow cannot be read.
func New(o Options) (*Guard, error) {
	allow, err := parseAllow(o.Allow)
	if err != nil {
		return nil, err
	}
	g := &Guard{allow: allow, loopback: o.Loopback, resolver: o.Resolver, dialer: o.Dialer}
	if g.resolver == nil {
		g.resolver = net.DefaultResolver
	}
	if g.dialer == nil {
		g.dialer = &net.Dialer{}
	}
	if o.Proxy != nil {
		g.setProxy(o.Proxy)
	}
	return g, nil
}

// Blocked is the error for a target that requests may not go to.
type Blocked struct {
	reason string // for whoever asked: what stands in the URL, and of what kind it is
	detail string // for the operator's log
}

func (b *Blocked) Error() string {
	if b.detail == "" {
		return b.reason
	}
	return b.reason + " (" + b.detail + ")"
}

func blockedf(format string, args ...any) *Blocked {
	return &Blocked{reason: fmt.Sprintf(format, args...)}
}

// CheckEndpoint fails with INVALID_ARGUMENT when requests to a URL would be
// blocked. A name that cannot be resolved now passes, unless nothing that it
// resolves to could be allowed: each connection is judged again.
func (g *Guard) CheckEndpoint(ctx context.Context, endpoint string) error {
	t, err := targetOf(endpoint)
	if err == nil {
		err = g.judge(ctx, t)
	}
	if err == nil {
		return nil
	}
	reason := err.Error()
	if b, ok := errors.AsType[*Blocked](err); ok {
		reason = b.reason
	}
	return subscriptions.WrapError(err, subscriptions.InvalidArgument, "pushConfig.pushEndpoint: %s", reason)
}

// judge judges a target by all that can be known of it now.
func (g *Guard) judge(ctx context.Context, t target) error {
	if err := g.judgeHost(t); err != nil {
		return err
	}
	if t.literal() {
		return g.judgeAddress(t, t.addr)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	addrs, err := g.lookup(ctx, t)
	if err != nil {
		if t.plain && !g.allow.host(t.host) && !g.loopback && len(g.allow.networks)+len(g.allow.single) == 0 {
			return blockedPlain(t)
		}
		return nil
	}
	return g.judgeAll(t, addrs)
}

// judgeHost judges what a name says by itself.
func (g *Guard) judgeHost(t target) error {
	switch {
	case metadataNames[t.host] && !g.allow.hosts[t.host]:
		return blockedf("%s is a cloud's metadata service, to which requests go only where --push-allow names just this host", t.host)
	case t.local() && !t.literal() && !g.loopback && !g.allow.host(t.host) && !g.allow.loopback():
		return blockedf("%s is this machine, to which requests go only where --push-allow names it", t.host)
	}
	return nil
}

func (g *Guard) judgeAll(t target, addrs []netip.Addr) error {
	for _, addr := range addrs {
		if err := g.judgeAddress(t, addr); err != nil {
			return err
		}
	}
	return nil
}

// judgeAddress judges an address that the target is or resolves to.
func (g *Guard) judgeAddress(t target, addr netip.Addr) error {
	addr = addr.WithZone("")
	if metadata[addr] && !g.allow.single[addr] {
		return g.blockedAddress(t, addr, "the metadata service of a cloud", "names just this address")
	}
	kind := kindOf(addr)
	switch {
	case g.allow.address(addr) || g.allow.host(t.host):
		if v4, ok := inside(addr); ok {
			t.plain = false // that the form is allowed allows http
			return g.judgeAddress(t, v4)
		}
		return nil
	case g.loopback && addr.IsLoopback() && !addr.Is4In6():
		return nil
	case kind != "":
		return g.blockedAddress(t, addr, kind, "names it")
	case t.plain:
		return blockedPlain(t)
	}
	return nil
}

// blockedAddress does not tell whoever asks what a name resolves to: it may be a
// name that only the server's network knows.
func (g *Guard) blockedAddress(t target, addr netip.Addr, kind, unless string) error {
	if t.literal() {
		if addr != t.addr {
			return blockedf("%s stands for %s, which is %s, to which requests go only where --push-allow %s", t.addr, addr, kind, unless)
		}
		return blockedf("%s is %s, to which requests go only where --push-allow %s", t.addr, kind, unless)
	}
	b := blockedf("%s resolves to %s, to which requests go only where --push-allow %s", t.host, kind, unless)
	b.detail = addr.String()
	return b
}

func blockedPlain(t target) error {
	return blockedf("http to %s is refused, since it is not encrypted: use https, or have --push-allow name it", t.host)
}

// lookup resolves a name. A resolver may write IPv4 addresses as mapped ones.
func (g *Guard) lookup(ctx context.Context, t target) ([]netip.Addr, error) {
	addrs, err := g.resolver.LookupNetIP(ctx, "ip", t.host)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no address", Name: t.host, IsNotFound: true}
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, nil
}
