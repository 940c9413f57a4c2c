package server_test

import (
	"context"
	"net/http"
	"testing"

	"postrider/server"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	ready, reasons := true, []string(nil)
	s := rest{t: t, handler: server.New(nil, server.Options{
		OpenAPI: []byte("openapi: 3.0.3\n"),
		Ready:   func(context.Context) (bool, []string) { return ready, reasons },
	})}
	s.do("GET /healthz").is(`{"status": "ok"}`)
	s.do("GET /readyz").is(`{"status": "ok"}`)
	reasons = []string{"nothing survives a stop"}
	s.do("GET /readyz").is(`{"status": "ok", "warnings": ["nothing survives a stop"]}`)
	ready, reasons = false, []string{"Redis does not answer", "a fleet of two"}
	s.do("GET /readyz").fails(http.StatusServiceUnavailable, "UNAVAILABLE", "Redis does not answer; a fleet of two")
	s.do("GET /healthz").is(`{"status": "ok"}`)

	contract := s.do("GET /openapi.yaml")
	if contract.status != 200 || contract.body != "openapi: 3.0.3\n" || contract.header.Get("Content-Type") != "application/yaml" {
		t.Errorf("/openapi.yaml: %+v", contract)
	}
	newREST(t).do("GET /readyz").is(`{"status": "ok"}`)
}
