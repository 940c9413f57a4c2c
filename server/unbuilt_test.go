package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A field that is not built yet is refused by name, at creation, in a change that names it, and nowhere else.
func TestUnbuiltFieldsOfATopic(t *testing.T) {
	t.Parallel()
	s := newREST(t).withTopic()
	for field, value := range map[string]string{
		"schemaSettings":              `{"schema": "projects/p/schemas/s", "encoding": "JSON"}`,
		"kmsKeyName":                  `"k"`,
		"messageStoragePolicy":        `{"allowedPersistenceRegions": ["europe-west1"]}`,
		"ingestionDataSourceSettings": `{"awsKinesis": {}}`,
		"messageTransforms":           `[{"javascriptUdf": {}}]`,
	} {
		body := fields{field: json.RawMessage(value)}
		s.do("PUT p/topics/other", encode(body)).fails(http.StatusNotImplemented, "UNIMPLEMENTED", field+":")
		s.do("PATCH "+topicPath, encode(fields{"topic": body, "updateMask": field})).fails(http.StatusNotImplemented, "UNIMPLEMENTED", field+":")
		s.do("PATCH "+topicPath, encode(fields{"topic": body, "updateMask": "labels"})).ok()
		s.do("PATCH "+topicPath, encode(fields{"updateMask": field})).ok()
	}
	s.do("GET p/topics/other").fails(http.StatusNotFound, "NOT_FOUND")
	s.do("PUT p/topics/other", `{"kmsKeyName": "", "messageStoragePolicy": {}, "ingestionDataSourceSettings": { }, "messageTransforms": [],
		"schemaSettings": null}`).ok()
	s.do("PUT p/topics/transit", `{"messageStoragePolicy": {"enforceInTransit": true}}`).fails(http.StatusNotImplemented, "UNIMPLEMENTED")
}

func TestUnbuiltFieldsOfASubscription(t *testing.T) {
	t.Parallel()
	s := newREST(t).withSubscription("{}")
	for field, value := range map[string]string{
		"bigqueryConfig":     `{"table": "a.b.c"}`,
		"bigtableConfig":     `{"table": "x"}`,
		"cloudStorageConfig": `{"bucket": "x"}`,
		"messageTransforms":  `[{}]`,
	} {
		settings := fmt.Sprintf(`{"%s": %s}`, field, value)
		if outer, inner, nested := strings.Cut(field, "."); nested {
			settings = fmt.Sprintf(`{"%s": {"pushEndpoint": "https://example.com", "%s": %s}}`, outer, inner, value)
		}
		s.subscribe("other", settings).fails(http.StatusNotImplemented, "UNIMPLEMENTED", field+":")
		outer, _, _ := strings.Cut(field, ".")
		for _, mask := range []string{field, outer} {
			s.do("PATCH "+subPath, fmt.Sprintf(`{"subscription": %s, "updateMask": "%s"}`, settings, mask)).
				fails(http.StatusNotImplemented, "UNIMPLEMENTED", field+":")
		}
		s.do("PATCH "+subPath, fmt.Sprintf(`{"subscription": %s, "updateMask": "labels"}`, settings)).ok()
		s.do("PATCH "+subPath, fmt.Sprintf(`{"updateMask": "%s"}`, field)).ok()
	}
	if got := s.do("GET " + subPath).ok()["pushConfig"]; got != nil {
		t.Errorf("what was refused had an effect: pushConfig is %v", got)
	}
	s.subscribe("defaults", `{"filter": "", "enableMessageOrdering": false, "enableExactlyOnceDelivery": false,
		"bigqueryConfig": {}, "bigtableConfig": null, "cloudStorageConfig": {}, "messageTransforms": []}`).ok()
}

// Methods of Pub/Sub that are not served yet are known by name; others are not found.
func TestUnservedMethods(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	for request, method := range map[string]string{
		"POST p/schemas?schemaId=s":           "CreateSchema",
		"GET p/schemas?view=FULL":             "ListSchemas",
		"GET p/schemas/s@rev":                 "GetSchema",
		"DELETE p/schemas/s":                  "DeleteSchema",
		"POST p/schemas/s:commit":             "CommitSchema",
		"POST p/schemas/s:rollback":           "RollbackSchema",
		"DELETE p/schemas/s@1:deleteRevision": "DeleteSchemaRevision",
		"GET p/schemas/s:listRevisions":       "ListSchemaRevisions",
		"POST p/schemas:validate":             "ValidateSchema",
		"POST p/schemas:validateMessage":      "ValidateMessage",
	} {
		s.do(request, `{"whatever": 1}`).fails(http.StatusNotImplemented, "UNIMPLEMENTED", method+":")
	}
	for _, request := range []string{
		"POST p/topics/top:bogus", "POST p/topics/a:b:publish", "POST p/topics:publish", "GET p", "GET p/topics/", "GET p/topics/top/",
		"GET p/topics/top/messages", "GET p//topics", "GET /", "GET /v1", "GET /v2/projects/p/topics", "POST p/subscriptions/sub:seek/",
		"GET p/../p/topics", "GET /V1/projects/p/topics", "DELETE p/topics/top:publish/x",
	} {
		s.do(request, "{}").fails(http.StatusNotFound, "NOT_FOUND")
	}
	for _, request := range []string{"GET p/topics/top:publish", "BREW p/topics/top:publish", "PUT p/topics/top:publish", "GET p/subscriptions/sub:pull", "DELETE p/subscriptions/sub:detach"} {
		s.do(request, "{}").fails(http.StatusMethodNotAllowed, "UNIMPLEMENTED", "but POST")
	}
}
