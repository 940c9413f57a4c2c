// Package postrider holds the REST contract that the server is generated from, so that the server can hand it out.
package postrider

import _ "embed"

// OpenAPI is openapi.yaml, as it was when this binary was built.
//
//go:embed openapi.yaml
var OpenAPI []byte
