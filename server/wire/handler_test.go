package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"postrider/server/api"
	"postrider/server/wire"
)

// handlers answers the few methods that the tests below call.
type handlers struct {
	api.StrictServerInterface
}

func (handlers) Publish(_ context.Context, r api.PublishRequestObject) (api.PublishResponseObject, error) {
	return api.Publish200JSONResponse{MessageIDs: []string{string(r.Body.Messages[0].Data) + "<&>"}}, nil
}

func (handlers) ListTopics(_ context.Context, r api.ListTopicsRequestObject) (api.ListTopicsResponseObject, error) {
	return api.ListTopics200JSONResponse{NextPageToken: fmt.Sprint(r.Params.PageSize, r.Params.PageToken)}, nil
}

func (handlers) UpdateTopic(_ context.Context, r api.UpdateTopicRequestObject) (api.UpdateTopicResponseObject, error) {
	return api.UpdateTopic200JSONResponse{Name: string(r.Params.UpdateMask + "|" + r.Body.UpdateMask)}, nil
}

func (handlers) DetachSubscription(_ context.Context, r api.DetachSubscriptionRequestObject) (api.DetachSubscriptionResponseObject, error) {
	return api.DetachSubscription200JSONResponse{}, nil
}

// newHandler wires the generated code as package wire says.
func newHandler() http.Handler {
	plainJSON := func(next api.StrictHandlerFunc, _ string) api.StrictHandlerFunc {
		return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
			response, err := next(ctx, w, r, request)
			if err != nil || !wire.Encodes(response) {
				return response, err
			}
			return nil, wire.WriteJSON(w, http.StatusOK, response)
		}
	}
	fail := func(w http.ResponseWriter, _ *http.Request, err error) {
		status := http.StatusBadRequest
		var tooLarge *http.MaxBytesError
		var ours *wire.Error
		switch {
		case errors.As(err, &tooLarge):
			status = http.StatusRequestEntityTooLarge
		case errors.As(err, &ours):
			err = ours
		}
		w.WriteHeader(status)
		fmt.Fprint(w, err)
	}
	strict := api.NewStrictHandlerWithOptions(handlers{}, []api.StrictMiddlewareFunc{plainJSON},
		api.StrictHTTPServerOptions{RequestErrorHandlerFunc: fail, ResponseErrorHandlerFunc: fail})
	router := api.HandlerWithOptions(strict, api.ChiServerOptions{BaseRouter: chi.NewRouter(), ErrorHandlerFunc: fail})
	return http.MaxBytesHandler(router, 1000)
}

func TestGeneratedServer(t *testing.T) {
	handler := newHandler()
	for _, c := range []struct {
		verb, path, body string
		status           int
		want             string
	}{
		{"POST", "/topics/t:publish", `{"messages":[{"data":"aGk"}]}`, 200, `{"messageIds":["hi<&>"]}`},
		{"POST", "/topics/t:publish", `{"messages":[{"dat":"aGk"}]}`, 400, `invalid JSON at messages[0].dat: unknown field`},
		{"POST", "/topics/t:publish", ``, 400, `EOF`},
		{"POST", "/topics/t:publish", `{"messages":"` + strings.Repeat("a", 1000), 413, "too large"},
		{"GET", "/topics?pageSize=7&pageToken=x&alt=json", ``, 200, `{"nextPageToken":"7x"}`},
		{"GET", "/topics?pageSize=2147483648", ``, 400, `pageSize`},
		{"GET", "/topics?pageSize=x", ``, 400, `pageSize`},
		{"PATCH", "/topics/t?updateMask=a_b,c", `{"updateMask":"d"}`, 200, `{"name":"a_b,c|d"}`},
		{"PATCH", "/topics/t?updateMask=a&updateMask=b", `{}`, 400, `updateMask`},
		{"PATCH", "/topics/t?updateMask=a-b", `{}`, 200, `{"name":"a-b|"}`},
		{"POST", "/subscriptions/s:detach", ``, 200, `{}`},
		{"POST", "/subscriptions/s:detach", `{}`, 200, `{}`},
		{"POST", "/subscriptions/s:detach", `{"a":1}`, 400, `invalid JSON at a: unknown field`},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(c.verb, "/v1/projects/p"+c.path, strings.NewReader(c.body))
		handler.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s %.40s: %d %s, want %d %s", c.verb, c.path, c.body, w.Code, w.Body, c.status, c.want)
		}
	}
}
