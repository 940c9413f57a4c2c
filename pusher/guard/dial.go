package guard

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// attemptDelay is how long an address has before the next one is tried beside it
// (RFC 8305, 5), and maxAddresses how many of a name are tried at all.
const (
	attemptDelay = 250 * time.Millisecond
	maxAddresses = 8
)

// DialContext opens a connection on which TLS will be spoken.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return g.dial(ctx, network, address, false)
}

// DialPlainContext opens a connection without TLS.
func (g *Guard) DialPlainContext(ctx context.Context, network, address string) (net.Conn, error) {
	return g.dial(ctx, network, address, true)
}

func (g *Guard) dial(ctx context.Context, network, address string, plain bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	// With a proxy all targets are judged by Proxy, which lets none but loopback
	// be dialled here beside the proxy itself.
	if g.IsProxy(address) {
		return g.dialer.DialContext(ctx, network, address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	addrs, err := g.addressesOf(ctx, host, plain)
	if err != nil {
		return nil, err
	}
	targets := make([]string, 0, maxAddresses)
	for _, addr := range addrs[:min(len(addrs), maxAddresses)] {
		targets = append(targets, netip.AddrPortFrom(addr, uint16(number)).String())
	}
	return g.race(ctx, network, targets)
}

// addressesOf are the addresses of a host, all of which may be dialled.
func (g *Guard) addressesOf(ctx context.Context, host string, plain bool) ([]netip.Addr, error) {
	t, err := newTarget(host, plain)
	if err != nil {
		return nil, &Blocked{reason: err.Error()}
	}
	if err := g.judgeHost(t); err != nil {
		return nil, err
	}
	if t.literal() {
		return []netip.Addr{t.addr.WithZone(t.zone)}, g.judgeAddress(t, t.addr)
	}
	addrs, err := g.lookup(ctx, t)
	if err != nil {
		return nil, err
	}
	return addrs, g.judgeAll(t, addrs)
}

// race dials addresses, each a little after the one before or as soon as that one
// failed, and returns the first connection. If there is none, the first error.
func (g *Guard) race(ctx context.Context, network string, addresses []string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan result)
	started, ended := 0, 0
	start := func() {
		address := addresses[started]
		started++
		go func() {
			conn, err := g.dialer.DialContext(ctx, network, address)
			results <- result{conn, err}
		}()
	}
	defer func() {
		cancel()
		for ; ended < started; ended++ { // what was too late
			if r := <-results; r.err == nil {
				r.conn.Close()
			}
		}
	}()
	start()
	next := time.NewTicker(attemptDelay)
	defer next.Stop()
	var failure error
	for {
		select {
		case r := <-results:
			ended++
			if r.err == nil {
				return r.conn, nil
			}
			if failure == nil {
				failure = r.err
			}
			if started == len(addresses) && ended == started {
				return nil, failure
			}
			if started < len(addresses) {
				next.Reset(attemptDelay)
				start()
			}
		case <-next.C:
			if started < len(addresses) {
				start()
			}
		}
	}
}
