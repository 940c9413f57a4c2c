package redisstream

import (
	"slices"

	"postrider/subscriptions"
)

// scriptMax is how many messages one script handles at most.
const scriptMax = 200

// numbered are the arguments of receipts that act on their own delivery only.
func numbered(receipts []subscriptions.Receipt) []any {
	args := make([]any, 0, 3*len(receipts))
	for _, r := range receipts {
		args = append(args, member(r.ID, r.Key), r.Number, r.Epoch)
	}
	return args
}

// inChunks calls fn with as many items as a script may handle, until all are done or one call fails; none also is a call,
// since it checks the reference. What earlier calls settled stays settled, which is what each receipt asked for.
func inChunks[T any](items []T, fn func([]T) error) error {
	if len(items) == 0 {
		return fn(nil)
	}
	for chunk := range slices.Chunk(items, scriptMax) {
		if err := fn(chunk); err != nil {
			return err
		}
	}
	return nil
}
