package pusher

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"postrider/subscriptions"
)

// metadata makes headers of what a message has beside its data: our own, and one
// of each attribute that can be one.
func metadata(sub *subscriptions.Subscription, d *subscriptions.Delivery) http.Header {
	m := &d.Message
	h := make(http.Header, len(m.Attributes)+5)
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		if value := m.Attributes[name]; safeHeader(name) && httpguts.ValidHeaderFieldValue(value) {
			h.Add(name, value) // names that differ in case alone are one header of two values
		}
	}
	h.Set("X-Goog-Pubsub-Subscription-Name", sub.Name.String())
	h.Set("X-Goog-Pubsub-Message-Id", m.ID.String())
	h.Set("X-Goog-Pubsub-Publish-Time", string(appendTime(nil, m.PublishTime())))
	if m.OrderingKey != "" && httpguts.ValidHeaderFieldValue(m.OrderingKey) {
		h.Set("X-Goog-Pubsub-Ordering-Key", m.OrderingKey)
	}
	if sub.DeadLetter != nil {
		h.Set("X-Goog-Pubsub-Delivery-Attempt", strconv.Itoa(d.Attempt))
	}
	return h
}

// safeHeader tells whether an attribute of this name may become a header: it is a
// legal name, and says nothing on behalf of the server, of whoever sends the
// request, or of a proxy on the way. Many programs behind CGI or WSGI cannot tell
// _ from -, so neither do we.
func safeHeader(name string) bool {
	if !httpguts.ValidHeaderFieldName(name) {
		return false
	}
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	return !unsafeHeaders[name] && !slices.ContainsFunc(unsafePrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// unsafeHeaders are the request headers that the Fetch standard keeps from the
// scripts of a page, for the same reasons, those of one connection (RFC 9110,
// 7.6.1), and what is trusted to come from the server or from a proxy.
var unsafeHeaders = map[string]bool{
	"accept-charset": true, "accept-encoding": true, "access-control-request-headers": true,
	"access-control-request-method": true, "access-control-request-private-network": true, "connection": true,
	"content-length": true, "cookie": true, "cookie2": true, "date": true, "dnt": true, "expect": true, "host": true,
	"keep-alive": true, "origin": true, "referer": true, "set-cookie": true, "te": true, "trailer": true,
	"transfer-encoding": true, "upgrade": true, "via": true,
	"x-http-method": true, "x-http-method-override": true, "x-method-override": true,

	"authorization": true, "user-agent": true, "forwarded": true, "x-real-ip": true, "true-client-ip": true,
	"x-client-ip": true, "x-cluster-client-ip": true, "cf-connecting-ip": true, "x-original-url": true, "x-rewrite-url": true,
	"signature": true, "signature-input": true,
}

// unsafePrefixes begin names of the same kind.
var unsafePrefixes = []string{"proxy-", "sec-", "x-forwarded-", "x-goog-", "webhook-", "postrider-"}
