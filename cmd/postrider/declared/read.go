package declared

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
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

// Declarations are what files declare.
type Declarations struct {
	// Resources are all whose names can be read. Of what is malformed they are without.
	Resources []Resource
	// Partial means that there may be more, whose names are not known.
	Partial bool
	// Wrong is what of the form is wrong, each with its line.
	Wrong []error
}

// refuse adds a mistake, if there is one, behind which the name of a resource may be hidden.
func (d *Declarations) refuse(err error) {
	if err != nil {
		d.Wrong, d.Partial = append(d.Wrong, err), true
	}
}

// Read adds what a file declares. Its name is for messages; ids are completed to names in the project.
func (d *Declarations) Read(file string, content io.Reader, project string) {
	text, err := io.ReadAll(content)
	if err != nil {
		d.refuse(fmt.Errorf("%s: %w", file, err))
		return
	}
	c := &converter{file: file, nodes: fewNodes + expansion*len(text)}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil { // what follows is not readable either
			d.refuse(fmt.Errorf("%s: %w", file, err))
			return
		}
		c.document(d, document.Content[0], project)
	}
}

func (c *converter) document(d *Declarations, root *yaml.Node, project string) {
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return // nothing but comments
	}
	if root.Kind != yaml.MappingNode {
		d.refuse(c.problem(root, "expected \"topics:\" or \"subscriptions:\" and a list"))
		return
	}
	pairs, err := c.pairs(root, 0)
	d.refuse(err)
	for i := 0; i < len(pairs); i += 2 {
		if kind, err := c.kindOf(pairs[i]); err != nil {
			d.refuse(err)
		} else {
			c.list(d, kind, pairs[i+1], project)
		}
	}
}

func (c *converter) kindOf(key *yaml.Node) (Kind, error) {
	for _, kind := range Kinds {
		if key.Value == kind.list() {
			return kind, nil
		}
	}
	return "", c.problem(key, "%q is not known here: there are topics and subscriptions, each a list", key.Value)
}

func (c *converter) list(d *Declarations, kind Kind, n *yaml.Node, project string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return
	case n.Kind != yaml.SequenceNode:
		d.refuse(c.problem(n, "%s: expected a list", kind.list()))
		return
	}
	for _, item := range n.Content {
		r, wrong := c.resource(kind, item, project)
		if d.Wrong = append(d.Wrong, wrong...); r.Name == "" {
			d.Partial = true
		} else {
			d.Resources = append(d.Resources, r)
		}
	}
}

// resource reads a resource, without what is wrong in it.
func (c *converter) resource(kind Kind, n *yaml.Node, project string) (r Resource, wrong []error) {
	r = Resource{Kind: kind, source: source{c.file, &node{line: n.Line}}}
	object, at, err := c.value(nil, n, 0)
	if err != nil { // not even JSON can be made of it
		if name := nameIn(n); name != "" {
			r.Broken, r.Fields = true, Fields{"name": name}
			r.complete(project)
			r.Name, _ = r.Fields["name"].(string)
		}
		return r, []error{err}
	}
	r.node = at
	fields, malformed, err := kind.sound(object)
	for _, m := range malformed {
		wrong = append(wrong, fmt.Errorf("%s:%d: %s", c.file, at.lineOf(m.Path), joined(": ", m.Path, m.Problem)))
	}
	if err != nil {
		wrong = append(wrong, fmt.Errorf("%s:%d: %w", c.file, at.line, err))
	}
	if r.Fields = fields; fields == nil {
		return r, wrong
	}
	for _, m := range malformed {
		r.Doubt(m.Path)
	}
	r.complete(project)
	if r.Name, _ = r.Fields["name"].(string); r.Name == "" && !r.Doubted("name") {
		wrong = append(wrong, fmt.Errorf("%s:%d: the %s has no name", c.file, at.line, kind))
	}
	return r, wrong
}

// nameIn is the name that a mapping has, however wrong the rest of it is; "" if there is none.
func nameIn(n *yaml.Node) string {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value == "name" && n.Content[i+1].Kind == yaml.ScalarNode {
			return n.Content[i+1].Value
		}
	}
	return ""
}

// joined joins the texts that are not empty.
func joined(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), separator)
}

// Unique drops what is declared a second time, and says where that is.
func (d *Declarations) Unique() {
	first := map[string]Resource{}
	d.Resources = slices.DeleteFunc(d.Resources, func(r Resource) bool {
		other, again := first[r.Name]
		if again {
			d.Wrong = append(d.Wrong, fmt.Errorf("%s: %s is declared already, at %s", r.At("name"), r.Name, other.At("name")))
		} else {
			first[r.Name] = r
		}
		return again
	})
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
