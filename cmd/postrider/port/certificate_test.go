package port

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postrider/cmd/postrider/port/porttest"
)

func TestCertificateThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	good, other := porttest.NewPair(t), porttest.NewPair(t)
	for name, c := range map[string]struct{ cert, key, says string }{
		"no certificate":    {good.CertFile + "x", good.KeyFile, "no such file"},
		"no key":            {good.CertFile, good.KeyFile + "x", "no such file"},
		"the key of others": {good.CertFile, other.KeyFile, "does not match"},
		"the wrong way":     {good.KeyFile, good.CertFile, "switched"},
		"a folder":          {t.TempDir(), good.KeyFile, "directory"},
	} {
		_, err := LoadCertificate(c.cert, c.key, discard)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.cert) && !strings.Contains(err.Error(), c.key) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// logged is what was logged since it was taken last.
type logged struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes.Write(p)
}

func (l *logged) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.bytes.Reset()
	return l.bytes.String()
}

// serial is the serial number of the certificate that new connections get.
func serial(t *testing.T, c *Certificate) string {
	t.Helper()
	current, err := c.Config().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return current.Leaf.SerialNumber.String()
}

// What is written to the files is taken without a restart; what is wrong there is told once, and harms nothing.
func TestCertificateIsReloaded(t *testing.T) {
	t.Parallel()
	pair := porttest.NewPair(t)
	synctest.Test(t, func(t *testing.T) {
		var log logged
		pair.Renew(t, time.Now().Add(-time.Minute), time.Now().Add(30*24*time.Hour))
		c, err := LoadCertificate(pair.CertFile, pair.KeyFile, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		pass := func(d time.Duration) string {
			log.take()
			time.Sleep(d)
			synctest.Wait()
			return log.take()
		}

		if told := pass(10 * reloadEvery); told != "" || len(c.Warnings(time.Now())) > 0 {
			t.Errorf("nothing has changed: %s%v", told, c.Warnings(time.Now()))
		}
		renewed := pair.Renew(t, time.Now(), time.Now().Add(14*24*time.Hour))
		if told := pass(reloadEvery); strings.Count(told, "loaded anew") != 1 || serial(t, c) != renewed.SerialNumber.String() {
			t.Errorf("the new one is not in use: %s", told)
		}
		if err := os.WriteFile(pair.CertFile, []byte("nonsense"), 0o600); err != nil {
			t.Fatal(err)
		}
		told := pass(10 * reloadEvery)
		if strings.Count(told, "cannot be loaded anew") != 1 || !strings.Contains(told, pair.CertFile) || serial(t, c) != renewed.SerialNumber.String() {
			t.Errorf("a broken file: %s", told)
		}
		if w := c.Warnings(time.Now()); len(w) != 1 || !strings.Contains(w[0], "cannot be loaded") {
			t.Error(w)
		}
		again := pair.Renew(t, time.Now(), time.Now().Add(soon+time.Minute))
		if pass(reloadEvery); serial(t, c) != again.SerialNumber.String() || len(c.Warnings(time.Now())) > 0 {
			t.Error("it does not recover", c.Warnings(time.Now()))
		}
		if told := pass(2 * time.Minute); strings.Count(told, "expires soon") != 1 {
			t.Errorf("a week before the end: %s", told)
		}
		pair.Renew(t, time.Now(), time.Now().Add(time.Minute))
		if told := pass(2 * time.Minute); strings.Count(told, "has expired") != 1 {
			t.Errorf("after the end: %s", told)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestCertificateOfTheFuture(t *testing.T) {
	t.Parallel()
	pair := porttest.NewPair(t)
	c, err := LoadCertificate(pair.CertFile, pair.KeyFile, discard)
	if err != nil {
		t.Fatal(err)
	}
	if w := c.Warnings(time.Now().Add(-time.Hour)); len(w) != 1 || !strings.Contains(w[0], "not valid before") {
		t.Error(w)
	}
}

// A connection goes on with the certificate that it began with, and the next one gets the new one.
func TestReloadDropsNoConnection(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	c := r.dial("http/1.1")
	ask := func() {
		r.write(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		head := make([]byte, 512)
		n, err := c.Read(head)
		if err != nil || !strings.HasPrefix(string(head[:n]), "HTTP/1.1 200") {
			t.Errorf("%q, %v", head[:n], err)
		}
	}
	ask()
	before := r.pair
	renewed := before.Renew(t, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	r.certificate.reload()
	ask()
	r.tls.RootCAs = before.Roots(t)
	fresh := r.dial("http/1.1").(*tls.Conn)
	r.must(fresh.HandshakeContext(r.Context()))
	if got := fresh.ConnectionState().PeerCertificates[0]; !got.Equal(renewed) {
		t.Error("the old certificate is still handed out")
	}
}

func TestOldVersionsOfTLSAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	for version, want := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		config := r.offering()
		config.MinVersion, config.MaxVersion = version, version
		c, err := (&tls.Dialer{NetDialer: &net.Dialer{Timeout: long}, Config: config}).DialContext(r.Context(), "tcp", r.Addr().String())
		if (err == nil) != want {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			_ = c.Close()
		}
	}
}
