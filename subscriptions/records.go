package subscriptions

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
