package guard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postrider/subscriptions"
)

// Case 16 of the field: a name that changes its address after it was checked.
func TestRebinding(t *testing.T) {
	for _, inside := range []string{"169.254.169.254", "127.0.0.1", "10.0.0.1", "::1", "::ffff:10.0.0.1"} {
		names := resolving("rebind.example.com", []string{"93.184.215.14"}, []string{inside})
		g, w := newGuard(t, Options{Resolver: names})
		if err := g.CheckEndpoint(t.Context(), "https://rebind.example.com/"); err != nil {
			t.Errorf("while it is public: %v", err)
		}
		if _, err := g.DialContext(t.Context(), "tcp", "rebind.example.com:443"); !blocked(t, err, w) {
			t.Errorf("%s: %v, after dialling %v", inside, err, w.all())
		}
	}
	// A connection takes one lookup, and goes to what that said.
	names := resolving("rebind.example.com", []string{"93.184.215.14"}, []string{"127.0.0.1"})
	g, w := newGuard(t, Options{Resolver: names})
	_, err := g.DialContext(t.Context(), "tcp", "rebind.example.com:443")
	if blocked(t, err, w) || !slices.Equal(w.all(), []string{"93.184.215.14:443"}) || names.asked != 1 {
		t.Errorf("%v, after %d lookups and dialling %v", err, names.asked, w.all())
	}
}

// What Allow names goes, and nothing beside it. (Case 19 of the field.)
func TestAllow(t *testing.T) {
	internal := &names{answers: map[string][][]string{
		"hooks.internal": {{"10.7.7.7"}}, "a.svc": {{"172.20.0.1"}}, "svc": {{"172.20.0.1"}}, "asvc": {{"172.20.0.1"}},
		"public.example.com": {{"93.184.215.14"}}, "meta.svc": {{"169.254.169.254"}}, "localhost": {{"127.0.0.1", "::1"}},
		"metadata.google.internal": {{"169.254.169.254"}}, "dns64.svc": {{"64:ff9b::a9fe:a9fe"}}, "both.example.com": {{"10.1.2.3", "10.2.0.1"}},
		"ten.example.com": {{"10.1.2.3"}},
	}}
	for allow, c := range map[string]struct{ goes, refused []string }{
		"10.1.0.0/16": {
			goes: []string{"https://10.1.2.3/", "http://10.1.2.3:8080/", "https://ten.example.com/", "http://ten.example.com/", "https://93.184.215.14/"},
			refused: []string{
				"https://10.2.0.1/", "https://10.0.255.255/", "https://127.0.0.1/", "https://169.254.169.254/", "http://93.184.215.14/",
				"https://[::ffff:10.1.2.3]/", "https://[64:ff9b::10.1.2.3]/", "https://hooks.internal/", "https://both.example.com/", "https://167838211/",
			},
		},
		"10.1.2.3":    {goes: []string{"http://10.1.2.3/"}, refused: []string{"http://10.1.2.4/"}},
		"10.1.2.3/32": {goes: []string{"http://10.1.2.3/"}, refused: []string{"http://10.1.2.4/"}},
		"hooks.internal": {
			goes:    []string{"http://hooks.internal/", "https://HOOKS.internal./x"},
			refused: []string{"https://10.7.7.7/", "https://a.svc/"},
		},
		"*.svc":              {goes: []string{"http://a.svc/"}, refused: []string{"https://svc/", "https://asvc/", "https://meta.svc/", "https://dns64.svc/"}},
		"public.example.com": {goes: []string{"http://public.example.com/"}, refused: []string{"http://93.184.215.14/"}},
		"localhost":          {goes: []string{"http://localhost/"}, refused: []string{"http://127.0.0.1/"}},
		"127.0.0.0/8,::1":    {goes: []string{"http://localhost/", "http://[::1]/"}, refused: []string{"http://0.0.0.0/", "http://[::ffff:127.0.0.1]/"}},
		// A metadata address only when it is named singly, however wide the rest is.
		"0.0.0.0/0,::/0,169.254.0.0/16": {
			goes: []string{"http://93.184.215.14/", "http://10.0.0.1/", "http://[fd00::1]/", "http://localhost/", "http://[::ffff:10.0.0.1]/"},
			refused: []string{
				"http://169.254.169.254/", "http://[fd00:ec2::254]/", "http://168.63.129.16/", "http://[::ffff:169.254.169.254]/",
				"http://[64:ff9b::a9fe:a9fe]/", "http://[2002:a9fe:a9fe::]/", "http://metadata.google.internal/", "http://meta.svc/", "http://2852039166/",
			},
		},
		"169.254.169.254":                          {goes: []string{"http://169.254.169.254/", "http://meta.svc/"}, refused: []string{"http://169.254.169.253/", "http://metadata.google.internal/", "http://[::ffff:169.254.169.254]/"}},
		"169.254.169.254/32":                       {goes: []string{"http://169.254.169.254/"}},
		"*.google.internal,169.254.169.254":        {refused: []string{"http://metadata.google.internal/"}},
		"metadata.google.internal":                 {refused: []string{"http://metadata.google.internal/"}},
		"metadata.google.internal,169.254.169.254": {goes: []string{"http://metadata.google.internal/"}},
		// That a form is allowed does not allow what it stands for.
		"64:ff9b::/96": {
			goes:    []string{"https://[64:ff9b::8.8.8.8]/", "http://[64:ff9b::8.8.8.8]/"},
			refused: []string{"https://[64:ff9b::10.0.0.1]/", "https://[64:ff9b::127.0.0.1]/", "https://[64:ff9b::169.254.169.254]/"},
		},
		"64:ff9b::/96,10.0.0.0/8": {goes: []string{"https://[64:ff9b::10.0.0.1]/"}},
		"2002::/16":               {goes: []string{"https://[2002:808:808::1]/"}, refused: []string{"https://[2002:a00:1::1]/"}},
		"2001::/32":               {goes: []string{"https://[2001::f7f7:f7f7]/"}, refused: []string{"https://[2001::f5ff:fffe]/"}},
		"::ffff:0:0/96":           {goes: []string{"https://[::ffff:8.8.8.8]/"}, refused: []string{"https://[::ffff:10.0.0.1]/"}},
	} {
		g, w := newGuard(t, Options{Allow: strings.Split(allow, ","), Resolver: internal})
		for _, endpoint := range c.goes {
			if err := g.CheckEndpoint(t.Context(), endpoint); err != nil {
				t.Errorf("%s, %s: %v", allow, endpoint, err)
			}
			if err := dial(t, g, endpoint); blocked(t, err, &wire{}) {
				t.Errorf("%s, %s: %v", allow, endpoint, err)
			}
		}
		*w = wire{}
		for _, endpoint := range c.refused {
			if err := g.CheckEndpoint(t.Context(), endpoint); subscriptions.CodeOf(err) != subscriptions.InvalidArgument {
				t.Errorf("%s, %s: %v, want it refused", allow, endpoint, err)
			}
			if err := dial(t, g, endpoint); !blocked(t, err, w) {
				t.Errorf("%s, %s: dialled %v", allow, endpoint, w.all())
			}
		}
	}
}

