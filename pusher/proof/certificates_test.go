package proof

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postrider/pusher/proof/prooftest"
)

// shown is the name on the certificate that a client shows to a server that asks for one.
func shown(t *testing.T, authority *prooftest.Authority, config *tls.Config) string {
	t.Helper()
	name := ""
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) > 0 {
			leaf := r.TLS.PeerCertificates[0]
			name = leaf.Subject.CommonName + " " + leaf.SerialNumber.String()
		}
	}))
	s.TLS = authority.ServerTLS(tls.VerifyClientCertIfGiven)
	s.StartTLS()
	defer s.Close()
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return name
}

func TestCertificatesAreShownAndReplaced(t *testing.T) {
	t.Parallel()
	dir, authority := t.TempDir(), prooftest.NewAuthority(t)
	authority.Write(dir, "billing")
	authority.Write(dir, "shipping.2")
	var log bytes.Buffer
	c, err := OpenCertificates(dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(c.Names(), " "); names != "billing shipping.2" {
		t.Errorf("the names are %s", names)
	}
	from := &tls.Config{RootCAs: authority.Pool}
	config, err := c.Identify(from, "billing")
	if err != nil {
		t.Fatal(err)
	}
	first := shown(t, authority, config)
	if again := shown(t, authority, config); again != first || !strings.HasPrefix(first, "billing ") {
		t.Errorf("shown are %s and %s", first, again)
	}
	if name := shown(t, authority, from); name != "" {
		t.Errorf("who names no certificate shows %s", name)
	}

	// While only one of the two files is there the old certificate goes on.
	chain, key := authority.Issue("billing")
	write := func(suffix string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "billing"+suffix), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".crt", append(chain, '\n'))
	for range 3 {
		if name := shown(t, authority, config); name != first {
			t.Errorf("half replaced, it shows %s", name)
		}
	}
	if n := strings.Count(log.String(), "cannot be used"); n != 1 || strings.Contains(log.String(), "PRIVATE") {
		t.Errorf("it is told %d times:\n%s", n, log.String())
	}
	write(".key", append(key, '\n'))
	if name := shown(t, authority, config); name == first || !strings.HasPrefix(name, "billing ") {
		t.Errorf("replaced, it shows %s", name)
	}
	// One that comes later is found, one that is taken away is gone.
	authority.Write(dir, "new")
	if !c.Has("new") || c.Has("newer") {
		t.Error("what comes later is not found")
	}
	if err := os.Remove(filepath.Join(dir, "new.key")); err != nil {
		t.Fatal(err)
	}
	if c.Has("new") {
		t.Error("what was taken away is still there")
	}
}

func TestNamesOfCertificatesStayInTheirFolder(t *testing.T) {
	t.Parallel()
	outer, authority := t.TempDir(), prooftest.NewAuthority(t)
	authority.Write(outer, "secret")
	dir := filepath.Join(outer, "certificates")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := OpenCertificates(dir, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../secret", "..", ".", "", "a/../../secret", filepath.Join(outer, "secret"), "-x", ".x", strings.Repeat("a", 64), "é"} {
		if c.Has(name) {
			t.Errorf("there is a certificate %q", name)
		}
	}
	if _, err := NoCertificates().Identify(nil, "secret"); err == nil {
		t.Error("a server without certificates has one")
	}
}

func TestBadCertificatesKeepTheServerFromStarting(t *testing.T) {
	t.Parallel()
	authority := prooftest.NewAuthority(t)
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"no key": {func(dir string) error { return os.Remove(filepath.Join(dir, "a.key")) }, "cannot be used"},
		"no PEM": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "a.crt"), []byte("x"), 0o600) }, "certificate input"},
		"another key": {func(dir string) error {
			_, key := authority.Issue("b")
			return os.WriteFile(filepath.Join(dir, "a.key"), key, 0o600)
		}, "does not match"},
		"a public key": {func(dir string) error { return os.Chmod(filepath.Join(dir, "a.key"), 0o644) }, "chmod 600"},
		"a bad name":   {func(dir string) error { return os.WriteFile(filepath.Join(dir, "a b.crt"), nil, 0o600) }, "no subscription can name it"},
		"no folder":    {os.RemoveAll, "no such file"},
	} {
		dir := t.TempDir()
		authority.Write(dir, "a")
		if _, err := OpenCertificates(dir, quiet); err != nil {
			t.Fatal(err)
		}
		if err := c.spoil(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenCertificates(dir, quiet); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
