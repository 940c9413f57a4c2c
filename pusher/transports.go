package pusher

import (
	"fmt"
	"net/http"
	"sync"
)

// transports are what POSTs go through: one for those without a client
// certificate, and one for each certificate, since a connection that is kept
// belongs to who shook hands on it.
type transports struct {
	plain http.RoundTripper
	make  func(certificate string) (http.RoundTripper, error)

	mu    sync.Mutex
	named map[string]http.RoundTripper
}

// of finds, or makes, the transport that shows a certificate.
func (t *transports) of(certificate string) (http.RoundTripper, error) {
	if certificate == "" {
		return t.plain, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.named[certificate]; known != nil {
		return known, nil
	}
	if t.make == nil {
		return nil, fmt.Errorf("this server has no client certificate %q", certificate)
	}
	made, err := t.make(certificate)
	if err != nil {
		return nil, err
	}
	t.named[certificate] = made
	return made, nil
}

// closeIdle closes the connections that are kept for nothing any more.
func (t *transports) closeIdle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := []http.RoundTripper{t.plain}
	for _, one := range t.named {
		all = append(all, one)
	}
	for _, one := range all {
		if c, ok := one.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}
