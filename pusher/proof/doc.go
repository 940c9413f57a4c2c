// Package proof lets a receiver of pushes know that it was us who sent them.
// There are several proofs, each asked for by a subscription and independent of
// the others:
//
//   - a token that says who sends and to whom, signed with keys that the receiver
//     can fetch, as Google's push has it (issuer.go, keys.go, ring.go);
//   - a client certificate, shown in the TLS handshake (certificates.go);
//   - a signature over the message with secrets that the receiver shares, as
//     Standard Webhooks write it (webhook.go).
//
// A Prover holds what one subscription asks for. It is made with each change of
// the subscription; what it proves is made for each attempt.
package proof
