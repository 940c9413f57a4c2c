package proof

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"postrider/subscriptions"
)

// The files of a certificate: its chain and its private key, in PEM.
const (
	chainFile = ".crt"
	keyFile   = ".key"
)

// Certificates are the client certificates that subscriptions may name: NAME.crt
// and NAME.key in a folder of the server's, so that no private key ever comes
// through the API. Files that are replaced count from the next connection on.
type Certificates struct {
	dir string
	log *slog.Logger

	mu     sync.Mutex
	loaded map[string]*loaded
}

// loaded is a certificate as it was read, and of which files.
type loaded struct {
	certificate *tls.Certificate
	files       [2]version
}

// version tells whether a file is another one by now.
type version struct {
	changed time.Time
	size    int64
}

// NoCertificates are those of a server without any.
func NoCertificates() *Certificates { return &Certificates{} }

// OpenCertificates reads all certificates of a folder. Any that cannot be used is
// an error: it would be one again with the first push.
func OpenCertificates(dir string, log *slog.Logger) (*Certificates, error) {
	c := &Certificates{dir: dir, log: log, loaded: map[string]*loaded{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), chainFile)
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		if !subscriptions.IsCertificateName(name) {
			return nil, fmt.Errorf("%s: no subscription can name it: a name has at most 63 letters, digits, points, - and _", entry.Name())
		}
		if _, err := c.Get(name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Names are those that subscriptions may name, sorted.
func (c *Certificates) Names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for name := range c.loaded {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Has tells whether there is a certificate of this name that can be used.
func (c *Certificates) Has(name string) bool {
	_, err := c.Get(name)
	return err == nil
}

// Get returns a certificate as its files are now. While these cannot be used,
// as in the middle of being replaced, it is as it was.
func (c *Certificates) Get(name string) (*tls.Certificate, error) {
	if c.dir == "" || !subscriptions.IsCertificateName(name) {
		return nil, fmt.Errorf("this server has no client certificate %q", name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.loaded[name]
	files, err := c.versions(name)
	if err == nil && was != nil && was.files == files {
		return was.certificate, nil
	}
	var now *tls.Certificate
	if err == nil {
		now, err = c.read(name)
	}
	switch {
	case err == nil:
		c.loaded[name] = &loaded{now, files}
		return now, nil
	case was == nil || errors.Is(err, fs.ErrNotExist):
		delete(c.loaded, name) // it was taken away
		return nil, fmt.Errorf("the client certificate %q cannot be used: %w", name, err)
	}
	if was.files != files {
		was.files = files // it is told once
		c.log.Warn("a client certificate was replaced by one that cannot be used; the old one goes on", "certificate", name, "error", err)
	}
	return was.certificate, nil
}

func (c *Certificates) versions(name string) (files [2]version, err error) {
	for i, suffix := range []string{chainFile, keyFile} {
		info, err := os.Stat(filepath.Join(c.dir, name+suffix))
		if err != nil {
			return files, err
		}
		files[i] = version{info.ModTime(), info.Size()}
	}
	return files, nil
}

func (c *Certificates) read(name string) (*tls.Certificate, error) {
	chain, err := os.ReadFile(filepath.Join(c.dir, name+chainFile))
	if err != nil {
		return nil, err
	}
	key, err := readPrivate(filepath.Join(c.dir, name+keyFile))
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(chain, []byte(key))
	if err != nil {
		return nil, err
	}
	if now := time.Now(); now.After(pair.Leaf.NotAfter) {
		c.log.Warn("a client certificate has expired", "certificate", name, "on", pair.Leaf.NotAfter)
	}
	return &pair, nil
}

// Identify makes connections that start from a TLS configuration show the
// certificate of this name to endpoints that ask for one.
func (c *Certificates) Identify(from *tls.Config, name string) (*tls.Config, error) {
	if _, err := c.Get(name); err != nil {
		return nil, err
	}
	config := from.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.Get(name) }
	return config, nil
}
