package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TLS starts a server that speaks only TLS on its port, with a certificate for localhost and 127.0.0.1 from an authority
// made for it: [Server.CAFile]. [Server.URL] is rediss://.
func TLS(t testing.TB, options ...Option) *Server {
	t.Helper()
	return Start(t, append(options, tlsPort)...)
}

// CAFile is the PEM file of the authority that signed a [TLS] server's certificate.
func (s *Server) CAFile() string { return filepath.Join(s.dir, "ca.pem") }

// tlsPort replaces the plain port by one with TLS.
func tlsPort(s *Server) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	roots, err := writeCertificates(s.dir)
	if err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	s.port, s.tls = port, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	s.args = append(s.args, "--tls-port", fmt.Sprint(port), "--tls-auth-clients", "no",
		"--tls-ca-cert-file", s.CAFile(),
		"--tls-cert-file", filepath.Join(s.dir, "server.pem"),
		"--tls-key-file", filepath.Join(s.dir, "server.key"))
	return nil
}

// writeCertificates puts a new authority's certificate and a server's, with its key, into dir.
func writeCertificates(dir string) (*x509.CertPool, error) {
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redistest authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, ca, &key.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	files := map[string]*pem.Block{
		"ca.pem":     {Type: "CERTIFICATE", Bytes: caDER},
		"server.pem": {Type: "CERTIFICATE", Bytes: serverDER},
		"server.key": {Type: "PRIVATE KEY", Bytes: keyDER},
	}
	for name, block := range files {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return nil, err
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem.EncodeToMemory(files["ca.pem"]))
	return roots, nil
}
