package guard

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"postrider/subscriptions"
)

// forms are all forms of addresses that are refused, as the host of a URL, and
// what is said of them. (Case 18 of the field.)
var forms = []struct{ host, kind string }{
	// IPv4
	{"0.0.0.0", "unspecified"}, {"0.1.2.3", "this network"},
	{"10.0.0.0", "private"}, {"10.1.2.3", "private"}, {"10.255.255.255", "private"},
	{"172.16.0.1", "private"}, {"172.31.255.255", "private"}, {"192.168.0.1", "private"}, {"192.168.255.255", "private"},
	{"100.64.0.1", "CGNAT"}, {"100.127.255.255", "CGNAT"},
	{"127.0.0.1", "loopback"}, {"127.1.2.3", "loopback"}, {"127.255.255.255", "loopback"},
	{"169.254.0.1", "link-local"}, {"169.254.255.255", "link-local"},
	{"192.0.0.1", "IETF"}, {"192.0.0.255", "IETF"},
	{"192.0.2.1", "documentation"}, {"198.51.100.1", "documentation"}, {"203.0.113.255", "documentation"},
	{"192.88.99.1", "6to4"}, {"198.18.0.1", "benchmarks"}, {"198.19.255.255", "benchmarks"},
	{"224.0.0.1", "multicast"}, {"239.255.255.255", "multicast"},
	{"240.0.0.1", "reserved"}, {"255.255.255.254", "reserved"}, {"255.255.255.255", "broadcast"},
	// Clouds' metadata
	{"169.254.169.254", "metadata"}, {"169.254.170.2", "metadata"}, {"169.254.170.23", "metadata"}, {"168.63.129.16", "metadata"},
	{"100.100.100.200", "metadata"}, {"192.0.0.192", "metadata"}, {"169.254.42.42", "metadata"}, {"169.254.0.23", "metadata"},
	{"[fd00:ec2::254]", "metadata"}, {"[fd00:ec2::23]", "metadata"}, {"[fd20:ce::254]", "metadata"}, {"[fd00:42::42]", "metadata"},
	{"metadata.google.internal", "metadata"}, {"METADATA.google.internal.", "metadata"}, {"metadata", "metadata"},
	{"instance-data", "metadata"}, {"metadata.goog", "metadata"},
	// IPv6
	{"[::]", "unspecified"}, {"[::1]", "loopback"}, {"[0:0:0:0:0:0:0:1]", "loopback"},
	{"[fc00::1]", "unique local"}, {"[fdff:ffff::1]", "unique local"}, {"[fd12:3456:789a::1]", "unique local"},
	{"[fe80::1]", "link-local"}, {"[febf::1]", "link-local"}, {"[fe80::1%25eth0]", "link-local"}, {"[fec0::1]", "site-local"},
	{"[ff02::1]", "multicast"}, {"[ff0e::1]", "multicast"},
	{"[2001:db8::1]", "documentation"}, {"[3fff::1]", "documentation"}, {"[100::1]", "discards"},
	{"[2001:2::1]", "IETF"}, {"[2001:10::1]", "IETF"}, {"[2001:20::1]", "IETF"}, {"[5f00::1]", "SRv6"},
	{"[1::1]", "reserved"}, {"[4000::1]", "reserved"}, {"[8000::1]", "reserved"}, {"[200::1]", "reserved"},
	// IPv6 that stands for IPv4, whatever it stands for
	{"[::ffff:169.254.169.254]", "mapped"}, {"[::ffff:a9fe:a9fe]", "mapped"}, {"[::ffff:127.0.0.1]", "mapped"}, {"[::ffff:8.8.8.8]", "mapped"},
	{"[0:0:0:0:0:ffff:7f00:1]", "mapped"},
	{"[::127.0.0.1]", "compatible"}, {"[::8.8.8.8]", "compatible"}, {"[::2]", "compatible"},
	{"[64:ff9b::169.254.169.254]", "NAT64"}, {"[64:ff9b::a00:1]", "NAT64"}, {"[64:ff9b::8.8.8.8]", "NAT64"}, {"[64:ff9b:1::10.0.0.1]", "NAT64"},
	{"[2002:7f00:1::]", "6to4"}, {"[2002:a9fe:a9fe::1]", "6to4"}, {"[2002:808:808::1]", "6to4"},
	{"[2001:0:7f00:1::]", "Teredo"}, {"[2001::1]", "Teredo"},
	{"[2600::5efe:10.0.0.1]", "ISATAP"}, {"[2600::200:5efe:a9fe:a9fe]", "ISATAP"},
	// Numbers that some programs take for addresses
	{"2130706433", "not an address"}, {"2852039166", "not an address"}, {"017700000001", "not an address"}, {"0x7f000001", "not an address"},
	{"0X7F000001", "not an address"}, {"127.1", "not an address"}, {"127.0.1", "not an address"}, {"0177.0.0.1", "not an address"},
	{"0x7f.0.0.1", "not an address"}, {"0x7f.1", "not an address"}, {"127.0.0.01", "not an address"}, {"127.0.0.1.", "not an address"},
	{"8.8.8.8.", "not an address"}, {"1.2.3", "not an address"}, {"1.2.3.4.5", "not an address"}, {"256.1.1.1", "not an address"},
	{"999999999999", "not an address"}, {"0", "not an address"}, {"0x", "not an address"}, {"a.0x1", "not an address"}, {"a.7", "not an address"},
	{"0xffffffffffffffffffffffff", "not an address"}, {"00000000.0.0.0", "not an address"}, {"08.08.08.08", "not an address"},
	// Letters and digits that become others
	{"１２７.0.0.1", "loopback"}, {"127。0。0。1", "loopback"}, {"①②⑦.⓪.⓪.①", "loopback"}, {"１６９.254.169.254", "metadata"},
	{"2１30706433", "not an address"}, {"ⓛocalhost", "this machine"}, {"ｌocal\u00adhost", "this machine"}, {"metadata。google．internal", "metadata"},
	// Names of this machine
	{"localhost", "this machine"}, {"LOCALHOST", "this machine"}, {"localhost.", "this machine"}, {"a.b.localhost", "this machine"},
	// No hosts at all
	{"a..b", "not a host name"}, {".a", "not a host name"}, {"a..", "not a host name"}, {".", "not a host name"}, {"1..", "not a host name"},
}

