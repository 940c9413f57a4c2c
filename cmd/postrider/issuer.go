package main

import (
	"context"
	"net"
	"net/url"
	"os"
	"strings"

	"postrider/pusher/proof"
)

// validateIssuer checks what push tokens name as their issuer. Receivers compare it letter by letter.
func (c Config) validateIssuer(given func(name string) bool) error {
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
