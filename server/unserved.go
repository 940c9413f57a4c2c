package server

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"postrider/server/rules"
)

// unserved are the methods of Pub/Sub that this server does not have yet. A caller is told so by name: NOT_FOUND would read as
// if the resource were missing.
var unserved = []struct{ verb, path, method string }{
	{"GET", "/schemas", "ListSchemas"},
	{"POST", "/schemas", "CreateSchema"},
	{"POST", "/schemas:validate", "ValidateSchema"},
	{"POST", "/schemas:validateMessage", "ValidateMessage"},
	{"GET", "/schemas/{schema}", "GetSchema"},
	{"DELETE", "/schemas/{schema}", "DeleteSchema"},
	{"POST", "/schemas/{schema}:commit", "CommitSchema"},
	{"POST", "/schemas/{schema}:rollback", "RollbackSchema"},
	{"DELETE", "/schemas/{schema}:deleteRevision", "DeleteSchemaRevision"},
	{"GET", "/schemas/{schema}:listRevisions", "ListSchemaRevisions"},
}

// routeUnserved answers the methods that are not served yet.
func (h *handler) routeUnserved(r chi.Router) {
	route := func(verb, path, method string) {
		r.MethodFunc(verb, "/v1/projects/{project}"+path, func(w http.ResponseWriter, r *http.Request) {
			h.fail(w, r, rules.UnservedMethod(method))
		})
	}
	for _, u := range unserved {
		route(u.verb, u.path, u.method)
	}
}
