package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/cli.md shows files that can be applied, and commands that there are, with their flags.
func TestCommandLineDocsAreTrue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(repository, "docs/cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, startApp(t, nil).Addr())
	files, commands := 0, 0
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		switch m[1] {
		case "yaml":
			files++
			if status, out, errors := c.try(m[2], "apply", "-f", "-"); status != 0 || errors != "" {
				t.Errorf("a file of docs/cli.md: exit status %d, %s%s", status, out, errors)
			}
		case "sh":
			for _, call := range regexp.MustCompile(`postrider [a-z][^|>)#\n]*`).FindAllString(m[2], -1) {
				commands++
				checkCall(t, call)
			}
		default:
			t.Errorf("nothing checks this block of docs/cli.md:\n%s", m[0])
		}
	}
	if files == 0 || commands == 0 {
		t.Errorf("%d files, %d commands", files, commands)
	}
}

// checkCall parses a call as the program would, and does not run it.
func checkCall(t *testing.T, call string) {
	t.Helper()
	words := shellWords(call)[1:]
	root := newRoot(process{})
	root.InitDefaultCompletionCmd(words...)
	c, rest, err := root.Find(words)
	if err == nil && c == root {
		t.Errorf("%s: there is no such command", call)
		return
	}
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil {
		err = c.ValidateArgs(c.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s: %v", call, err)
	}
}

// shellWords are the words of a command as a shell would have them, so far as examples go.
func shellWords(command string) (words []string) {
	for _, word := range regexp.MustCompile(`'[^']*'|"[^"]*"|(?:\$\([^)]*\)|\S)+`).FindAllString(command, -1) {
		if quote := word[:1]; strings.Contains(`'"`, quote) {
			word = strings.Trim(word, quote)
		}
		words = append(words, word)
	}
	return words
}

// The examples in the help are commands that there are, with their flags.
func TestExamplesInHelpAreTrue(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`(?m)^  (?:[a-z]+ \| )?(postrider (?:'[^']*'|"[^"]*"|[^|>#\n])*)`)
	for _, c := range everyCommand(newRoot(process{})) {
		for _, m := range call.FindAllStringSubmatch(strings.ReplaceAll(c.Example, "\\\n", ""), -1) {
			checkCall(t, m[1])
		}
	}
}
