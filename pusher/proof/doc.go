// Package proof lets a receiver of pushes know that it was us who sent them.
// There are three proofs, each asked for by a subscription and independent of
// the others:
//
//   - a signature over the message with secrets that the receiver shares, as
//     Standard Webhooks write it (webhook.go).
//
// A Prover holds what one subscription asks for. It is made with each change of
// the subscription; what it proves is made for each attempt.
package proof
