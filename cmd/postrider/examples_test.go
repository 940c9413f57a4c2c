package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postrider/pusher/proof/prooftest"
)

const (
	exampleSecret   = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	exampleAudience = "https://receiver.example/orders"
	exampleEmail    = "pusher@example.com"
)

// example is a receiver of deploy/examples that runs as a process of its own.
type example struct {
	*testing.T
	url    string
	output *watchedOutput
}

// startExample runs a receiver on a free port and waits until it says where.
func startExample(t *testing.T, environ []string, command ...string) *example {
	t.Helper()
	e := &example{T: t, output: &watchedOutput{}}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(append(os.Environ(), "LISTEN=127.0.0.1:0"), environ...)
	cmd.Stdout, cmd.Stderr = e.output, e.output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	e.waitFor("listening on ")
	_, rest, _ := strings.Cut(e.output.String(), "listening on ")
	e.url, _, _ = strings.Cut(rest, "\n")
	return e
}

// waitFor waits until the receiver has printed something.
func (e *example) waitFor(text string) {
	e.Helper()
	eventually(e.T, func() error {
		if got := e.output.String(); !strings.Contains(got, text) || !strings.HasSuffix(got, "\n") {
			return fmt.Errorf("%q is missing in what the receiver prints:\n%s", text, got)
		}
		return nil
	})
}

// recorded is a push as it was sent.
type recorded struct {
	header http.Header
	body   []byte
}

// replay sends a push to a receiver again, with some change.
func (r recorded) replay(client *http.Client, url string, change func(http.Header), body []byte) (int, error) {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header = r.header.Clone()
	if change != nil {
		change(req.Header)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

func TestExampleInGo(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "receiver")
	if out, err := exec.Command("go", "build", "-o", program, "../../deploy/examples/go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	checkExample(t, program)
}

func TestExampleInNode(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("NOT TESTED: deploy/examples/node, since there is no node on PATH")
	}
	checkExample(t, node, "../../deploy/examples/node/receiver.mjs")
}

func TestExampleInPython(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("NOT TESTED: deploy/examples/python, since there is no python3 on PATH")
	}
	checkExample(t, python, "../../deploy/examples/python/receiver.py")
}

// checkExample has a server push to a receiver over TLS with all proofs there are, and then tries to get in without them.
func checkExample(t *testing.T, command ...string) {
	dir, authority := t.TempDir(), prooftest.NewAuthority(t)
	authorityFile := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(authorityFile, authority.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key := authority.Write(t.TempDir(), "receiver")
	authority.Write(dir, "postrider")
	a := startApp(t, func(c *Config) { c.ClientCertificates, c.PushCAFile = dir, authorityFile })
	receiver := startExample(t, []string{
		"TLS_CERT=" + cert, "TLS_KEY=" + key, "CLIENT_CA=" + authorityFile, "ISSUER=http://" + a.Addr(), "AUDIENCE=" + exampleAudience,
		"EMAIL=" + exampleEmail, "WEBHOOK_SECRETS=whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh " + exampleSecret,
	}, command...)
	pushes := make(chan recorded, 10)
	recorder := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		pushes <- recorded{r.Header.Clone(), body}
	}))
	t.Cleanup(recorder.Close)

	c := client(t, a.Addr())
	c.run("topics", "create", "orders")
	subscribe := func(id, endpoint, audience, certificate string) {
		t.Helper()
		body := fmt.Sprintf(`{"topic": "projects/demo/topics/orders", "ackDeadlineSeconds": 10,
			"retryPolicy": {"minimumBackoff": "600s"},
			"pushConfig": {"pushEndpoint": "%s", "oidcToken": {"serviceAccountEmail": "%s", "audience": "%s"}},
			"postrider": {"webhookSecrets": [{"secret": "%s"}], "clientCertificate": "%s"}}`,
			endpoint, exampleEmail, audience, exampleSecret, certificate)
		if status, text := send(t, http.MethodPut, "http://"+a.Addr()+"/v1/projects/demo/subscriptions/"+id, body); status != http.StatusOK {
			t.Fatalf("%s: %d %s", id, status, text)
		}
	}
	subscribe("proved", receiver.url, exampleAudience, "postrider")
	subscribe("recorded", recorder.URL, exampleAudience, "")
	id := strings.TrimSpace(c.run("publish", "orders", "hello"))
	receiver.waitFor("handled " + id + ": hello\n")

	// Who records a push cannot use it to have anything else handled, nor this twice.
	var push recorded
	select {
	case push = <-pushes:
	case <-time.After(patience):
		t.Fatal("nothing was pushed")
	}
	identified := clientOf(t, authority, true)
	wrong := func(name, value string) func(http.Header) { return func(h http.Header) { h.Set(name, value) } }
	token := push.header.Get("Authorization")
	for _, attempt := range []struct {
		what   string
		change func(http.Header)
		body   []byte
		status int
	}{
		{"again", nil, push.body, 204},
		{"with another body", nil, bytes.Replace(push.body, []byte("aGVsbG8="), []byte("aGVsbG9="), 1), 401},
		{"without a token", func(h http.Header) { h.Del("Authorization") }, push.body, 401},
		{"with a token that is cut off", wrong("Authorization", token[:len(token)-8]), push.body, 401},
		{"with a token that is not signed", wrong("Authorization", unsigned(token)), push.body, 401},
		{"with another message id", wrong("webhook-id", "1-1"), push.body, 401},
		{"without a signature", func(h http.Header) { h.Del("webhook-signature") }, push.body, 401},
		{"at another time", wrong("webhook-timestamp", "1"), push.body, 401},
		{"again", nil, push.body, 204},
	} {
		if status, err := push.replay(identified, receiver.url, attempt.change, attempt.body); err != nil || status != attempt.status {
			t.Errorf("%s: %d, %v; want %d\n%s", attempt.what, status, err, attempt.status, receiver.output.String())
		}
	}
	if status, err := push.replay(clientOf(t, authority, false), receiver.url, nil, push.body); err == nil {
		t.Errorf("without a client certificate: %d", status)
	}

	// A token for somebody else is refused, and the message waits to be tried again.
	subscribe("meant-for-others", receiver.url, "https://other.example", "postrider")
	c.run("publish", "orders", "again")
	receiver.waitFor(": again\n")
	receiver.waitFor("refused: token: it is meant for")
	eventually(t, func() error {
		if s := stats(t, a.store, "meant-for-others"); s.Nacked != 1 || s.Outstanding != 1 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	if out := receiver.output.String(); strings.Count(out, "handled ") != 2 || strings.Count(out, "again "+id) != 2 {
		t.Errorf("the receiver printed\n%s", out)
	}
}

// clientOf is an HTTP client of the receiver, with or without a certificate.
func clientOf(t *testing.T, authority *prooftest.Authority, identified bool) *http.Client {
	t.Helper()
	config := &tls.Config{RootCAs: authority.Pool}
	if identified {
		pair, err := tls.X509KeyPair(authority.Issue("client"))
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("redirected") }}
}

// unsigned is a token that says that it needs no signature.
func unsigned(bearer string) string {
	parts := strings.Split(bearer, ".")
	return "Bearer eyJhbGciOiJub25lIn0." + parts[1] + "."
}

// send sends a request and returns status and body.
func send(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}