// Each is refused when a subscription is created, with the reason, and when it is
// dialled, over TLS and without.
func TestForms(t *testing.T) {
	for _, f := range forms {
		g, w := newGuard(t, Options{Resolver: &names{}})
		for _, scheme := range []string{"https://", "http://"} {
			endpoint := scheme + f.host + ":8443/hook?token=hunter2"
			err := g.CheckEndpoint(t.Context(), endpoint)
			if subscriptions.CodeOf(err) != subscriptions.InvalidArgument || !strings.Contains(err.Error(), f.kind) ||
				!strings.Contains(err.Error(), "pushConfig.pushEndpoint: ") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v, want it refused as %q", endpoint, err, f.kind)
			}
		}
		u, err := url.Parse("https://" + f.host)
		if err != nil {
			t.Errorf("%s is not a host in a URL: %v", f.host, err)
			continue
		}
		address := net.JoinHostPort(u.Hostname(), "443")
		if _, err := g.DialContext(t.Context(), "tcp", address); !blocked(t, err, w) {
			t.Errorf("%s: dialled %v", address, w.all())
		}
		if _, err := g.DialPlainContext(t.Context(), "tcp", address); !blocked(t, err, w) {
			t.Errorf("%s: dialled %v", address, w.all())
		}
	}
}

