package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"postrider/cmd/postrider/declared"
	"postrider/server"
	"postrider/server/api"
	"postrider/storage/memory"
	"postrider/subscriptions"
)

// access is how resources of a kind are reached at a server, by a project and an id.
type access struct {
	get, remove func(*api.Client, context.Context, string, string, ...api.RequestEditorFn) (*http.Response, error)
	create      func(_ *api.Client, _ context.Context, project, id, contentType string, body io.Reader, _ ...api.RequestEditorFn) (*http.Response, error)
	update      func(_ *api.Client, _ context.Context, project, id string, body io.Reader) (*http.Response, error)
}

const jsonType = "application/json"

var accesses = map[declared.Kind]access{
	declared.Topic: {
		get: (*api.Client).GetTopic, remove: (*api.Client).DeleteTopic, create: (*api.Client).CreateTopicWithBody,
		update: func(c *api.Client, ctx context.Context, project, id string, body io.Reader) (*http.Response, error) {
			return c.UpdateTopicWithBody(ctx, project, id, nil, jsonType, body)
		},
	},
	declared.Subscription: {
		get: (*api.Client).GetSubscription, remove: (*api.Client).DeleteSubscription, create: (*api.Client).CreateSubscriptionWithBody,
		update: func(c *api.Client, ctx context.Context, project, id string, body io.Reader) (*http.Response, error) {
			return c.UpdateSubscriptionWithBody(ctx, project, id, nil, jsonType, body)
		},
	},
}

// at is a resource's place at a server.
type at struct {
	access
	*api.Client
	kind        declared.Kind
	project, id string
}

// locate finds the place of a resource at a server by its full name.
func locate(c *api.Client, kind declared.Kind, name string) (at, error) {
	a := at{access: accesses[kind], Client: c, kind: kind}
	var err error
	if kind == declared.Topic {
		var n subscriptions.TopicName
		n, err = subscriptions.ParseTopicName("name", name)
		a.project, a.id = n.Project, n.ID
	} else {
		var n subscriptions.SubscriptionName
		n, err = subscriptions.ParseSubscriptionName("name", name)
		a.project, a.id = n.Project, n.ID
	}
	return a, refusal(err)
}

// read is the resource there, and whether there is one.
func (a at) read(ctx context.Context) (r declared.Resource, there bool, err error) {
	answer, err := call[json.RawMessage](a.get(a.Client, ctx, a.project, a.id))
	if notThere(err) {
		return r, false, nil
	}
	if err == nil {
		r, err = declared.FromServer(a.kind, answer)
	}
	return r, true, err
}

func notThere(err error) bool { return answered(err, subscriptions.NotFound) }

func alreadyThere(err error) bool { return answered(err, subscriptions.AlreadyExists) }

// answered tells whether a server answered with this code.
func answered(err error, code subscriptions.Code) bool {
	var e serverError
	return errors.As(err, &e) && e.Status == string(code)
}

// put creates a resource with these fields, and answers what the server made of them.
func (a at) put(ctx context.Context, fields declared.Fields) (declared.Resource, error) {
	return a.answered(a.create(a.Client, ctx, a.project, a.id, jsonType, bytes.NewReader(fields.JSON())))
}

// change sets the fields of the mask.
func (a at) change(ctx context.Context, fields declared.Fields, mask string) (declared.Resource, error) {
	body := declared.Fields{string(a.kind): map[string]any(fields), "updateMask": mask}
	return a.answered(a.update(a.Client, ctx, a.project, a.id, bytes.NewReader(body.JSON())))
}

func (a at) answered(resp *http.Response, err error) (declared.Resource, error) {
	answer, err := call[json.RawMessage](resp, err)
	if err != nil {
		return declared.Resource{}, err
	}
	return declared.FromServer(a.kind, answer)
}

// drop deletes it.
func (a at) drop(ctx context.Context) error {
	_, err := call[api.Empty](a.remove(a.Client, ctx, a.project, a.id))
	return err
}

