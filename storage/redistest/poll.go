package redistest

import (
	"errors"
	"fmt"
	"time"
)

// fatal marks an error after which waiting is pointless.
type fatal struct{ error }

// poll calls ready until it returns nil, a fatal error, or patience ends.
func poll(ready func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := ready()
		if err == nil || errors.As(err, new(fatal)) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("gave up after %v: %w", patience, err)
		}
		time.Sleep(3 * time.Millisecond)
	}
}
