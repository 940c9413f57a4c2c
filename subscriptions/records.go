package subscriptions

import (
	"errors"
	"fmt"
)

// inserted inserts a record. As long as its name is taken, settle finishes what
// somebody left half-made there, or fails since nobody did.
func inserted(insert, settle func() error) error {
	for {
		if err := insert(); CodeOf(err) != AlreadyExists {
			return err
		}
		if err := settle(); err != nil {
			return err
		}
	}
}

// replaced puts what change makes of a record in its place, and reads it again
// when another change came first.
func replaced[R any](read func() (R, error), change func(R) (R, error), replace func(R) error) (record R, err error) {
	for {
		if record, err = read(); err != nil {
			return record, err
		}
		if record, err = change(record); err != nil {
			return record, err
		}
		if err = replace(record); CodeOf(err) != Aborted {
			return record, err
		}
	}
}

// errVanished is the cause when a record was deleted while it was made.
var errVanished = errors.New("it was deleted while it was made")

// vanished is NOT_FOUND for a record that was deleted while it was made.
func vanished(name fmt.Stringer) error {
	return WrapError(errVanished, NotFound, "%s does not exist", name)
}

// ofCreation is the error that a creation answers: what it made did exist, so
// that it is gone again is for the caller to try anew.
func ofCreation(name fmt.Stringer, err error) error {
	if errors.Is(err, errVanished) {
		return WrapError(err, Aborted, "%s was deleted by another request while it was created; try again", name)
	}
	return err
}
