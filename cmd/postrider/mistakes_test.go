package main

import (
	"strings"
	"testing"
)

// What is called wrongly says what to do.
func TestMistakesOnTheCommandLine(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"subscriptions create billing":                                          "see postrider subscriptions create --help",
		"subscriptions create billing --topic orders --max-delivery-attempts 7": "--dead-letter-topic",
		"subscriptions modify-push-config billing":                              "see postrider subscriptions modify-push-config --help",
		"subscriptions update b --clear-labels --label a=b":                     "see postrider subscriptions update --help",
		"subscriptions create billing --topik t":                                "see postrider subscriptions create --help",
		"no-such-command":                                                       "see postrider --help",
		"subscriptions create billing --topic t --max-delivery-attempts plenty": "see postrider subscriptions create --help",
	} {
		status, out, errors := commandLine{T: t}.try("", strings.Fields(line)...)
		if status != exitUsage || out != "" || !strings.Contains(errors, says) || strings.Count(errors, "--help") > 1 {
			t.Errorf("%s: exit status %d, %s%s", line, status, out, errors)
		}
	}
}
