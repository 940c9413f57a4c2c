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

// sized are the arguments of receipts whose messages may go.
func sized(receipts []subscriptions.Receipt) []any {
	args := make([]any, 0, 4*len(receipts))
	for _, r := range receipts {
		args = append(args, member(r.ID, r.Key), r.Number, r.Epoch, r.Size)
	}
	return args
}

// missing reads the receipts that had no effect off the rest of a reply.
func (f *fields) missing(at func(int64) subscriptions.Receipt, n int) (missed []subscriptions.Receipt) {
	for len(f.rest) > 0 {
		i := f.int()
		if i < 0 || i >= int64(n) {
			f.fail("names a receipt that was not given")
			return nil
		}
		missed = append(missed, at(i))
	}
	return missed
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
