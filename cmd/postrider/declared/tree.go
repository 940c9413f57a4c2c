package declared

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// node knows in which line a value stands, and those within it.
type node struct {
	line  int
	keys  map[string]*node
	items []*node
}

// Aliases can make a small file mean a huge one, or one without an end. Without them it has fewer values than bytes.
const (
	maxDepth  = 100
	fewNodes  = 10_000
	expansion = 10 // values a byte
)

// converter makes JSON of YAML.
type converter struct {
	file  string
	nodes int // that there may be still
}

func (c *converter) problem(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", c.file, n.Line, fmt.Sprintf(format, args...))
}

// value appends a value as JSON.
func (c *converter) value(b []byte, n *yaml.Node, depth int) ([]byte, *node, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if c.nodes--; depth > maxDepth || c.nodes < 0 {
		return b, nil, c.problem(n, "aliases make far more of the file than it is, or there are more than %d levels", maxDepth)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return c.mapping(b, n, depth)
	case yaml.SequenceNode:
		return c.sequence(b, n, depth)
	}
	b, err := c.scalar(b, n)
	return b, &node{line: n.Line}, err
}

func (c *converter) mapping(b []byte, n *yaml.Node, depth int) ([]byte, *node, error) {
	pairs, err := c.pairs(n, depth)
	if err != nil {
		return b, nil, err
	}
	out := &node{line: n.Line, keys: map[string]*node{}}
	b = append(b, '{')
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(quoted(b, pairs[i].Value), ':')
		var inner *node
		if b, inner, err = c.value(b, pairs[i+1], depth+1); err != nil {
			return b, nil, err
		}
		inner.line = pairs[i].Line
		out.keys[plain(pairs[i].Value)] = inner
	}
	return append(b, '}'), out, nil
}

// pairs are the keys and values of a mapping, with those that << merges into it and that it does not have itself.
func (c *converter) pairs(n *yaml.Node, depth int) (pairs []*yaml.Node, err error) {
	seen := map[string]int{}
	var merged []*yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return nil, c.problem(key, "expected a name")
		}
		if key.ShortTag() == "!!merge" {
			from, err := c.merged(value, depth)
			if err != nil {
				return nil, err
			}
			merged = append(merged, from...)
			continue
		}
		if line, again := seen[key.Value]; again {
			return nil, c.problem(key, "%s stands there twice, first in line %d", key.Value, line)
		}
		seen[key.Value] = key.Line
		pairs = append(pairs, key, value)
	}
	for i := 0; i < len(merged); i += 2 {
		if _, there := seen[merged[i].Value]; !there {
			seen[merged[i].Value] = merged[i].Line
			pairs = append(pairs, merged[i], merged[i+1])
		}
	}
	return pairs, nil
}

// merged are the pairs of the mapping, or of the list of mappings, that a << names.
func (c *converter) merged(n *yaml.Node, depth int) (pairs []*yaml.Node, err error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if c.nodes--; depth > maxDepth || c.nodes < 0 {
		return nil, c.problem(n, "<< has no end")
	}
	switch n.Kind {
	case yaml.MappingNode:
		return c.pairs(n, depth+1)
	case yaml.SequenceNode:
		for _, item := range n.Content {
			from, err := c.merged(item, depth+1)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, from...)
		}
		return pairs, nil
	}
	return nil, c.problem(n, "<< merges fields, and this has none")
}

func (c *converter) sequence(b []byte, n *yaml.Node, depth int) ([]byte, *node, error) {
	out := &node{line: n.Line}
	b = append(b, '[')
	for i, item := range n.Content {
		if i > 0 {
			b = append(b, ',')
		}
		var inner *node
		var err error
		if b, inner, err = c.value(b, item, depth+1); err != nil {
			return b, nil, err
		}
		out.items = append(out.items, inner)
	}
	return append(b, ']'), out, nil
}

func (c *converter) scalar(b []byte, n *yaml.Node) ([]byte, error) {
	switch n.ShortTag() {
	case "!!str", "!!timestamp": // a time is a string in JSON
		return quoted(b, n.Value), nil
	case "!!null":
		return append(b, "null"...), nil
	case "!!bool":
		var v bool
		err := n.Decode(&v)
		return strconv.AppendBool(b, v), err
	case "!!int":
		var v int64
		if err := n.Decode(&v); err != nil {
			return b, c.problem(n, "%s is too large a number", n.Value)
		}
		return strconv.AppendInt(b, v, 10), nil
	case "!!float":
		var v float64
		if err := n.Decode(&v); err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			return b, c.problem(n, "%s is no number here", n.Value)
		}
		return strconv.AppendFloat(b, v, 'g', -1, 64), nil
	}
	return b, c.problem(n, "values of the type %s are not known here", n.ShortTag())
}

func quoted(b []byte, text string) []byte {
	q, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string is always fine
	}
	return append(b, q...)
}

// plain lets both spellings of a name, such as retryPolicy and retry_policy, be one.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// lineOf is the line of the value at a path such as a.b[0]["c"], or of the last value on the way there.
func (n *node) lineOf(path string) int {
	for path != "" && n != nil {
		inner, rest, err := n.step(path)
		if err != nil {
			break
		}
		n, path = inner, rest
	}
	return n.line
}

var errNoStep = errors.New("there is no such value")

// step goes to the first value of a path.
func (n *node) step(path string) (inner *node, rest string, err error) {
	name, index, rest := firstStep(path)
	if name != "" {
		inner = n.keys[plain(name)]
	} else if index >= 0 && index < len(n.items) {
		inner = n.items[index]
	}
	if inner == nil {
		return nil, "", errNoStep
	}
	return inner, rest, nil
}

// firstStep is the name that a path such as a.b[0]["c"] begins with, or else the index, and what follows.
func firstStep(path string) (name string, index int, rest string) {
	if bracketed, ok := strings.CutPrefix(path, "["); ok {
		bracketed, rest, _ = strings.Cut(bracketed, "]")
		if key, err := strconv.Unquote(bracketed); err == nil {
			name = key
		} else if i, err := strconv.Atoi(bracketed); err == nil {
			index = i
		} else {
			index = -1
		}
	} else {
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		name, rest = path[:end], path[end:]
	}
	return name, index, strings.TrimPrefix(rest, ".")
}
