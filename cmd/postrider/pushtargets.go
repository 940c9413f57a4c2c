package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
	"strings"

	"postrider/pusher"
	"postrider/pusher/guard"
)

// validatePushes is about where pushes may go and how.
func (c Config) validatePushes(given func(name string) bool) []error {
	var wrong []error
	if _, err := guard.New(guard.Options{Allow: c.PushAllow}); err != nil {
		wrong = append(wrong, usagef("--push-allow: %w", err))
	}
	if _, err := c.pushProxy(); err != nil {
		wrong = append(wrong, err)
	}
	for name, value := range map[string]string{"push-ca-file": c.PushCAFile, "push-proxy": c.PushProxy} {
		if value == "" && given(name) {
			wrong = append(wrong, usagef("--%s is empty: give it a value, or leave it out", name))
		}
	}
	return wrong
}

// pushProxy is nil without one. Errors do not repeat the URL, which may hold a password.
func (c Config) pushProxy() (*url.URL, error) {
	if c.PushProxy == "" {
		return nil, nil
	}
	u, err := url.Parse(c.PushProxy)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, usagef("--push-proxy is not http://[USER:PASSWORD@]HOST[:PORT], nor the same with https")
	}
	return u, nil
}

// pushTransport is what pushes go through. A server on loopback pushes to loopback: whoever reaches it is on this machine, too.
func (c Config) pushTransport(loopback bool) (pusher.TransportOptions, error) {
	proxy, err := c.pushProxy()
	if err != nil {
		return pusher.TransportOptions{}, err
	}
	g, err := guard.New(guard.Options{Allow: c.PushAllow, Loopback: loopback, Proxy: proxy})
	if err != nil {
		return pusher.TransportOptions{}, usagef("--push-allow: %w", err)
	}
	roots, err := c.pushRoots()
	return pusher.TransportOptions{Guard: g, TLS: &tls.Config{RootCAs: roots}}, err
}

// pushRoots are the authorities that endpoints may have certificates of; nil is what the system trusts.
func (c Config) pushRoots() (*x509.CertPool, error) {
	if c.PushCAFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.PushCAFile)
	if err != nil {
		return nil, usagef("--push-ca-file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a system without any
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, usagef("--push-ca-file: there is no certificate in PEM in %s", c.PushCAFile)
	}
	return roots, nil
}

// pushText says where pushes may go.
func (c Config) pushText(loopback bool) string {
	text := "pushes go to public https endpoints"
	if loopback {
		text += ", and, since the server listens on loopback only, to this machine by http too"
	}
	if len(c.PushAllow) > 0 {
		text += ", and to " + strings.Join(c.PushAllow, ", ")
	}
	if proxy, err := c.pushProxy(); err == nil && proxy != nil {
		text += ", through the proxy at " + proxy.Host
	}
	if len(c.PushAllow) == 0 {
		text += "; --push-allow names others"
	}
	return text
}
