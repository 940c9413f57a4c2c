package main

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"postrider/pusher"
	"postrider/pusher/proof"
)

// validateIssuer checks what push tokens name as their issuer. Receivers compare it letter by letter.
func (c Config) validateIssuer(given func(name string) bool) error {
	if c.ClientCertificates == "" && given("client-certificates") {
		return usagef("--client-certificates is empty: give it a value, or leave it out to have none")
	}
	if c.SigningKeys == "" && given("signing-keys") {
		return usagef("--signing-keys is empty: give it a value, or leave it out to keep the keys where messages are")
	}
	if c.IssuerURL == "" {
		if given("issuer-url") {
			return usagef("--issuer-url is empty: give it a value, or leave it out to take the address of --listen")
		}
		return nil
	}
	u, err := url.Parse(c.IssuerURL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery ||
		u.Fragment != "" || strings.HasSuffix(c.IssuerURL, "/") {
		return usagef("--issuer-url: %q is not an http or https URL without user, query, fragment and a slash at its end, "+
			"such as https://pubsub.example.com", c.IssuerURL)
	}
	return nil
}

// openCertificates reads what subscriptions may show to their endpoints.
func (a *app) openCertificates() (err error) {
	if a.config.ClientCertificates == "" {
		a.certificates = proof.NoCertificates()
		return nil
	}
	a.certificates, err = proof.OpenCertificates(a.config.ClientCertificates, a.log)
	if err != nil {
		return usagef("--client-certificates: %w", err)
	}
	a.log.Info("subscriptions may name client certificates", "names", a.certificates.Names())
	return nil
}

// transportAs makes the transports that show client certificates.
func (a *app) transportAs(o pusher.TransportOptions) func(string) (http.RoundTripper, error) {
	return func(certificate string) (http.RoundTripper, error) {
		identified := o
		var err error
		if identified.TLS, err = a.certificates.Identify(o.TLS, certificate); err != nil {
			return nil, err
		}
		return pusher.NewTransport(identified), nil
	}
}

// openIssuer prepares what signs push tokens. Keys in a file are read now, so that what is wrong with it keeps the server from
// starting; those in the store are made when they are needed first.
func (a *app) openIssuer(ctx context.Context) error {
	var ring proof.KeyRing = a.store
	if a.config.SigningKeys != "" {
		ring = proof.KeyFile(a.config.SigningKeys)
	}
	a.keys = proof.NewKeys(ring, a.log)
	a.issuer = proof.NewIssuer(issuerURL(a.config, a.URL()), a.keys)
	if a.config.SigningKeys == "" {
		return nil
	}
	if err := a.keys.Open(ctx); err != nil {
		return usagef("--signing-keys: %w", err)
	}
	return nil
}

// issuerURL is what push tokens name as their issuer. A server that listens on all addresses is known by its machine's name.
func issuerURL(config Config, listens string) string {
	if config.IssuerURL != "" {
		return config.IssuerURL
	}
	u, err := url.Parse(listens)
	if err != nil || !net.ParseIP(u.Hostname()).IsUnspecified() {
		return listens
	}
	if name, err := os.Hostname(); err == nil {
		u.Host = net.JoinHostPort(name, u.Port())
	}
	return u.String()
}
