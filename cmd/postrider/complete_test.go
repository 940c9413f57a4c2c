package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// completed is what a shell would offer for the last of these words.
func (c commandLine) completed(words ...string) string {
	c.Helper()
	status, out, _ := c.try("", append([]string{"__complete"}, words...)...)
	if status != 0 {
		c.Errorf("completing %q: exit status %d", words, status)
	}
	return out
}

func TestCompletionKnowsTheServer(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	c.run("topics", "create", "invoices")
	c.run("topics", "create", "alien", "--project", "other")
	c.run("subscriptions", "create", "billing", "--topic", "orders")
	c.run("snapshots", "create", "before", "--subscription", "billing")
	const noFiles = ":4\n"
	for args, want := range map[string]string{
		"topics get ":                       "invoices\norders\n" + noFiles,
		"topics get o":                      "orders\n" + noFiles,
		"topics get orders ":                noFiles,
		"topics get --project other ":       "alien\n" + noFiles,
		"topics get projects/other/topics/": "projects/other/topics/alien\n" + noFiles,
		"topics get projects/":              "projects/demo/topics/invoices\nprojects/demo/topics/orders\n" + noFiles,
		"topics create ":                    noFiles,
		"topics list ":                      noFiles,
		"publish ":                          "invoices\norders\n" + noFiles,
		"pull b":                            "billing\tof orders\n" + noFiles,
		"seek billing --snapshot ":          "before\tof orders\n" + noFiles,
		"subscriptions create x --topic ":   "invoices\norders\n" + noFiles,
		"subscriptions update billing --dead-letter-topic i": "invoices\n" + noFiles,
		"tail ":          "invoices\norders\nbilling\tof orders\n" + noFiles,
		"topics get -o ": "table\njson\nyaml\n" + noFiles,
		"backup ":        ":0\n",
	} {
		if got := c.completed(strings.Split(args, " ")...); got != want {
			t.Errorf("%s<TAB>:\n%s\nwant\n%s", args, got, want)
		}
	}
}

// Without a server, or with one that does not answer, completion is quick and quiet.
func TestCompletionWithoutAServer(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, c := range map[string]commandLine{
		"silent":   client(t, silent.Addr().String()),
		"none":     client(t, "127.0.0.1:1"),
		"no URL":   {t, []string{"POSTRIDER_SERVER=ftp://x"}},
		"misspelt": {t, []string{"POSTRIDER_PROJEKT=x"}},
	} {
		began := time.Now()
		if got := c.completed("topics", "get", ""); got != ":4\n" || time.Since(began) > patience/2 {
			t.Errorf("%s: %q after %v", name, got, time.Since(began))
		}
	}
}

// The scripts are the shells' business; that bash's leads to us is shown by bash itself.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	c := client(t, startApp(t, nil).Addr())
	c.run("topics", "create", "orders")
	for _, shell := range []string{"zsh", "fish", "powershell"} {
		if got := c.run("completion", shell); !strings.Contains(got, "__complete") {
			t.Errorf("%s: no completion", shell)
		}
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "completion.bash")
	if err := os.WriteFile(script, []byte(c.run("completion", "bash")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(absolute(t, os.Args[0]), filepath.Join(dir, "postrider")); err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("bash", "--norc", "-c", `source "$1"
		_get_comp_words_by_ref() { cur=or prev=get words=(postrider topics get or) cword=3; } # of the package bash-completion
		compopt() { :; } # works only while somebody types
		__start_postrider
		echo "offered: ${COMPREPLY[*]}"`, "bash", script)
	shell.Env = append(append(os.Environ(), c.environ...), asProgram+"=1", "PATH="+dir+":"+os.Getenv("PATH"))
	in, err := shell.StdinPipe() // for endWithParent
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := shell.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "offered: orders" {
		t.Errorf("%v: %s", err, out)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// help lists every command under a heading.
func TestHelpIsGrouped(t *testing.T) {
	t.Parallel()
	c := commandLine{T: t}
	if got := c.run("help"); strings.Contains(got, "Additional Commands") || !strings.Contains(got, "Messages of a running server:") {
		t.Error(got)
	}
}
