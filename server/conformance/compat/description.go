package main

import (
	"path"
	"regexp"
)

// description is an API, as far as the two sources both tell it.
type description struct {
	revision string
	methods  map[string]*method // by HTTP method and path, as method.key spells them
	schemas  map[string]*schema
}

type method struct {
	id       string // theirs: pubsub.projects.topics.get
	verb     string
	path     string
	request  string // name of a schema, empty for none
	response string
	query    map[string]*schema
}

// key is the same for both sources, which name the parts of a path differently.
func (m *method) key() string {
	return m.verb + " " + parameter.ReplaceAllString(m.path, "{}")
}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

// schema is the type of a message, field or parameter. The tags serve both sources.
type schema struct {
	Ref        string             `json:"$ref" yaml:"$ref"`
	Type       string             `json:"type" yaml:"type"`
	Format     string             `json:"format" yaml:"format"`
	Enum       []string           `json:"enum" yaml:"enum"`
	ReadOnly   bool               `json:"readOnly" yaml:"readOnly"`
	Items      *schema            `json:"items" yaml:"items"`
	Properties map[string]*schema `json:"properties" yaml:"properties"`
	Values     *additional        `json:"additionalProperties" yaml:"additionalProperties"`

	// Of ours alone.
	Status    string `json:"-" yaml:"x-postrider-status"`
	Extension bool   `json:"-" yaml:"x-postrider-extension"`
}

// name is the last part of a reference.
func (s *schema) name() string {
	if s == nil || s.Ref == "" {
		return ""
	}
	return path.Base(s.Ref)
}

// opaque tells whether a schema of ours stands for any object.
func (s *schema) opaque() bool {
	return s.Values != nil && s.Values.any
}

// kind is the type in the words of the report, which both sources must agree on.
func (s *schema) kind() string {
	switch {
	case s.Ref != "":
		return s.name()
	case s.Type == "array":
		return "array of " + s.Items.kind()
	case s.Values != nil && s.Values.schema != nil:
		return "map of " + s.Values.kind()
	case s.Format != "":
		return s.Type + " (" + s.Format + ")"
	case len(s.Enum) > 0:
		return s.Type + " (enum)"
	}
	return s.Type
}

// message is the name of the message that a field holds, by itself, in an array or as the value of a map.
func (s *schema) message() string {
	switch {
	case s.Items != nil:
		return s.Items.message()
	case s.Values != nil && s.Values.schema != nil:
		return s.Values.message()
	}
	return s.name()
}
