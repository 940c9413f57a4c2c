package server

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// contractDocument is openapi.yaml as it stands.
type contractDocument map[string]any

func readContract(t *testing.T) contractDocument {
	t.Helper()
	text, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// resolve follows a reference.
func (c contractDocument) resolve(node map[string]any) map[string]any {
	for {
		ref, ok := node["$ref"].(string)
		if !ok {
			return node
		}
		node = map[string]any(c)
		for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			node, _ = node[name].(map[string]any)
		}
	}
}

// check says what of an example the schema does not have, and what no answer has, since empty fields are left out.
func (c contractDocument) check(t *testing.T, at string, example any, schema map[string]any, answer bool) {
	t.Helper()
	schema = c.resolve(schema)
	switch v := example.(type) {
	case map[string]any:
		properties, known := schema["properties"].(map[string]any)
		for name, value := range v {
			inner, has := properties[name].(map[string]any)
			if known && !has {
				t.Errorf("%s.%s: the schema has no such field", at, name)
				continue
			}
			if answer && known && (value == nil || reflect.ValueOf(value).IsZero() || value == "0") {
				t.Errorf("%s.%s: %v is left out of answers", at, name, value)
			}
			c.check(t, at+"."+name, value, inner, answer)
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, value := range v {
			c.check(t, at+"[]", value, items, answer)
		}
	}
}

// What the contract shows is as the server has it: the fields are those of the schema, and in answers none is empty.
func TestExamplesOfTheContract(t *testing.T) {
	t.Parallel()
	c := readContract(t)
	seen := 0
	var walk func(at string, node any, answer bool)
	walk = func(at string, node any, answer bool) {
		switch v := node.(type) {
		case map[string]any:
			schema, isContent := v["schema"].(map[string]any)
			if example, ok := v["example"]; ok && isContent {
				seen++
				c.check(t, at, example, schema, answer)
				return
			}
			for name, inner := range v {
				walk(at+"/"+name, inner, answer || name == "responses")
			}
		case []any:
			for _, inner := range v {
				walk(at, inner, answer)
			}
		}
	}
	walk("", map[string]any(c), false)
	if seen < 100 {
		t.Errorf("only %d examples were found", seen)
	}
}
