package server

import (
	"cmp"
	"errors"
	"strings"

	"postrider/server/wire"
	"postrider/subscriptions"
)

// fields tells whether a request is about the field of this path.
type fields func(path string) bool

// everyField is what a creation is about.
func everyField(string) bool { return true }

// fieldsOf is what a change is about: the fields that its mask names, what they hold, and what holds them. The rest of the
// body has no effect, so nothing of it is judged.
func fieldsOf(mask []string) fields {
	return func(path string) bool {
		for _, named := range mask {
			if named == path || strings.HasPrefix(path, named+".") || strings.HasPrefix(named, path+".") {
				return true
			}
		}
		return false
	}
}

// maskOf reads the update mask: the one in the body, or else the one in the query.
func maskOf(body, query wire.FieldMask) ([]string, error) {
	paths, err := cmp.Or(body, query).Paths()
	var malformed *wire.Error
	if errors.As(err, &malformed) {
		return nil, subscriptions.Errorf(subscriptions.InvalidArgument, "updateMask: %s", malformed.Problem)
	}
	return paths, err
}
