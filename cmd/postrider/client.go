package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/subscriptions"
)

// session is what a client command works with.
type session struct {
	*api.Client
	project string
	print   printer
}

// clientFlags are the flags that all client commands share.
type clientFlags struct {
	server, project string
	caFile          string
	output          string
}

const (
	defaultServer  = "http://127.0.0.1:8085"
	defaultProject = "demo"
)

// clientCommand makes c a command against a running server: do gets a session.
func clientCommand(p process, c *cobra.Command, do func(ctx context.Context, s *session, args []string) error) *cobra.Command {
	return clientCommandIn(p, c, []string{outputTable, outputJSON, outputYAML}, do)
}

// clientCommandIn is clientCommand with its own formats, the first of them the default.
func clientCommandIn(p process, c *cobra.Command, formats []string, do func(context.Context, *session, []string) error) *cobra.Command {
	var flags clientFlags
	c.Flags().SortFlags = false
	c.Flags().StringVar(&flags.server, "server", "",
		"`URL` of the server (else $POSTRIDER_SERVER or $PUBSUB_EMULATOR_HOST, else "+defaultServer+")")
	c.Flags().StringVar(&flags.project, "project", "",
		"`ID` of the project (else $POSTRIDER_PROJECT or $PUBSUB_PROJECT_ID, else "+defaultProject+")")
	c.Flags().StringVar(&flags.caFile, "ca-file", "",
		"PEM `FILE` of certificates to trust for https beside the machine's (else $POSTRIDER_CA_FILE)")
	bindOutput(c, &flags.output, formats...)
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := newSession(p, flags)
		if err != nil {
			return err
		}
		return do(c.Context(), s, args)
	}
	return c
}

func newSession(p process, flags clientFlags) (*session, error) {
	if err := checkEnvironment(p.environ); err != nil {
		return nil, err
	}
	address := cmp.Or(flags.server, p.getenv("POSTRIDER_SERVER"), p.getenv("PUBSUB_EMULATOR_HOST"), defaultServer)
	server, err := serverURL(address)
	if err != nil {
		return nil, err
	}
	transport, err := clientTransport(cmp.Or(flags.caFile, p.getenv("POSTRIDER_CA_FILE")))
	if err != nil {
		return nil, err
	}
	client, err := api.NewClient(server, api.WithHTTPClient(transport))
	if err != nil {
		return nil, err
	}
	project := cmp.Or(flags.project, p.getenv("POSTRIDER_PROJECT"), p.getenv("PUBSUB_PROJECT_ID"), defaultProject)
	if err := subscriptions.ValidateProject(project); err != nil {
		return nil, refusal(err)
	}
	return &session{Client: client, project: project, print: printer{p.out, flags.output}}, nil
}

// serverURL completes what may be only HOST:PORT, as PUBSUB_EMULATOR_HOST is.
func serverURL(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", usagef("the server's address is not a URL such as %s", defaultServer)
	}
	return address, nil
}

// clientTransport trusts the machine's certificates, and those of a file if there is one.
func clientTransport(caFile string) (*http.Client, error) {
	if caFile == "" {
		return http.DefaultClient, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, usagef("--ca-file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a machine may have none
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, usagef("--ca-file: there is no certificate in %s", caFile)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &http.Client{Transport: transport}, nil
}

// getenv is the value of a variable, "" when it is not set.
func (p process) getenv(name string) string {
	for _, entry := range p.environ {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			return text
		}
	}
	return ""
}

// topic completes the id of a topic, which may also be given by its full name.
func (s *session) topic(arg string) (subscriptions.TopicName, error) {
	if strings.Contains(arg, "/") {
		name, err := subscriptions.ParseTopicName("topic", arg)
		return name, refusal(err)
	}
	name := subscriptions.TopicName{Project: s.project, ID: arg}
	return name, refusal(name.Validate())
}

// subscription is topic for a subscription.
func (s *session) subscription(arg string) (subscriptions.SubscriptionName, error) {
	if strings.Contains(arg, "/") {
		name, err := subscriptions.ParseSubscriptionName("subscription", arg)
		return name, refusal(err)
	}
	name := subscriptions.SubscriptionName{Project: s.project, ID: arg}
	return name, refusal(name.Validate())
}

// snapshot is topic for a snapshot.
func (s *session) snapshot(arg string) (subscriptions.SnapshotName, error) {
	if strings.Contains(arg, "/") {
		name, err := subscriptions.ParseSnapshotName("snapshot", arg)
		return name, refusal(err)
	}
	name := subscriptions.SnapshotName{Project: s.project, ID: arg}
	return name, refusal(name.Validate())
}

// refusal makes a usage error of one of the domain's own errors about an argument.
func refusal(err error) error {
	var e *subscriptions.Error
	if errors.As(err, &e) {
		return usageError{errors.New(e.Message)}
	}
	return err
}

// serverError is an error that the server answered. Failures says of each ack id that had no effect why, when that is what
// the error is about.
type serverError struct {
	Status, Message string
	Failures        map[string]string
}

func (e serverError) Error() string {
	text := e.Status + ": " + e.Message
	for _, id := range slices.Sorted(maps.Keys(e.Failures)) {
		text += "\n  " + id + ": " + e.Failures[id]
	}
	return text
}

// failures reads which ack ids had no effect off the details of an error.
func failures(details []api.ErrorDetail) map[string]string {
	for _, detail := range details {
		var info struct {
			Reason   string
			Metadata map[string]string
		}
		if json.Unmarshal(detail, &info) == nil && info.Reason == subscriptions.AckIDFailureReason {
			return info.Metadata
		}
	}
	return nil
}

// call reads the answer of a request that the generated client made.
func call[T any](resp *http.Response, err error) (T, error) {
	var answer T
	if err != nil {
		return answer, unreachable(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer, fmt.Errorf("read the answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		var e api.Error
		if json.Unmarshal(body, &e) != nil || e.Error.Status == "" {
			return answer, fmt.Errorf("%s answered %s, and not as Postrider does", resp.Request.URL.Host, resp.Status)
		}
		return answer, serverError{e.Error.Status, e.Error.Message, failures(e.Error.Details)}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("%s answered what is not Pub/Sub's JSON: %w", resp.Request.URL.Host, err)
	}
	return answer, nil
}

// unreachable says which server did not answer.
func unreachable(err error) error {
	var e *url.Error
	if !errors.As(err, &e) {
		return err
	}
	host := e.URL
	if u, parseErr := url.Parse(e.URL); parseErr == nil {
		host = u.Scheme + "://" + u.Host
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return fmt.Errorf("%s is not trusted (--ca-file names certificates to trust): %w", host, e.Err)
	}
	return fmt.Errorf("cannot reach %s (is \"postrider serve\" running there?): %w", host, e.Err)
}

// everyPage reads a list to its end.
func everyPage[T any](fetch func(token string) (page []T, next string, err error)) ([]T, error) {
	var all []T
	for token := ""; ; {
		page, next, err := fetch(token)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		token = next
	}
}

// printDone prints that something was done that has no answer but an empty one.
func (s *session) printDone(what string, empty api.Empty, err error) error {
	if err != nil {
		return err
	}
	return s.print.result(empty, func() error { return s.print.line("%s", what) })
}
