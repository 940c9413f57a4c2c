package guard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names resolves names to addresses without asking anybody. What is asked more
// than once may be answered differently each time; the last answer stays.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   int
}

func (n *names) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	answers := n.answers[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		n.answers[host] = answers[1:]
	}
	var addrs []netip.Addr
	for _, text := range answers[0] {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

func resolving(host string, answers ...[]string) *names {
	return &names{answers: map[string][][]string{host: answers}}
}

// wire is a network on which nobody answers: it notes who was dialled.
type wire struct {
	mu     sync.Mutex
	dialed []string
}

var errNoWire = errors.New("there is no such machine in a test")

func (w *wire) DialContext(_ context.Context, _, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialed = append(w.dialed, address)
	return nil, errNoWire
}

func (w *wire) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dialed)
}

// newGuard makes a guard that reaches nothing.
func newGuard(t testing.TB, o Options) (*Guard, *wire) {
	t.Helper()
	w := &wire{}
	o.Dialer = w
	if o.Resolver == nil {
		o.Resolver = &names{}
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g, w
}

// blocked tells whether an error is the guard's, which must then have dialled nothing.
func blocked(t testing.TB, err error, w *wire) bool {
	t.Helper()
	_, is := errors.AsType[*Blocked](err)
	if dialed := w.all(); is && len(dialed) > 0 {
		t.Errorf("blocked (%v), and yet dialled %v", err, dialed)
	}
	if !is && !errors.Is(err, errNoWire) {
		t.Errorf("neither blocked nor dialled: %v", err)
	}
	return is
}
