// Package porttest makes certificates for tests.
package porttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Pair is a certificate for localhost and 127.0.0.1 that trusts itself, and its key, in files.
type Pair struct{ CertFile, KeyFile string }

// NewPair writes a pair, valid for an hour, to files of the test.
func NewPair(t testing.TB) Pair {
	t.Helper()
	dir := t.TempDir()
	p := Pair{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
	p.Renew(t, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	return p
}

// Renew writes another certificate and key to the files, and returns the certificate.
func (p Pair) Renew(t testing.TB, notBefore, notAfter time.Time) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: notBefore, NotAfter: notAfter,
		Subject: pkix.Name{CommonName: "localhost"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	must(t, os.WriteFile(p.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(p.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	return cert
}

// Roots trust the certificate as it stands in the file.
func (p Pair) Roots(t testing.TB) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(p.CertFile)
	must(t, err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatal("no certificate in ", p.CertFile)
	}
	return roots
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
