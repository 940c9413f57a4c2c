package metrics

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each alert asks for what is exported, has a test, and has a paragraph on what to do.
func TestAlertsAreWhole(t *testing.T) {
	t.Parallel()
	rules, tests, manual := read(t, "../../../deploy/prometheus/alerts.yml"), read(t, "../../../deploy/prometheus/alerts_test.yml"), read(t, "../../../docs/operations.md")
	exported := scrape(t, everything(t, 0))
	for _, m := range regexp.MustCompile(`postrider_\w+`).FindAllString(rules, -1) {
		if !strings.Contains(exported, "\n"+m+"{") && !strings.Contains(exported, "\n"+m+" ") {
			t.Errorf("the alerts ask for %s, which is not exported", m)
		}
	}
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	if len(alerts) < 7 {
		t.Fatalf("there are %d alerts", len(alerts))
	}
	for _, a := range alerts {
		name := a[1]
		if !strings.Contains(rules, "runbook: docs/operations.md#"+strings.ToLower(name)+"\n") {
			t.Errorf("%s names no runbook", name)
		}
		if !strings.Contains(manual, "\n### "+name+"\n\n") {
			t.Errorf("docs/operations.md says nothing of %s", name)
		}
		if !strings.Contains(tests, "- alertname: "+name+"\n") {
			t.Errorf("%s has no test", name)
		}
	}
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool(t, "", "test", "rules", filepath.FromSlash("../../../deploy/prometheus/alerts_test.yml"))
	promtool(t, "", "check", "rules", filepath.FromSlash("../../../deploy/prometheus/alerts.yml"))
}

// promtool runs Prometheus's own tool.
func promtool(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("NOT CHECKED: promtool is missing; scripts/need promtool installs it")
	}
	c := exec.CommandContext(t.Context(), program, args...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
