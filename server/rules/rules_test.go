package rules_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"postrider/server/rules"
	"postrider/subscriptions"
)

func TestMasked(t *testing.T) {
	t.Parallel()
	about := rules.Masked([]string{"pushConfig.oidcToken", "retryPolicy"})
	for path, want := range map[string]bool{
		"pushConfig": true, "pushConfig.oidcToken": true, "pushConfig.attributes": false,
		"retryPolicy": true, "retryPolicy.minimumBackoff": true, "retryPolicyX": false, "labels": false,
	} {
		if about(path) != want {
			t.Errorf("about %s: %v", path, !want)
		}
	}
}

func TestUnbuiltIsRefusedWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	set := rules.UnbuiltOfSubscription{BigqueryConfig: true}
	for mask, field := range map[string]string{"bigqueryConfig": "bigqueryConfig:", "labels": ""} {
		err := set.Refuse(rules.Masked([]string{mask}))
		switch {
		case field == "" && err != nil:
			t.Errorf("%s: %v", mask, err)
		case field != "" && (subscriptions.CodeOf(err) != subscriptions.Unimplemented || !strings.Contains(err.Error(), field)):
			t.Errorf("%s: %v", mask, err)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	ours := subscriptions.Errorf(subscriptions.NotFound, "x")
	for _, c := range []struct {
		ctx  context.Context
		err  error
		code subscriptions.Code
	}{
		{t.Context(), ours, subscriptions.NotFound},
		{gone, errors.Join(errors.New("y"), ours), subscriptions.NotFound},
		{t.Context(), errors.New("secret"), subscriptions.Internal},
		{gone, errors.New("secret"), subscriptions.Canceled},
	} {
		if e := rules.Explain(c.ctx, c.err); e.Code != c.code || strings.Contains(e.Message, "secret") {
			t.Errorf("%v: %s %s", c.err, e.Code, e.Message)
		}
	}
}

func TestLegible(t *testing.T) {
	t.Parallel()
	if got := rules.Legible("a\xffb"); got != "a\uFFFDb" {
		t.Errorf("%q", got)
	}
	if got := rules.Legible(strings.Repeat("x", 1<<20)); len(got) > 2100 {
		t.Errorf("%d bytes", len(got))
	}
}

// A duration of 0 that was given is not one that was left out.
func TestGivenDurations(t *testing.T) {
	t.Parallel()
	zero, day := time.Duration(0), 24*time.Hour
	for _, c := range []struct {
		what    string
		call    func() (time.Duration, error)
		want    time.Duration
		refused bool
	}{
		{"no retention", func() (time.Duration, error) { return rules.Retention(nil) }, 0, false},
		{"a retention", func() (time.Duration, error) { return rules.Retention(&day) }, day, false},
		{"a retention of 0", func() (time.Duration, error) { return rules.Retention(&zero) }, 0, true},
		{"no expiration policy", func() (time.Duration, error) { return rules.Expiration(false, nil) }, subscriptions.ServerExpiration, false},
		{"one without ttl", func() (time.Duration, error) { return rules.Expiration(true, nil) }, 0, false},
		{"one of a day", func() (time.Duration, error) { return rules.Expiration(true, &day) }, day, false},
		{"one of 0", func() (time.Duration, error) { return rules.Expiration(true, &zero) }, 0, true},
	} {
		got, err := c.call()
		if got != c.want || (subscriptions.CodeOf(err) == subscriptions.InvalidArgument) != c.refused {
			t.Errorf("%s: %v, %v", c.what, got, err)
		}
	}
}
