package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPageSaysWhyNothingIsPushed looks at the overview alone, of an endpoint that is down and says for how long.
func TestPageSaysWhyNothingIsPushed(t *testing.T) {
	inBrowser(t, func(b *browser, _ *testApp, c commandLine) {
		down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "600")
			http.Error(w, "back soon", http.StatusServiceUnavailable)
		}))
		b.Cleanup(down.Close)
		b.open("/")
		c.run("topics", "create", "orders")
		c.run("subscriptions", "create", "archive", "--topic", "orders")
		c.run("subscriptions", "create", "billing", "--topic", "orders", "--push-endpoint", down.URL)
		c.run("publish", "orders", "hello")
		b.until(`[...document.querySelectorAll(".attention li.warning")].some((li) =>
			/^warning billing: the endpoint 127\.0\.0\.1:\d+ asks by Retry-After to be left alone for \d+ min more \(503 Service Unavailable\), 1 message waits$/.test(li.textContent))`)
		first := eval[string](b, `document.querySelector("tbody tr").innerText`)
		if !strings.Contains(first, "billing") || !strings.Contains(first, "asked to wait") {
			b.Errorf("the table begins with %q", first)
		}
	})
}
