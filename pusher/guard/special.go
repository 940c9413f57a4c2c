package guard

import "net/netip"

// network is a range of addresses with a purpose of its own.
type network struct {
	prefix netip.Prefix
	kind   string
}

// special lists the networks that are no part of the public internet, after the
// registries of IANA for special purposes, what is narrower before what holds it.
var special = []network{
	{netip.MustParsePrefix("0.0.0.0/32"), "the unspecified address"},
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of “this network”"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address shared by customers of a provider (CGNAT)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "an address for IETF protocols"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay between IPv6 and IPv4 (6to4)"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("255.255.255.255/32"), "the broadcast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},

	{netip.MustParsePrefix("::/128"), "the unspecified address"},
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("::ffff:0:0/96"), "an IPv4-mapped address"},
	{netip.MustParsePrefix("::/96"), "an IPv4-compatible address"},
	{netip.MustParsePrefix("64:ff9b::/96"), "an IPv4 address behind NAT64"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "an IPv4 address behind NAT64"},
	{netip.MustParsePrefix("100::/64"), "an address that discards"},
	{netip.MustParsePrefix("2001::/32"), "a Teredo address"},
	{netip.MustParsePrefix("2001::/23"), "an address for IETF protocols"},
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documentation"},
	{netip.MustParsePrefix("2002::/16"), "a 6to4 address"},
	{netip.MustParsePrefix("3fff::/20"), "an address for documentation"},
	{netip.MustParsePrefix("5f00::/16"), "a segment identifier (SRv6)"},
	{netip.MustParsePrefix("fc00::/7"), "a unique local address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("fec0::/10"), "a site-local address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
}

// public holds all IPv6 addresses that are given out to the internet.
var public = netip.MustParsePrefix("2000::/3")

// kindOf says what an address without a zone is, empty for a public one.
func kindOf(addr netip.Addr) string {
	for _, n := range special {
		if n.prefix.Contains(addr) {
			return n.kind
		}
	}
	switch {
	case addr.Is4():
		return ""
	case isISATAP(addr):
		return "an ISATAP address"
	case !public.Contains(addr):
		return "a reserved address"
	}
	return ""
}

// isISATAP tells whether the lower half of an address is ISATAP's (RFC 5214, 6.1).
func isISATAP(addr netip.Addr) bool {
	b := addr.As16()
	return (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

var (
	compatible = netip.MustParsePrefix("::/96")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	teredo     = netip.MustParsePrefix("2001::/32")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

// inside is the IPv4 address that an IPv6 address stands for, if it does.
func inside(addr netip.Addr) (netip.Addr, bool) {
	b := addr.As16()
	last := [4]byte(b[12:])
	switch {
	case addr.Is4(), addr == netip.IPv6Unspecified(), addr == netip.IPv6Loopback():
		return netip.Addr{}, false
	case addr.Is4In6(), compatible.Contains(addr), nat64.Contains(addr), nat64Local.Contains(addr), isISATAP(addr):
		return netip.AddrFrom4(last), true
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case teredo.Contains(addr): // the client's, with each bit turned over
		for i := range last {
			last[i] = ^last[i]
		}
		return netip.AddrFrom4(last), true
	}
	return netip.Addr{}, false
}

// metadata are the addresses at which clouds hand credentials to their machines.
// Some lie in the public range.
var metadata = map[netip.Addr]bool{
	netip.MustParseAddr("169.254.169.254"): true, // nearly all
	netip.MustParseAddr("169.254.170.2"):   true, // AWS ECS
	netip.MustParseAddr("169.254.170.23"):  true, // AWS EKS
	netip.MustParseAddr("169.254.0.23"):    true, // Tencent
	netip.MustParseAddr("169.254.42.42"):   true, // Scaleway
	netip.MustParseAddr("168.63.129.16"):   true, // Azure
	netip.MustParseAddr("100.100.100.200"): true, // Alibaba
	netip.MustParseAddr("192.0.0.192"):     true, // Oracle, older machines
	netip.MustParseAddr("fd00:ec2::254"):   true, // AWS
	netip.MustParseAddr("fd00:ec2::23"):    true, // AWS EKS
	netip.MustParseAddr("fd20:ce::254"):    true, // Google
	netip.MustParseAddr("fd00:42::42"):     true, // Scaleway
}

// metadataNames are the names that such addresses go by.
var metadataNames = map[string]bool{
	"metadata":                   true,
	"metadata.google.internal":   true,
	"metadata.goog":              true,
	"metadata.azure.internal":    true,
	"metadata.azure.com":         true,
	"metadata.tencentyun.com":    true,
	"instance-data":              true,
	"instance-data.ec2.internal": true,
}
