package port

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// Certificate is the server's, from a file with its chain and a file with its key. What stands in them later is taken for new
// connections; those that are open go on.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	loaded  []byte // what stood in the files
	failure error  // why what stands there now is not taken
}

// reloadEvery is how often the files are read. They are small, and a notice of a change may not come, such as over NFS.
const reloadEvery = 10 * time.Second

// soon is how long before its end a certificate is worth a warning.
const soon = 7 * 24 * time.Hour

// LoadCertificate reads the files, in PEM.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log}
	if _, err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// load takes what stands in the files, if it is new and right.
func (c *Certificate) load() (changed bool, err error) {
	cert, err := os.ReadFile(c.certFile)
	if err != nil {
		return false, err // os says "open FILE: …"
	}
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		return false, err
	}
	both := bytes.Join([][]byte{cert, key}, []byte{0})
	if bytes.Equal(both, c.loaded) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, fmt.Errorf("%s and %s are not a certificate and its key: %w", c.certFile, c.keyFile, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current, c.loaded = &pair, both
	return true, nil
}

// Config is how to speak TLS with this certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.current, nil
		},
	}
}

// Run takes what is written to the files until ctx ends, and warns of a certificate that comes to its end.
func (c *Certificate) Run(ctx context.Context) error {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	told := c.Warnings(time.Now()) // at start
	for {
		select {
		case <-tick.C:
			c.reload()
			warnings := c.Warnings(time.Now())
			for _, w := range warnings {
				if !slices.Contains(told, w) {
					c.log.Warn(w)
				}
			}
			told = warnings
		case <-ctx.Done():
			return nil
		}
	}
}

// reload tells of a change, and of a failure once.
func (c *Certificate) reload() {
	changed, err := c.load()
	c.mu.Lock()
	before := c.failure
	c.failure = err
	c.mu.Unlock()
	switch {
	case changed:
		c.log.Info("the certificate is loaded anew", "file", c.certFile, "valid_until", c.leaf().NotAfter)
	case err != nil && before == nil:
		c.log.Warn("the certificate cannot be loaded anew", "error", err)
	}
}

// Warnings are what an operator should mend.
func (c *Certificate) Warnings(now time.Time) []string {
	leaf := c.leaf()
	c.mu.Lock()
	failure := c.failure
	c.mu.Unlock()
	var all []string
	switch left := leaf.NotAfter.Sub(now); {
	case now.Before(leaf.NotBefore):
		all = append(all, fmt.Sprintf("the certificate is not valid before %s", text(leaf.NotBefore)))
	case left <= 0:
		all = append(all, fmt.Sprintf("the certificate has expired, at %s", text(leaf.NotAfter)))
	case left <= soon:
		all = append(all, fmt.Sprintf("the certificate expires soon, at %s", text(leaf.NotAfter)))
	}
	if failure != nil {
		all = append(all, "what stands in the files of the certificate cannot be loaded (the log says why); the one before is in use")
	}
	return all
}

// leaf is the certificate in use. X509KeyPair has parsed it.
func (c *Certificate) leaf() *x509.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.Leaf
}

func text(t time.Time) string { return t.UTC().Format(time.RFC3339) }
