package subscriptions

import "context"

// KeyRing keeps the keys that servers sign pushes with, as a text that is theirs
// to read, so that all servers that share a store sign with the same ones. It
// holds private keys: it is for no log and no answer.
type KeyRing interface {
	// SigningKeys returns the text; empty when there is none.
	SigningKeys(context.Context) (string, error)
	// ReplaceSigningKeys puts next in place of was, which is empty when there is
	// to be none. ABORTED when the text is another.
	ReplaceSigningKeys(ctx context.Context, was, next string) error
}
