// Package guard decides where outgoing requests may go, so that nobody who can
// create a subscription can make the server reach into the network that it
// stands in.
//
// A target is judged twice: by CheckEndpoint when a subscription is created or
// changed, to tell whoever does so, and by the dialer for each connection, which
// alone decides. A name is resolved there once, all its addresses are judged, and
// one of those is dialled: there is no second lookup that could say something
// else (DNS rebinding). Redirects are not followed by those who send, so a
// connection is all there is to judge.
//
//	public address, https             goes
//	public address, http              only where Allow names it
//	private or otherwise special      only where Allow names it; http goes too
//	an IPv6 address with an IPv4      Allow must name both the form and the
//	address inside                    address inside
//	loopback                          where Allow names it, or with Loopback
//	metadata service of a cloud       only where Allow names this one address
//	a number that is no address       never: 2130706433, 0x7f.1, 127.1
//
// Through a proxy, names are resolved by the proxy and it connects: the guard
// judges what the name resolves to here, if it does, and the proxy has to
// protect what only it can see.
package guard