// rehearsal is a server in this process, with nothing but memory. What is to be done to the real one is done to a copy there
// first: so it is known which defaults are filled in, what is refused and with which words, what cannot be changed, and what
// a change changes in the end, without any of these rules being written again.
//
// It does not know the settings of the real one: where pushes may go, and which client certificates there are.
type rehearsal struct {
	*api.Client
	secrets standIns
}

func newRehearsal() (*rehearsal, error) {
	service := subscriptions.NewService(memory.New(memory.Options{}), subscriptions.Options{ClientCertificates: anyCertificate{}})
	client, err := api.NewClient(defaultServer, api.WithHTTPClient(inProcess{server.New(service, server.Options{})}))
	return &rehearsal{client, newStandIns()}, err
}

type anyCertificate struct{}

func (anyCertificate) Has(string) bool { return true }

// put creates a resource there.
func (r *rehearsal) put(ctx context.Context, a at, fields declared.Fields) (declared.Resource, error) {
	answer, err := a.put(ctx, r.secrets.replace(fields))
	return r.secrets.restore(answer), err
}

// change changes a resource there.
func (r *rehearsal) change(ctx context.Context, a at, fields declared.Fields, mask string) (declared.Resource, error) {
	answer, err := a.change(ctx, r.secrets.replace(fields), mask)
	return r.secrets.restore(answer), err
}

// standIns are secrets that stand for those in the rehearsal that only the real server knows.
type standIns struct {
	secrets      map[string]subscriptions.WebhookSecret // by the fingerprint of the real one
	fingerprints map[string]string                      // of the real one, by that of the stand-in
}

func newStandIns() standIns {
	return standIns{map[string]subscriptions.WebhookSecret{}, map[string]string{}}
}

// know makes stand-ins for the secrets that the real server has for a subscription.
func (s standIns) know(r declared.Resource) {
	for _, secret := range webhookSecrets(r.Fields) {
		if fingerprint, _ := secret["fingerprint"].(string); fingerprint != "" {
			key := sha256.Sum256([]byte(fingerprint))
			standIn := subscriptions.WebhookSecret("whsec_" + base64.StdEncoding.EncodeToString(key[:]))
			s.secrets[fingerprint], s.fingerprints[standIn.Fingerprint()] = standIn, fingerprint
		}
	}
}

// replace puts stand-ins in the places of fingerprints.
func (s standIns) replace(fields declared.Fields) declared.Fields {
	fields = fields.Clone()
	for _, secret := range webhookSecrets(fields) {
		fingerprint, _ := secret["fingerprint"].(string)
		if standIn, known := s.secrets[fingerprint]; known && secret["secret"] == nil {
			delete(secret, "fingerprint")
			secret["secret"] = string(standIn)
		}
	}
	return fields
}

// restore puts the fingerprints back.
func (s standIns) restore(r declared.Resource) declared.Resource {
	for _, secret := range webhookSecrets(r.Fields) {
		shown, _ := secret["fingerprint"].(string)
		if fingerprint, standsIn := s.fingerprints[shown]; standsIn {
			secret["fingerprint"] = fingerprint
		}
	}
	return r
}

// webhookSecrets are the secrets of a subscription, to be changed in place.
func webhookSecrets(f declared.Fields) (secrets []map[string]any) {
	extensions, _ := f["postrider"].(map[string]any)
	list, _ := extensions["webhookSecrets"].([]any)
	for _, item := range list {
		if secret, ok := item.(map[string]any); ok {
			secrets = append(secrets, secret)
		}
	}
	return secrets
}

// inProcess carries requests to a handler without a network.
type inProcess struct{ http.Handler }

// Do implements what the generated client sends requests by.
func (h inProcess) Do(r *http.Request) (*http.Response, error) {
	w := &answerBuffer{header: http.Header{}, status: http.StatusOK}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	h.ServeHTTP(w, r)
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Header: w.header, Body: io.NopCloser(&w.body), Request: r,
	}, nil
}

// answerBuffer keeps an answer.
type answerBuffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answerBuffer) Header() http.Header         { return w.header }
func (w *answerBuffer) WriteHeader(status int)      { w.status = status }
func (w *answerBuffer) Write(b []byte) (int, error) { return w.body.Write(b) }
