package declared

import (
	"errors"

	"postrider/server/wire"
)

// sound reads a message of the kind as strict does, and goes on without what is malformed in it, so that all of that is told at
// once. The fields are nil when there is nothing to go on with.
func (k Kind) sound(object []byte) (fields Fields, malformed []*wire.Error, err error) {
	for {
		fields, err := k.strict(object)
		var m *wire.Error
		if !errors.As(err, &m) {
			return fields, malformed, err
		}
		malformed = append(malformed, m)
		if m.Path == "" {
			return nil, malformed, nil
		}
		rest := fieldsOf(object)
		if !drop(rest, m.Path) {
			return nil, malformed, nil
		}
		object = rest.JSON()
	}
}

// drop takes the value at a path away, or the list that it is in, and tells whether there was one.
func drop(object map[string]any, path string) (dropped bool) {
	name, _, rest := firstStep(path)
	for key, value := range object {
		if plain(key) != plain(name) {
			continue
		}
		if inner, ok := value.(map[string]any); ok && rest != "" {
			return drop(inner, rest)
		}
		delete(object, key) // by both of its spellings
		dropped = true
	}
	return dropped
}

// Property is the part of a path that an update names: a field of the resource, or a property of the object postrider.
func Property(path string) string {
	name, _, rest := firstStep(path)
	if inner, _, _ := firstStep(rest); name == extensions && inner != "" {
		return name + "." + inner
	}
	return name
}

// Doubt says of a property that its value is wrong, so that nothing more can be said of it. It tells whether there was such a
// property, and no doubt of it yet.
func (r *Resource) Doubt(path string) bool {
	property := Property(path)
	if property == "" || r.Doubted(property) {
		return false
	}
	if r.doubted == nil {
		r.doubted = map[string]bool{}
	}
	r.doubted[property] = true
	there := r.Value(property) != nil
	r.Fields = r.Clone()
	drop(r.Fields, property)
	return there
}

// Doubted tells whether Doubt was said of the property at a path.
func (r Resource) Doubted(path string) bool {
	property := Property(path)
	for doubted := range r.doubted {
		if plain(doubted) == plain(property) {
			return true
		}
	}
	return false
}
