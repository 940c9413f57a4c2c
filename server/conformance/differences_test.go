package conformance

import (
	"regexp"
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
			return ours == nil && anyObject.Match(body)
		},
	},
	{
		why: "Paths of an updateMask may be in snake_case, as in the gRPC API; protojson takes lowerCamelCase alone.",
		applies: func(body []byte, ours *wire.Error) bool {
			return ours == nil && maskWithUnderscore.Match(body)
		},
	},
	{
		why: "An enum's number that has no name is refused: there is nothing that it could mean here.",
		applies: func(_ []byte, ours *wire.Error) bool {
			return ours != nil && strings.HasPrefix(ours.Problem, "expected one of ")
		},
	},
	{
		why: "protojson takes a number with an e and nothing behind it, which is no JSON.",
		applies: func(body []byte, ours *wire.Error) bool {
			return ours != nil && exponentWithoutDigits.Match(body)
		},
	},
}

var (
	anyObject = regexp.MustCompile(`(?i)\\u|big_?query_?config|bigtable_?config|cloud_?storage_?config|` +
		`message_?transforms|ingestion_?data_?source_?settings`)
	maskWithUnderscore    = regexp.MustCompile(`(?s)"[^"]*"\s*:\s*"[^"]*(_|\\u)`)
	exponentWithoutDigits = regexp.MustCompile(`[0-9][eE][-+]?[^-+0-9]`)
)

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
