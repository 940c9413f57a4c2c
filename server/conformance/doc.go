// Package conformance compares Postrider with Google's own code: the JSON layer with protojson on the real messages, and, in
// compat, the contract with the published description of the API. It is a module of its own so that what only tests need
// does not become a dependency of the server.
//
// What is different on purpose is listed in differences_test.go.
package conformance
