package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"
)

// additional is what additionalProperties may say: a type for the values of a map, or whether there may be any.
type additional struct {
	*schema
	any bool
}

func (a *additional) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &a.schema)
}

func (a *additional) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return node.Decode(&a.any)
	}
	return node.Decode(&a.schema)
}

// contract is openapi.yaml.
type contract struct {
	Paths      map[string]map[string]yaml.Node `yaml:"paths"`
	Components struct {
		Parameters map[string]openParameter `yaml:"parameters"`
		Schemas    map[string]*schema       `yaml:"schemas"`
	} `yaml:"components"`
}

type openParameter struct {
	Ref       string  `yaml:"$ref"`
	Name      string  `yaml:"name"`
	In        string  `yaml:"in"`
	Schema    *schema `yaml:"schema"`
	Extension bool    `yaml:"x-postrider-extension"`
}

type openBody struct {
	Content map[string]struct {
		Schema *schema `yaml:"schema"`
	} `yaml:"content"`
}

type openOperation struct {
	Parameters  []openParameter     `yaml:"parameters"`
	RequestBody openBody            `yaml:"requestBody"`
	Responses   map[string]openBody `yaml:"responses"`
	Extension   bool                `yaml:"x-postrider-extension"`
}

// readContract reads what openapi.yaml says about Google's API; our extensions are left out.
func readContract(data []byte) (*description, error) {
	var c contract
	if err := yaml.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	d := &description{methods: map[string]*method{}, schemas: c.Components.Schemas}
	d.dropExtensions()
	for path, item := range c.Paths {
		for verb, node := range item {
			if verb == "parameters" {
				continue
			}
			var op openOperation
			if err := node.Decode(&op); err != nil {
				return nil, fmt.Errorf("openapi.yaml: %s %s: %w", verb, path, err)
			}
			if op.Extension {
				continue
			}
			m := &method{verb: strings.ToUpper(verb), path: path, query: c.query(op.Parameters)}
			m.request = op.RequestBody.Content["application/json"].Schema.name()
			m.response = op.Responses["200"].Content["application/json"].Schema.name()
			d.methods[m.key()] = m
		}
	}
	return d, nil
}

// dropExtensions takes away the messages of our own, and the fields that hold one: OpenAPI 3.0 allows no mark beside a $ref.
func (d *description) dropExtensions() {
	ours := map[string]bool{}
	for name, s := range d.schemas {
		ours[name] = s.Extension
	}
	maps.DeleteFunc(d.schemas, func(name string, _ *schema) bool { return ours[name] })
	for _, s := range d.schemas {
		maps.DeleteFunc(s.Properties, func(_ string, field *schema) bool { return ours[field.message()] })
	}
}

func (c *contract) query(parameters []openParameter) map[string]*schema {
	query := map[string]*schema{}
	for _, p := range parameters {
		if p.Ref != "" {
			p = c.Components.Parameters[(&schema{Ref: p.Ref}).name()]
		}
		if p.In == "query" && !p.Extension {
			query[p.Name] = p.Schema
		}
	}
	return query
}

// discovery is pubsub-api.json.
type discovery struct {
	Revision  string             `json:"revision"`
	Schemas   map[string]*schema `json:"schemas"`
	Resources map[string]resource
}

type resource struct {
	Resources map[string]resource
	Methods   map[string]discoveryMethod
}

type discoveryMethod struct {
	ID         string
	HTTPMethod string
	FlatPath   string
	Request    *schema
	Response   *schema
	Parameters map[string]struct {
		schema
		Location string
	}
}

func readDiscovery(data []byte) (*description, error) {
	var doc discovery
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("pubsub-api.json: %w", err)
	}
	d := &description{revision: doc.Revision, methods: map[string]*method{}, schemas: doc.Schemas}
	d.addResources(doc.Resources)
	return d, nil
}

func (d *description) addResources(resources map[string]resource) {
	for _, r := range resources {
		d.addResources(r.Resources)
		for _, found := range r.Methods {
			m := &method{id: found.ID, verb: found.HTTPMethod, path: "/" + shortPath(found.FlatPath), query: map[string]*schema{}}
			m.request, m.response = found.Request.name(), found.Response.name()
			for name, p := range found.Parameters {
				if p.Location == "query" {
					m.query[name] = &p.schema
				}
			}
			d.methods[m.key()] = m
		}
	}
}

// shortPath names the parts of a path as our contract does: {topic} for {topicsId}.
func shortPath(flat string) string {
	return strings.ReplaceAll(flat, "sId}", "}")
}
