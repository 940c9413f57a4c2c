package main

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"

	"postrider/cmd/postrider/port/porttest"
)

// startTLS runs a server with a certificate.
func startTLS(t *testing.T) (*testApp, porttest.Pair) {
	t.Helper()
	pair := porttest.NewPair(t)
	return startApp(t, func(c *Config) { c.TLSCert, c.TLSKey = pair.CertFile, pair.KeyFile }), pair
}

// trusting is a command line that trusts a server's certificate.
func trusting(t *testing.T, a *testApp, pair porttest.Pair) commandLine {
	return commandLine{t, []string{"POSTRIDER_SERVER=" + a.URL(), "POSTRIDER_CA_FILE=" + pair.CertFile}}
}

// offers are what clients of gRPC may offer: HTTP/2 alone, as they all do, or HTTP/1, too, which gets them to net/http.
func offers(t *testing.T, pair porttest.Pair) map[string]*tls.Config {
	return map[string]*tls.Config{
		"grpc-go":  {RootCAs: pair.Roots(t), MinVersion: tls.VersionTLS12},
		"net/http": {RootCAs: pair.Roots(t), MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
	}
}

// All kinds of clients use one port at the same time.
func TestEverythingOverTLS(t *testing.T) {
	t.Parallel()
	a, pair := startTLS(t)
	c := trusting(t, a, pair)
	c.run("topics", "create", "orders")
	messages := make(chan string)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	streams := 0
	for name, config := range offers(t, pair) {
		id := strings.ReplaceAll("to-"+name, "/", "-")
		c.run("subscriptions", "create", id, "--topic", "orders")
		stream := streamFrom(t, dialGRPCWith(t, a.Addr(), credentials.NewTLS(config)), id)
		streams++
		go func() {
			for {
				got, err := stream.Recv()
				if err != nil {
					return
				}
				for _, m := range got.ReceivedMessages {
					select {
					case messages <- name + " " + string(m.Message.Data):
					case <-ctx.Done():
						return
					}
				}
			}
		}()
	}
	want := map[string]int{}
	for name, publish := range publishers(t, a, pair) {
		if answer := publish(name); !strings.Contains(answer, "messageIds") {
			t.Errorf("%s: %s", name, answer)
		}
		for stream := range offers(t, pair) {
			want[stream+" "+name]++
		}
	}
	for len(want) > 0 {
		select {
		case m := <-messages:
			delete(want, m)
		case <-ctx.Done():
			t.Fatal("did not come: ", want)
		}
	}
}

// publishers publish data in all ways that REST clients have.
func publishers(t *testing.T, a *testApp, pair porttest.Pair) map[string]func(data string) string {
	path := a.URL() + "/v1/projects/demo/topics/orders:publish"
	body := func(data string) string {
		return fmt.Sprintf(`{"messages": [{"attributes": {"a": "b"}, "data": "%s"}]}`, base64.StdEncoding.EncodeToString([]byte(data)))
	}
	byHTTP := func(proto string, protocols *http.Protocols) func(string) string {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pair.Roots(t), MinVersion: tls.VersionTLS12}, Protocols: protocols}
		t.Cleanup(transport.CloseIdleConnections)
		return func(data string) string {
			resp, err := (&http.Client{Transport: transport, Timeout: patience}).Post(path, "application/json", strings.NewReader(body(data)))
			if err != nil {
				return err.Error()
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || resp.Proto != proto {
				t.Errorf("%s answered %s, %v", proto, resp.Proto, err)
			}
			return string(text)
		}
	}
	byCurl := func(args ...string) func(string) string {
		return func(data string) string {
			args := append(args, "-sS", "--cacert", pair.CertFile, "-d", body(data), path)
			out, err := exec.CommandContext(t.Context(), "curl", args...).CombinedOutput()
			if err != nil {
				return fmt.Sprint(err, string(out))
			}
			return string(out)
		}
	}
	one, two := new(http.Protocols), new(http.Protocols)
	one.SetHTTP1(true)
	two.SetHTTP2(true)
	all := map[string]func(string) string{"HTTP/1.1": byHTTP("HTTP/1.1", one), "HTTP/2": byHTTP("HTTP/2.0", two)}
	if _, err := exec.LookPath("curl"); err == nil { // not on every machine
		all["curl --http1.1"], all["curl --http2"] = byCurl("--http1.1"), byCurl("--http2")
		all["curl --http2-prior-knowledge"] = byCurl("--http2-prior-knowledge")
	}
	return all
}

func TestCertificateIsNotTrusted(t *testing.T) {
	t.Parallel()
	a, pair := startTLS(t)
	other := porttest.NewPair(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing to trust":   {nil, "--ca-file"},
		"another to trust":   {[]string{"--ca-file", other.CertFile}, "--ca-file"},
		"no file":            {[]string{"--ca-file", "/does/not/exist"}, "no such file"},
		"no certificate":     {[]string{"--ca-file", pair.KeyFile}, "no certificate in"},
		"http to a TLS port": {[]string{"--server", "http://" + a.Addr()}, "use https://"},
	} {
		environ := []string{"POSTRIDER_SERVER=" + a.URL()}
		status, _, errors := commandLine{t, environ}.try("", append([]string{"topics", "list"}, c.args...)...)
		if status == 0 || !strings.Contains(errors, c.says) {
			t.Errorf("%s: exit status %d, %s", name, status, errors)
		}
	}
}

func TestReadinessTellsOfTheCertificate(t *testing.T) {
	t.Parallel()
	pair := porttest.NewPair(t)
	pair.Renew(t, time.Now().Add(-time.Hour), time.Now().Add(-time.Minute))
	a := startApp(t, func(c *Config) { c.TLSCert, c.TLSKey = pair.CertFile, pair.KeyFile })
	if ready, reasons := a.ready(t.Context()); !ready || !strings.Contains(strings.Join(reasons, "; "), "certificate has expired") {
		t.Error(ready, reasons)
	}
}

func TestCertificateThatCannotBeReadEndsTheStart(t *testing.T) {
	t.Parallel()
	pair, other := porttest.NewPair(t), porttest.NewPair(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"a missing file": {[]string{"--tls-cert", pair.CertFile, "--tls-key", "/does/not/exist"}, "/does/not/exist"},
		"no pair":        {[]string{"--tls-cert", pair.CertFile, "--tls-key", other.KeyFile}, "does not match"},
		"no key":         {[]string{"--tls-cert", pair.CertFile}, "both files"},
		"no certificate": {[]string{"--tls-key", pair.KeyFile}, "both files"},
		"empty":          {[]string{"--tls-cert="}, "both files"},
	} {
		status, _, errors := commandLine{T: t}.try("", append([]string{"serve", "--listen", "127.0.0.1:0"}, c.args...)...)
		if status != exitUsage || !strings.Contains(errors, c.says) || !strings.Contains(errors, "--tls-cert") {
			t.Errorf("%s: exit status %d, %s", name, status, errors)
		}
	}
}
