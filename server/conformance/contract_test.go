package conformance

import (
	"context"
	"encoding/json"
	"path"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"postrider"
)

func contract(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(postrider.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestContractIsValid(t *testing.T) {
	if err := contract(t).Validate(context.Background(), openapi3.EnableExamplesValidation()); err != nil {
		t.Error(err)
	}
}

// TestEveryOperationIsExplained checks that each has what a reader needs: words, examples and the error shape.
func TestEveryOperationIsExplained(t *testing.T) {
	for where, item := range contract(t).Paths.Map() {
		for verb, op := range item.Operations() {
			if op.OperationID == "" || op.Summary == "" || op.Description == "" || len(op.Tags) == 0 {
				t.Errorf("%s %s: an id, a summary, a description or a tag is missing", verb, where)
			}
			if op.Responses.Default() == nil {
				t.Errorf("%s %s: no error response", verb, where)
			}
			for kind, content := range contents(op) {
				for _, media := range content {
					if media.Example == nil {
						t.Errorf("%s %s: no example of the %s", verb, where, kind)
					}
				}
			}
		}
	}
	for name, message := range contract(t).Components.Schemas {
		for field, property := range message.Value.Properties {
			if property.Value.Description == "" {
				t.Errorf("%s.%s: no description", name, field)
			}
		}
	}
}

// TestExamplesAreTrue checks that the examples are bodies which both readers accept.
func TestExamplesAreTrue(t *testing.T) {
	examples := 0
	for where, item := range contract(t).Paths.Map() {
		for verb, op := range item.Operations() {
			for kind, content := range contents(op) {
				media := content.Get("application/json")
				if media == nil {
					continue
				}
				name := path.Base(media.Schema.Ref)
				for _, p := range pairs {
					if p.name != name {
						continue
					}
					examples++
					body, err := json.Marshal(media.Example)
					if err != nil {
						t.Fatal(err)
					}
					if !p.compare(t, body) {
						t.Errorf("%s %s: the example of the %s is refused: %s", verb, where, kind, body)
					}
				}
			}
		}
	}
	if examples < 20 {
		t.Errorf("only %d examples found", examples)
	}
}

func contents(op *openapi3.Operation) map[string]openapi3.Content {
	found := map[string]openapi3.Content{"answer": op.Responses.Status(200).Value.Content}
	if op.RequestBody != nil {
		found["request"] = op.RequestBody.Value.Content
	}
	return found
}
