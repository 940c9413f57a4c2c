// Package grpcapi is the gRPC interface: Google Cloud Pub/Sub's Publisher and Subscriber in front of the same domain as REST.
//
// The messages and stubs are Google's own (pubsubpb). What is written here is their conversion to the domain's values
// (convert.go), StreamingPull (stream.go), and what makes it a server (server.go, errors.go, health.go). What is not built yet is
// refused as REST refuses it, by package rules.
//
// # Web pages
//
// REST must refuse what a web page of elsewhere makes its reader's browser send. gRPC need not: a browser cannot speak it.
// Without TLS no browser speaks HTTP/2 at all, so it never gets past the first bytes by which a connection is handed to this
// server; and with TLS it may send a POST of content type application/grpc across origins only after an OPTIONS request has
// been granted, which this server answers with an error, as it does other content types. So nothing here looks at the Host.
package grpcapi
