package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

const (
	supported     = "supported"
	unimplemented = "UNIMPLEMENTED"
	ignored       = "ignored"
	notYet        = "not yet"
)

// report writes docs/compatibility.md. Equal descriptions give equal bytes.
func report(ours, theirs *description) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Compatibility with Google Cloud Pub/Sub

Written by `+"`scripts/generate`"+` from openapi.yaml and Google's description of the REST API, revision %s. Do not edit.

- *supported*: served.
- *UNIMPLEMENTED*: setting the field is answered with 501 UNIMPLEMENTED and its name.
- *ignored*: accepted and dropped.
- *not yet*: a method is answered with 501 UNIMPLEMENTED, a field with 400.

`, theirs.revision)
	reportMethods(&b, ours, theirs)
	b.WriteString("## Fields\n\nThe messages of the methods that are served, and the messages inside them.\n")
	for _, name := range reachable(ours, theirs) {
		reportMessage(&b, name, ours.schemas[name], theirs.schemas[name], ours)
	}
	return b.Bytes()
}

func reportMethods(b *bytes.Buffer, ours, theirs *description) {
	served := 0
	var rows bytes.Buffer
	for _, m := range methodsByID(theirs) {
		status := notYet
		if ours.methods[m.key()] != nil {
			status = supported
			served++
		}
		fmt.Fprintf(&rows, "| %s | `%s %s` | %s |\n", strings.TrimPrefix(m.id, "pubsub.projects."), m.verb, m.path, status)
	}
	fmt.Fprintf(b, "## Methods\n\n%d of %d.\n\n| method | request | status |\n|---|---|---|\n%s\n", served, len(theirs.methods), &rows)
}

func methodsByID(d *description) []*method {
	var methods []*method
	for _, m := range d.methods {
		methods = append(methods, m)
	}
	slices.SortFunc(methods, func(a, b *method) int { return strings.Compare(a.id, b.id) })
	return methods
}

// reachable are the messages that the methods we serve take and answer, sorted, by Google's description: what ours leaves
// out is to be reported too. Messages inside those that we take as any object are left out.
func reachable(ours, theirs *description) []string {
	found := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if name == "" || found[name] {
			return
		}
		found[name] = true
		if our := ours.schemas[name]; our == nil || our.opaque() {
			return
		}
		for _, field := range theirs.schemas[name].Properties {
			visit(field.message())
		}
	}
	for key := range ours.methods {
		visit(theirs.methods[key].request)
		visit(theirs.methods[key].response)
	}
	return sorted(found)
}

func reportMessage(b *bytes.Buffer, name string, our, their *schema, ours *description) {
	if len(their.Properties) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n| field | type | status |\n|---|---|---|\n", name)
	if our == nil || our.opaque() {
		fmt.Fprintf(b, "| all | | %s |\n", statusOf(our))
		return
	}
	for _, field := range sorted(their.Properties) {
		status := statusOf(our)
		if status == supported {
			status = fieldStatus(our.Properties[field], ours)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", field, their.Properties[field].kind(), status)
	}
}

// fieldStatus is that of the field, or of the message it holds.
func fieldStatus(field *schema, ours *description) string {
	if status := statusOf(field); status != supported || field.message() == "" {
		return status
	}
	return statusOf(ours.schemas[field.message()])
}

func statusOf(s *schema) string {
	switch {
	case s == nil:
		return notYet
	case s.Status == "unimplemented":
		return unimplemented
	case s.Status == "ignored":
		return ignored
	}
	return supported
}