// dial opens the connection that a request to a URL takes.
func dial(t *testing.T, g *Guard, endpoint string) error {
	t.Helper()
	target, err := targetOf(endpoint)
	if err != nil {
		return &Blocked{reason: err.Error()}
	}
	dial := g.DialContext
	if target.plain {
		dial = g.DialPlainContext
	}
	_, err = dial(t.Context(), "tcp", net.JoinHostPort(target.host, "80"))
	return err
}

func TestWhatCannotBeAllowed(t *testing.T) {
	for _, entry := range []string{
		"", "10.1.2.3/16", "10.0.0.0/33", "10.0.0.0/", "/8", "http://a.example", "a.example:80", "a.example/path", "*", "*.", "a.*", "**.a", "*.10.0.0.1",
		"10.0.0", "0x7f.1", "2130706433", "[::1]", "::1%eth0", "fe80::%eth0/10", "a b", "a..b", ".a", "user@a.example", "a;b",
	} {
		if _, err := New(Options{Allow: []string{"10.0.0.0/8", entry}}); err == nil || !strings.Contains(err.Error(), entry) {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

// A server on loopback reaches loopback, by any name, and nothing else that is special.
func TestLoopback(t *testing.T) {
	local := &names{answers: map[string][][]string{
		"localhost": {{"127.0.0.1", "::1"}}, "app.localhost": {{"::1"}}, "lvh.example": {{"127.0.0.1"}}, "half.example": {{"127.0.0.1", "10.0.0.1"}},
	}}
	g, w := newGuard(t, Options{Loopback: true, Resolver: local})
	for _, endpoint := range []string{
		"http://127.0.0.1:9000/", "https://127.0.0.1/", "http://127.9.9.9/", "http://[::1]:9000/", "http://localhost:9000/", "http://app.localhost/", "http://lvh.example/",
	} {
		if err := g.CheckEndpoint(t.Context(), endpoint); err != nil {
			t.Errorf("%s: %v", endpoint, err)
		}
		if err := dial(t, g, endpoint); blocked(t, err, &wire{}) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	*w = wire{}
	for _, endpoint := range []string{
		"http://0.0.0.0:9000/", "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://2130706433/", "http://127.1/", "http://10.0.0.1/", "https://192.168.0.1/",
		"http://93.184.215.14/", "http://169.254.169.254/", "https://half.example/",
	} {
		if err := g.CheckEndpoint(t.Context(), endpoint); err == nil {
			t.Errorf("%s is allowed", endpoint)
		}
		if err := dial(t, g, endpoint); !blocked(t, err, w) {
			t.Errorf("%s: dialled %v", endpoint, w.all())
		}
	}
}

// A name that nobody knows yet may be known later, if that could help.
func TestNamesThatCannotBeResolved(t *testing.T) {
	for _, c := range []struct {
		endpoint string
		options  Options
		goes     bool
	}{
		{"https://later.example.com/", Options{}, true},
		{"http://later.example.com/", Options{}, false},
		{"http://later.example.com/", Options{Allow: []string{"*.example.com"}}, true},
		{"http://later.example.com/", Options{Allow: []string{"other.example.com"}}, false},
		{"http://later.example.com/", Options{Allow: []string{"10.0.0.0/8"}}, true},
		{"http://later.example.com/", Options{Loopback: true}, true},
	} {
		g, w := newGuard(t, c.options)
		if err := g.CheckEndpoint(t.Context(), c.endpoint); (err == nil) != c.goes {
			t.Errorf("%s with %v: %v", c.endpoint, c.options, err)
		}
		_, err := g.DialContext(t.Context(), "tcp", "later.example.com:443")
		if _, ok := errors.AsType[*net.DNSError](err); !ok || len(w.all()) > 0 {
			t.Errorf("%v, after dialling %v", err, w.all())
		}
	}
}

// slow is a resolver that never answers.
type slow struct{}

func (slow) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestASlowResolverHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newGuard(t, Options{Resolver: slow{}})
		start := time.Now()
		if err := g.CheckEndpoint(t.Context(), "https://slow.example.com/"); err != nil || time.Since(start) != lookupTime {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		start = time.Now()
		if _, err := g.DialContext(t.Context(), "tcp", "slow.example.com:443"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != dialTime {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// machines are the addresses of a name: how long each takes to answer, and how.
type machines map[string]struct {
	after time.Duration
	fails bool
}

func (m machines) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	machine := m[address]
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(machine.after):
	}
	if machine.fails {
		return nil, errors.New(address + " refused")
	}
	here, there := net.Pipe()
	there.Close()
	return named{here, address}, nil
}

type named struct {
	net.Conn
	address string
}

// deaf machines are those of a dialer that does not hear of a cancelled context.
type deaf struct {
	machines
	closed chan string
}

func (d deaf) DialContext(_ context.Context, _, address string) (net.Conn, error) {
	conn, err := d.machines.DialContext(context.Background(), "", address)
	return closing{conn, address, d.closed}, err
}

type closing struct {
	net.Conn
	address string
	closed  chan string
}

func (c closing) Close() error {
	c.closed <- c.address
	return c.Conn.Close()
}

// A connection that comes after another won is closed.
func TestALateConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, b = "93.184.215.14:443", "93.184.215.15:443"
		d := deaf{machines{a: {after: time.Second}, b: {}}, make(chan string, 2)}
		g, err := New(Options{Dialer: d, Resolver: resolving("two.example.com", []string{"93.184.215.14", "93.184.215.15"})})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := g.DialContext(t.Context(), "tcp", "two.example.com:443")
		if err != nil || conn.(closing).address != b || len(d.closed) != 1 || <-d.closed != a {
			t.Errorf("%v, %v", conn, err)
		}
		conn.Close()
	})
}

// The first address of a name that answers is used; one that hangs delays the
// others by a moment only; what comes too late is closed.
func TestRace(t *testing.T) {
	const a, b = "93.184.215.14:443", "[2606:2800:21f::1]:443"
	for name, c := range map[string]struct {
		machines machines
		want     string // address, or the error's text
		after    time.Duration
	}{
		"the first":              {machines{a: {}}, a, 0},
		"the first is slow":      {machines{a: {after: 200 * time.Millisecond}}, a, 200 * time.Millisecond},
		"the first refuses":      {machines{a: {after: time.Millisecond, fails: true}, b: {}}, b, time.Millisecond},
		"the first hangs":        {machines{a: {after: time.Hour}, b: {}}, b, attemptDelay},
		"both answer":            {machines{a: {after: 400 * time.Millisecond}, b: {after: 149 * time.Millisecond}}, b, 399 * time.Millisecond},
		"both refuse":            {machines{a: {after: time.Second, fails: true}, b: {fails: true}}, b + " refused", time.Second},
		"both hang":              {machines{a: {after: time.Hour}, b: {after: time.Hour}}, context.DeadlineExceeded.Error(), dialTime},
		"one refuses, one hangs": {machines{a: {fails: true}, b: {after: time.Hour}}, a + " refused", dialTime},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, err := New(Options{Dialer: c.machines, Resolver: resolving("two.example.com", []string{"93.184.215.14", "2606:2800:21f::1"})})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			conn, err := g.DialContext(t.Context(), "tcp", "two.example.com:443")
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = conn.(named).address
				conn.Close()
			}
			if got != c.want || time.Since(start) != c.after {
				t.Errorf("%s: %s after %v, want %s after %v", name, got, time.Since(start), c.want, c.after)
			}
		})
	}
}
