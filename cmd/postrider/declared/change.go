package declared

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Change is a value that differs. Absent values are nil.
type Change struct {
	Path     string
	From, To any
}

// Changes are the values that differ, by path, without what the server alone sets.
func Changes(from, to Resource) (changes []Change) {
	a, b := leaves(from.Settable()), leaves(to.Settable())
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if !reflect.DeepEqual(a[path], b[path]) {
			changes = append(changes, Change{path, a[path], b[path]})
		}
	}
	return changes
}

// leaves are the values within objects, by path. A list is one value, and so is an object without fields.
func leaves(f Fields) map[string]any {
	found := map[string]any{}
	var walk func(prefix string, object map[string]any)
	walk = func(prefix string, object map[string]any) {
		for name, value := range object {
			if inner, ok := value.(map[string]any); ok && len(inner) > 0 {
				walk(prefix+name+".", inner)
			} else {
				found[prefix+name] = value
			}
		}
	}
	walk("", f)
	return found
}

// Text is a value for people: a string without quotes, all else as JSON.
func Text(value any) string {
	switch v := value.(type) {
	case nil:
		return "(none)"
	case string:
		return v
	}
	b, err := json.Marshal(value)
	if err != nil {
		panic(err) // nothing in it that JSON does not have
	}
	return string(b)
}

// extensions is the object whose properties have masks of their own.
const extensions = "postrider"

// Mask names the fields that an update from one to the other is about: whole fields of the resource, and single properties of
// the object postrider.
func Mask(from, to Resource) (paths []string) {
	a, b := from.Settable(), to.Settable()
	inner, _ := a[extensions].(map[string]any)
	other, _ := b[extensions].(map[string]any)
	for _, path := range differing(a, b) {
		if path != extensions {
			paths = append(paths, path)
		}
	}
	for _, path := range differing(inner, other) {
		paths = append(paths, extensions+"."+path)
	}
	return paths
}

// differing are the keys whose values differ, sorted.
func differing(a, b map[string]any) (keys []string) {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !reflect.DeepEqual(a[key], b[key]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Value is the value at a path that Mask names; nil when it is absent.
func (r Resource) Value(path string) any {
	if property, ok := strings.CutPrefix(path, extensions+"."); ok {
		object, _ := r.Fields[extensions].(map[string]any)
		return object[property]
	}
	return r.Fields[path]
}
