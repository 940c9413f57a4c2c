package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// disagreements are the places where our contract contradicts Google's. What ours lacks is no contradiction.
func disagreements(ours, theirs *description) []string {
	var problems []string
	complain := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf(format, args...))
	}
	for _, key := range sorted(ours.methods) {
		if their := theirs.methods[key]; their == nil {
			complain("%s: Google has no such method", key)
		} else {
			compareMethods(complain, ours.methods[key], their)
		}
	}
	for _, name := range sorted(ours.schemas) {
		if their := theirs.schemas[name]; their == nil {
			complain("%s: Google has no such message", name)
		} else {
			compareMessages(complain, name, ours, their)
		}
	}
	return problems
}

func compareMethods(complain func(string, ...any), our, their *method) {
	// A call without a body may be given an empty one.
	if our.request != their.request && (our.request != "Empty" || their.request != "") {
		complain("%s: takes %q, Google's %q", our.key(), our.request, their.request)
	}
	if our.response != their.response {
		complain("%s: answers %q, Google's %q", our.key(), our.response, their.response)
	}
	for _, name := range sorted(our.query) {
		if parameter := their.query[name]; parameter == nil {
			complain("%s: Google has no parameter %s", our.key(), name)
		} else if our.query[name].kind() != parameter.kind() {
			complain("%s: the parameter %s is %s, Google's %s", our.key(), name, our.query[name].kind(), parameter.kind())
		}
	}
}

func compareMessages(complain func(string, ...any), name string, ours *description, their *schema) {
	fields := ours.schemas[name].Properties
	for _, field := range sorted(fields) {
		o, t := fields[field], their.Properties[field]
		where := name + "." + field
		readOnly := o.ReadOnly
		// OpenAPI 3.0 allows nothing beside a $ref, so the mark is on the message itself.
		if message := ours.schemas[o.message()]; message != nil {
			readOnly = readOnly || message.ReadOnly
		}
		switch {
		case o.Extension:
		case t == nil:
			complain("%s: Google has no such field", where)
		case o.kind() != t.kind():
			complain("%s: is %s, Google's %s", where, o.kind(), t.kind())
		case readOnly != t.ReadOnly:
			complain("%s: readOnly is %t, Google's %t", where, readOnly, t.ReadOnly)
		case !slices.Equal(o.Enum, t.Enum):
			complain("%s: is one of %s, Google's one of %s", where, strings.Join(o.Enum, " "), strings.Join(t.Enum, " "))
		}
	}
}

func sorted[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
