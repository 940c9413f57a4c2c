package filter

import "strings"

// MaxBytes is how long an expression may be.
const MaxBytes = 256

// Filter is a compiled expression. It does not change, so any goroutine may use it.
type Filter struct{ root node }

// Matches tells whether a message with these attributes is selected.
func (f *Filter) Matches(attributes map[string]string) bool { return f.root.matches(attributes) }

type operator int8

const (
	has operator = iota
	equals
	differs
	prefixed
	not
	and
	or
)

// node is a condition on one attribute, or what joins others.
type node struct {
	op         operator
	key, value string
	nodes      []node
}

func (n *node) matches(attributes map[string]string) bool {
	switch n.op {
	case not:
		return !n.nodes[0].matches(attributes)
	case and, or:
		for i := range n.nodes {
			if n.nodes[i].matches(attributes) == (n.op == or) {
				return n.op == or
			}
		}
		return n.op == and
	}
	value, ok := attributes[n.key]
	switch n.op {
	case equals:
		return ok && value == n.value
	case differs:
		return !ok || value != n.value
	case prefixed:
		return ok && strings.HasPrefix(value, n.value)
	default:
		return ok
	}
}