// What a name resolves to is refused as well, in every form that DNS can give it,
// also beside a good address; the one who asks is not told the address.
func TestFormsBehindNames(t *testing.T) {
	for _, f := range forms {
		addr, ok := strings.CutPrefix(f.host, "[")
		addr = strings.TrimSuffix(addr, "]")
		if net.ParseIP(addr) == nil || ok && strings.Contains(f.kind, "mapped") {
			continue // no address; or one that a resolver may write for the IPv4 address, see below
		}
		for _, answer := range [][]string{{addr}, {"93.184.215.14", addr}, {addr, "2606:2800:21f:cb07:6820:80da:af6b:8b2c"}} {
			g, w := newGuard(t, Options{Resolver: resolving("hooks.example.com", answer)})
			err := g.CheckEndpoint(t.Context(), "https://hooks.example.com/")
			if subscriptions.CodeOf(err) != subscriptions.InvalidArgument || !strings.Contains(err.Error(), f.kind) {
				t.Errorf("%v: %v, want it refused as %q", answer, err, f.kind)
				continue
			}
			if told := err.(*subscriptions.Error).Message; strings.Contains(told, netip.MustParseAddr(addr).String()) {
				t.Errorf("%v: the caller is told the address: %s", answer, told)
			}
			_, err = g.DialContext(t.Context(), "tcp", "hooks.example.com:443")
			if !blocked(t, err, w) || !strings.Contains(err.Error(), netip.MustParseAddr(addr).String()) {
				t.Errorf("%v: %v, after dialling %v", answer, err, w.all())
			}
		}
	}
	// A resolver may name the interface that an address is on, too.
	zoned, unused := newGuard(t, Options{Resolver: resolving("hooks.example.com", []string{"fe80::1%eth0"})})
	if _, err := zoned.DialContext(t.Context(), "tcp", "hooks.example.com:443"); !blocked(t, err, unused) {
		t.Errorf("an address with a zone: %v", err)
	}
	// Resolvers write IPv4 addresses in this form, too.
	g, w := newGuard(t, Options{Resolver: resolving("hooks.example.com", []string{"::ffff:169.254.169.254"})})
	if _, err := g.DialContext(t.Context(), "tcp", "hooks.example.com:443"); !blocked(t, err, w) || !strings.Contains(err.Error(), "metadata") {
		t.Errorf("a mapped address: %v", err)
	}
}

// What is public goes, dialled by the address that was judged.
func TestPublicAddresses(t *testing.T) {
	for host, answer := range map[string]string{
		"8.8.8.8": "", "1.1.1.1": "", "9.255.255.255": "", "11.0.0.0": "", "100.63.255.255": "", "100.128.0.0": "", "126.255.255.255": "",
		"128.0.0.0": "", "172.15.255.255": "", "172.32.0.0": "", "192.167.255.255": "", "192.169.0.0": "", "198.17.255.255": "",
		"198.20.0.0": "", "223.255.255.255": "", "169.253.255.255": "", "169.255.0.0": "", "192.0.1.0": "", "168.63.129.17": "",
		"[2606:4700:4700::1111]": "", "[2001:4860:4860::8888]": "", "[2a00:1450:4001::1]": "", "[2001:200::1]": "", "[2003::1]": "",
		"hooks.example.com": "93.184.215.14", "HOOKS.Example.com.": "93.184.215.14", "bücher.example": "93.184.215.14",
		"0x.example.com": "93.184.215.14", "127.0.0.1.example.com": "93.184.215.14", "a1": "93.184.215.14", "1e1": "93.184.215.14",
		"0xg": "93.184.215.14", "metadata.google.internal.example.com": "93.184.215.14", "notlocalhost": "93.184.215.14",
	} {
		u, err := url.Parse("https://" + host)
		if err != nil {
			t.Fatal(err)
		}
		resolver := &names{answers: map[string][][]string{}}
		for _, name := range []string{strings.TrimSuffix(strings.ToLower(host), "."), "xn--bcher-kva.example"} {
			resolver.answers[name] = [][]string{{answer}}
		}
		g, w := newGuard(t, Options{Resolver: resolver})
		if err := g.CheckEndpoint(t.Context(), u.String()); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		want := net.JoinHostPort(u.Hostname(), "443")
		if answer != "" {
			want = net.JoinHostPort(answer, "443")
		}
		if _, err := g.DialContext(t.Context(), "tcp", net.JoinHostPort(u.Hostname(), "443")); blocked(t, err, w) || len(w.all()) != 1 || w.all()[0] != want {
			t.Errorf("%s: %v, after dialling %v", host, err, w.all())
		}
		// Without TLS even that is refused.
		if err := g.CheckEndpoint(t.Context(), "http://"+host); err == nil || !strings.Contains(err.Error(), "https") {
			t.Errorf("http to %s: %v", host, err)
		}
	}
}
