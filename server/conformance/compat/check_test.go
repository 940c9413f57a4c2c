package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func loadBoth(t *testing.T) (ours, theirs *description) {
	t.Helper()
	ours, theirs, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

func TestContractAgreesWithGoogle(t *testing.T) {
	ours, theirs := loadBoth(t)
	for _, problem := range disagreements(ours, theirs) {
		t.Error(problem)
	}
	if len(ours.methods) < 17 || len(theirs.methods) < 46 {
		t.Errorf("read only %d methods of ours, %d of theirs", len(ours.methods), len(theirs.methods))
	}
}

func TestReportIsUpToDate(t *testing.T) {
	want := report(loadBoth(t))
	if again := report(loadBoth(t)); !bytes.Equal(want, again) {
		t.Error("two reports of the same descriptions differ")
	}
	root, err := moduleDir("postrider")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/compatibility.md is out of date: run scripts/generate")
	}
}

func TestDisagreementsAreFound(t *testing.T) {
	const path = "/v1/projects/{project}/topics/{topic}"
	cases := []struct {
		change func(ours *description)
		want   string
	}{
		{func(d *description) { d.add(&method{verb: "POST", path: path + ":bogus"}) }, "no such method"},
		{func(d *description) { d.add(&method{verb: "GET", path: path, request: "Topic", response: "Topic"}) }, `takes "Topic"`},
		{func(d *description) { d.add(&method{verb: "GET", path: path, response: "Empty"}) }, `answers "Empty"`},
		{func(d *description) {
			d.add(&method{verb: "GET", path: path, response: "Topic", query: map[string]*schema{"size": {Type: "integer"}}})
		}, "no parameter size"},
		{func(d *description) {
			d.methods["GET /v1/projects/{}/topics"].query["pageSize"] = &schema{Type: "string"}
		}, "pageSize is string"},
		{func(d *description) { d.schemas["Bogus"] = &schema{} }, "no such message"},
		{func(d *description) { d.schemas["Topic"].Properties["bogus"] = &schema{Type: "string"} }, "no such field"},
		{func(d *description) { d.schemas["Topic"].Properties["name"] = &schema{Type: "boolean"} }, "is boolean"},
		{func(d *description) { d.schemas["PullRequest"].Properties["maxMessages"].Format = "int64" }, "int64"},
		{func(d *description) { d.schemas["Topic"].Properties["state"].Enum = []string{"ON"} }, "one of ON"},
		{func(d *description) { d.schemas["Topic"].Properties["state"].ReadOnly = false }, "readOnly"},
		{func(d *description) { d.schemas["Topic"].Properties["labels"].Values.Type = "integer" }, "map of integer"},
		{func(d *description) { d.schemas["PublishRequest"].Properties["messages"].Items.Ref = "#/Topic" }, "array of Topic"},
	}
	for _, c := range cases {
		ours, theirs := loadBoth(t)
		c.change(ours)
		problems := strings.Join(disagreements(ours, theirs), "\n")
		if !strings.Contains(problems, c.want) || strings.Contains(problems, "\n") {
			t.Errorf("want one problem with %q, got %q", c.want, problems)
		}
	}
}

func TestExtensionsAreNoDisagreement(t *testing.T) {
	ours, theirs := loadBoth(t)
	ours.schemas["Topic"].Properties["postrider"] = &schema{Type: "object", Extension: true}
	if problems := disagreements(ours, theirs); len(problems) > 0 {
		t.Error(problems)
	}
}

func (d *description) add(m *method) {
	d.methods[m.key()] = m
}
