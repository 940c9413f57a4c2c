// Package api is generated from openapi.yaml: the messages, the router with the strict server interface, and a client.
// Nothing here is written by hand but the configuration: one file for each output, and overlay.yaml, which says how the
// contract becomes Go.
package api

//go:generate go tool -modfile=../../scripts/tools/go.mod oapi-codegen --config models.yaml ../../openapi.yaml
//go:generate go tool -modfile=../../scripts/tools/go.mod oapi-codegen --config server.yaml ../../openapi.yaml
//go:generate go tool -modfile=../../scripts/tools/go.mod oapi-codegen --config client.yaml ../../openapi.yaml
