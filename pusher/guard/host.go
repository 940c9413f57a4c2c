package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// target is where a request wants to go.
type target struct {
	host  string     // in lower case, as it is looked up, without a dot at the end
	addr  netip.Addr // of a host that is an address; without a zone
	zone  string
	plain bool // no TLS
}

func (t target) literal() bool { return t.addr.IsValid() }

// local tells whether the host is this machine by its form alone: every resolver
// is meant to know that localhost, and what is below, is (RFC 6761, 6.3).
func (t target) local() bool {
	return t.addr.IsLoopback() || t.host == "localhost" || strings.HasSuffix(t.host, ".localhost")
}

// targetOf reads the target of a URL.
func targetOf(endpoint string) (target, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return target{}, errors.New("it is not a URL") // the error would repeat it, with what secrets it holds
	}
	return newTarget(u.Hostname(), u.Scheme != "https")
}

// newTarget reads a host as net/http does, and refuses one that other programs
// would read as another.
func newTarget(host string, plain bool) (target, error) {
	name, err := ascii(host)
	if err != nil {
		return target{}, err
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		bare := addr.WithZone("")
		return target{host: bare.String(), addr: bare, zone: addr.Zone(), plain: plain}, nil
	}
	name = strings.ToLower(strings.TrimSuffix(name, ".")) // a dot at the end marks a full name
	switch {
	case name == "", strings.HasPrefix(name, "."), strings.HasSuffix(name, "."), strings.Contains(name, ".."):
		return target{}, errors.New("its host is not a host name")
	case endsInNumber(name):
		return target{}, fmt.Errorf("%s is not an address: an IPv4 address is four decimal numbers without leading zeros", host)
	}
	return target{host: name, plain: plain}, nil
}

// ascii is a host in the form in which net/http looks it up. There are digits,
// dots and letters beyond ASCII that become these.
func ascii(host string) (string, error) {
	if !strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) {
		return host, nil
	}
	name, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return "", errors.New("its host is not a host name")
	}
	return name, nil
}

// endsInNumber tells whether programs that follow the URL standard, or the C
// library, take a host for an IPv4 address: its last label is a number, decimal,
// octal or hexadecimal.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	digits, hex := strings.CutPrefix(last, "0x")
	if !hex {
		return false
	}
	_, err := strconv.ParseUint("0"+digits, 16, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}
