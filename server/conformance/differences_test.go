package conformance

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/proto"

	"postrider/server/wire"
)

// difference is where our reader differs from protojson on purpose.
type difference struct {
	why     string
	applies func(body []byte, ours *wire.Error) bool // ours is nil when we accept what they refuse
}

// differences are all of them. Two more are not about what is accepted: the objects of Postrider's own, named postrider,
// which Google's messages do not have; and an empty updateMask, which to us is an absent one (see canonical).
var differences = []difference{
	{
		why: "What stands in the path of a request is no field of its body in the REST API, though it is one in protobuf.",
		applies: func(_ []byte, ours *wire.Error) bool {
			return ours != nil && ours.Problem == "unknown field" && (ours.Path == "topic" || ours.Path == "subscription")
		},
	},
	{
		why: "Settings of Google's cloud that are refused later, by name, are any object to us.",
		applies: func(body []byte, ours *wire.Error) bool {
			return ours == nil && holds(body, func(name string, _ any) bool { return anyObject[name] })
		},
	},
	{
		why: "Paths of an updateMask may be in snake_case, as in the gRPC API; protojson takes lowerCamelCase alone.",
		applies: func(body []byte, ours *wire.Error) bool {
			return ours == nil && holds(body, func(name string, value any) bool {
				mask, _ := value.(string)
				return (name == "updateMask" || name == "update_mask") && strings.Contains(mask, "_")
			})
		},
	},
	{
		why: "An enum's number that has no name is refused: there is nothing that it could mean here.",
		applies: func(body []byte, ours *wire.Error) bool {
			return ours != nil && strings.HasPrefix(ours.Problem, "expected one of ") && holds(body, func(name string, value any) bool {
				_, number := value.(float64)
				return number && (name == "state" || name == "encoding")
			})
		},
	},
	{
		why: "protojson takes a number with an e and nothing behind it, which is no JSON.",
		applies: func(body []byte, ours *wire.Error) bool {
			return ours != nil && exponentWithoutDigits.Match(body)
		},
	},
}

var exponentWithoutDigits = regexp.MustCompile(`[0-9][eE][-+]?[^-+0-9]`)

// anyObject are the fields that to us are any object, in both spellings.
var anyObject = map[string]bool{
	"bigqueryConfig": true, "bigquery_config": true,
	"bigtableConfig": true, "bigtable_config": true,
	"cloudStorageConfig": true, "cloud_storage_config": true,
	"messageTransforms": true, "message_transforms": true,
	"ingestionDataSourceSettings": true, "ingestion_data_source_settings": true,
}

// holds tells whether a body has a field, however deep, that matches.
func holds(body []byte, matches func(name string, value any) bool) bool {
	var tree any
	if json.Unmarshal(body, &tree) != nil {
		return false
	}
	var search func(any) bool
	search = func(tree any) bool {
		switch tree := tree.(type) {
		case map[string]any:
			for name, value := range tree {
				if matches(name, value) || search(value) {
					return true
				}
			}
		case []any:
			return slices.ContainsFunc(tree, search)
		}
		return false
	}
	return search(tree)
}

// intended tells whether one of the differences explains that one side accepts a body and the other does not.
func intended(body []byte, ours *wire.Error) bool {
	for _, d := range differences {
		if d.applies(body, ours) {
			return true
		}
	}
	return false
}

// inPath tells whether a field of a protobuf request stands in the path of the REST request.
func inPath(message, field string) bool {
	return strings.HasSuffix(message, "Request") && !strings.HasPrefix(message, "Update") &&
		(field == "topic" || field == "subscription")
}

// canonical takes an empty updateMask away.
func canonical(m proto.Message) proto.Message {
	switch m := m.(type) {
	case *pubsubpb.UpdateTopicRequest:
		if len(m.GetUpdateMask().GetPaths()) == 0 {
			m.UpdateMask = nil
		}
	case *pubsubpb.UpdateSubscriptionRequest:
		if len(m.GetUpdateMask().GetPaths()) == 0 {
			m.UpdateMask = nil
		}
	}
	return m
}

func nameInTag(tag string) string {
	name, _, _ := strings.Cut(tag, ",")
	return name
}
