package declared

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"postrider/server/wire"
)

// source is where a file declares a resource.
type source struct {
	file string
	node *node
}

// At says where the value at a path of the resource stands, as FILE:LINE, or else where what holds it stands.
func (s source) At(path string) string { return fmt.Sprintf("%s:%d", s.file, s.node.lineOf(path)) }

// Given tells whether the file has the field.
func (s source) Given(path string) bool {
	_, _, err := s.node.step(path)
	return err == nil
}

// Read reads the resources that a file declares. Its name is for messages; ids are completed to names in the project. All that
// is wrong is returned at once, each with its line.
func Read(file string, content io.Reader, project string) ([]Resource, error) {
	text, err := io.ReadAll(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	c := &converter{file: file, nodes: fewNodes + expansion*len(text)}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var all []Resource
	var wrong []error
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all, errors.Join(wrong...)
		}
		if err != nil { // what follows is not readable either
			return all, errors.Join(append(wrong, fmt.Errorf("%s: %w", file, err))...)
		}
		resources, err := c.document(document.Content[0], project)
		all, wrong = append(all, resources...), append(wrong, err)
	}
}

func (c *converter) document(root *yaml.Node, project string) (all []Resource, err error) {
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil, nil // nothing but comments
	}
	if root.Kind != yaml.MappingNode {
		return nil, c.problem(root, "expected \"topics:\" or \"subscriptions:\" and a list")
	}
	pairs, err := c.pairs(root, 0)
	if err != nil {
		return nil, err
	}
	var wrong []error
	for i := 0; i < len(pairs); i += 2 {
		kind, err := c.kindOf(pairs[i])
		if err == nil {
			var resources []Resource
			resources, err = c.list(kind, pairs[i+1], project)
			all = append(all, resources...)
		}
		wrong = append(wrong, err)
	}
	return all, errors.Join(wrong...)
}

func (c *converter) kindOf(key *yaml.Node) (Kind, error) {
	for _, kind := range Kinds {
		if key.Value == kind.list() {
			return kind, nil
		}
	}
	return "", c.problem(key, "%q is not known here: there are topics and subscriptions, each a list", key.Value)
}

func (c *converter) list(kind Kind, n *yaml.Node, project string) (all []Resource, err error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return nil, nil
	case n.Kind != yaml.SequenceNode:
		return nil, c.problem(n, "%s: expected a list", kind.list())
	}
	var wrong []error
	for _, item := range n.Content {
		r, err := c.resource(kind, item, project)
		if err == nil {
			all = append(all, r)
		}
		wrong = append(wrong, err)
	}
	return all, errors.Join(wrong...)
}

func (c *converter) resource(kind Kind, n *yaml.Node, project string) (Resource, error) {
	object, at, err := c.value(nil, n, 0)
	if err != nil {
		return Resource{}, err
	}
	fields, err := kind.strict(object)
	var malformed *wire.Error
	if errors.As(err, &malformed) {
		return Resource{}, fmt.Errorf("%s:%d: %s", c.file, at.lineOf(malformed.Path), joined(": ", malformed.Path, malformed.Problem))
	}
	if err != nil {
		return Resource{}, fmt.Errorf("%s:%d: %w", c.file, at.line, err)
	}
	r := Resource{Kind: kind, Fields: fields, source: source{c.file, at}}
	r.complete(project)
	if r.Name, _ = fields["name"].(string); r.Name == "" {
		return r, fmt.Errorf("%s:%d: the %s has no name", c.file, at.line, kind)
	}
	return r, nil
}

// joined joins the texts that are not empty.
func joined(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), separator)
}

// Unique says of names that are declared twice where that is.
func Unique(resources []Resource) error {
	first := map[string]Resource{}
	var wrong []error
	for _, r := range resources {
		if other, again := first[r.Name]; again {
			wrong = append(wrong, fmt.Errorf("%s: %s is declared already, at %s", r.At("name"), r.Name, other.At("name")))
			continue
		}
		first[r.Name] = r
	}
	return errors.Join(wrong...)
}

// Write writes resources as a file that Read reads, in JSON. Names come first.
func Write(w io.Writer, resources []Resource) error {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, kind := range Kinds {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:[", kind.list())
		separator := ""
		for _, r := range resources {
			if r.Kind == kind {
				b.WriteString(separator)
				b.Write(namesFirst(r))
				separator = ","
			}
		}
		b.WriteByte(']')
	}
	b.WriteByte('}')
	_, err := w.Write(b.Bytes())
	return err
}

// namesFirst writes a resource with its own name, and that of its topic, before all else.
func namesFirst(r Resource) []byte {
	rest := r.Settable()
	var b bytes.Buffer
	separator := byte('{')
	for _, name := range []string{"name", "topic"} {
		if value, ok := rest[name]; ok {
			b.WriteByte(separator)
			b.Write(bytes.Trim(Fields{name: value}.JSON(), "{}"))
			delete(rest, name)
			separator = ','
		}
	}
	if others := rest.JSON(); len(rest) > 0 {
		b.WriteByte(separator)
		b.Write(others[1:])
		return b.Bytes()
	}
	b.WriteByte('}')
	return b.Bytes()
}
