package server

import (
	"cmp"
	"errors"

	"postrider/server/wire"
	"postrider/subscriptions"
)

// maskOf reads the update mask: the one in the body, or else the one in the query.
func maskOf(body, query wire.FieldMask) ([]string, error) {
	paths, err := cmp.Or(body, query).Paths()
	var malformed *wire.Error
	if errors.As(err, &malformed) {
		return nil, subscriptions.Errorf(subscriptions.InvalidArgument, "updateMask: %s", malformed.Problem)
	}
	return paths, err
}
