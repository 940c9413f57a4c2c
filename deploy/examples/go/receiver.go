// Command receiver takes pushes of Postrider, or of Google Pub/Sub, and handles each message once. It needs nothing but the
// standard library. What it checks is set in the environment: see ../README.md.
package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// maxBody is above the largest push: 10 MB of data as base64.
const maxBody = 14 << 20

func main() {
	listener, err := net.Listen("tcp", cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:8443"))
	if err != nil {
		log.Fatal(err)
	}
	scheme := "http"
	if os.Getenv("TLS_CERT") != "" {
		config, err := tlsConfig(os.Getenv("TLS_CERT"), os.Getenv("TLS_KEY"), os.Getenv("CLIENT_CA"))
		if err != nil {
			log.Fatal(err)
		}
		listener, scheme = tls.NewListener(listener, config), "https"
	}
	r := &receiver{
		tokens:  tokenVerifier{issuer: os.Getenv("ISSUER"), audience: os.Getenv("AUDIENCE"), email: os.Getenv("EMAIL")},
		secrets: strings.Fields(os.Getenv("WEBHOOK_SECRETS")),
		seen:    map[string]bool{},
	}
	fmt.Printf("listening on %s://%s\n", scheme, listener.Addr())
	server := &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	log.Fatal(server.Serve(listener))
}

// tlsConfig makes the server's side of TLS. With authorities of clients, none gets in without a certificate of theirs.
func tlsConfig(cert, key, clientCA string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	if clientCA != "" {
		text, err := os.ReadFile(clientCA)
		if err != nil {
			return nil, err
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !config.ClientCAs.AppendCertsFromPEM(text) {
			return nil, errors.New("no certificate in " + clientCA)
		}
	}
	return config, nil
}

type receiver struct {
	tokens  tokenVerifier
	secrets []string

	mu   sync.Mutex
	seen map[string]bool // in earnest: a table with a unique column, in the transaction that handles the message
}

// ServeHTTP takes one push. A 2xx acknowledges it; anything else, and it comes again.
func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if err := rc.check(r, body); err != nil {
		fmt.Println("refused:", err)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var push struct {
		Message struct {
			ID   string `json:"messageId"`
			Data []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(body, &push); err != nil || push.Message.ID == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if rc.seen[push.Message.ID] {
		fmt.Printf("again %s\n", push.Message.ID) // delivery is at least once
	} else {
		fmt.Printf("handled %s: %s\n", push.Message.ID, push.Message.Data)
		rc.seen[push.Message.ID] = true
	}
	w.WriteHeader(http.StatusNoContent)
}

// check finds out who sent the push, by all that this receiver is set to check.
func (rc *receiver) check(r *http.Request, body []byte) error {
	if rc.tokens.issuer != "" {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if err := rc.tokens.verify(token); err != nil {
			return fmt.Errorf("token: %w", err)
		}
	}
	if len(rc.secrets) > 0 {
		if err := verifyWebhook(r.Header, body, rc.secrets); err != nil {
			return fmt.Errorf("signature: %w", err)
		}
	}
	return nil
}
