package guard

import (
	"fmt"
	"net/netip"
	"strings"
)

// allowed is what an operator vouches for.
type allowed struct {
	networks []netip.Prefix
	single   map[netip.Addr]bool
	hosts    map[string]bool
	below    []string // suffixes, each with its dot
}

// parseAllow reads a list of networks such as 10.1.0.0/16, addresses, host names,
// and *.NAME for all names below NAME.
func parseAllow(entries []string) (allowed, error) {
	a := allowed{single: map[netip.Addr]bool{}, hosts: map[string]bool{}}
	for _, entry := range entries {
		if err := a.add(entry); err != nil {
			return allowed{}, err
		}
	}
	return a, nil
}

func (a *allowed) add(entry string) error {
	if strings.Contains(entry, "/") {
		return a.addNetwork(entry)
	}
	if addr, err := netip.ParseAddr(entry); err == nil && addr.Zone() == "" {
		a.addAddress(addr)
		return nil
	}
	name, below := strings.CutPrefix(entry, "*.")
	t, err := newTarget(name, false)
	if err != nil || t.literal() || !isHostName(t.host) {
		return fmt.Errorf("%q is not a network such as 10.1.0.0/16, an address, a host name without a port, nor *.NAME", entry)
	}
	if below {
		a.below = append(a.below, "."+t.host)
	} else {
		a.hosts[t.host] = true
	}
	return nil
}

func (a *allowed) addNetwork(entry string) error {
	network, err := netip.ParsePrefix(entry)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a network, such as 10.1.0.0/16 or fd12:3456::/32", entry)
	case network != network.Masked():
		return fmt.Errorf("%q is an address inside of a network: the network is %s, the address alone %s", entry, network.Masked(), network.Addr())
	case network.IsSingleIP():
		a.addAddress(network.Addr())
	default:
		a.networks = append(a.networks, network)
	}
	return nil
}

func (a *allowed) addAddress(addr netip.Addr) {
	a.single[addr] = true
}

// address tells whether an address is named.
func (a *allowed) address(addr netip.Addr) bool {
	if a.single[addr] {
		return true
	}
	for _, n := range a.networks {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}

// loopback tells whether any of this machine's loopback is named.
func (a *allowed) loopback() bool {
	return a.address(netip.AddrFrom4([4]byte{127, 0, 0, 1})) || a.address(netip.IPv6Loopback())
}

// host tells whether a host name is named.
func (a *allowed) host(name string) bool {
	if a.hosts[name] {
		return true
	}
	for _, suffix := range a.below {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// isHostName tells whether s consists of what DNS names do.
func isHostName(s string) bool {
	return len(s) <= 253 && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_')
	})
}
