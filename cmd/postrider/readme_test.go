package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

const repository = "../.."

// block is a fenced block of the README.
type block struct{ language, text string }

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// readme is the README, and the fenced blocks of one of its sections.
func readme(t *testing.T, section string) (whole string, blocks []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "\n## "+section+"\n")
	part, _, _ = strings.Cut(part, "\n## ")
	for _, m := range fence.FindAllStringSubmatch(part, -1) {
		blocks = append(blocks, block{m[1], m[2]})
	}
	if !found || len(blocks) == 0 {
		t.Fatalf("README.md has no section %q with blocks", section)
	}
	return string(text), blocks
}

// TestReadmeIsTrue does what the README says, in its order: bash blocks are run, those that start a server or an endpoint as
// processes of their own on free ports, all others in one shell. A json or text block is what the one before it prints.
func TestReadmeIsTrue(t *testing.T) {
	t.Parallel()
	_, blocks := readme(t, "Try it by hand")
	shell := startShell(t)
	var moved replacer // addresses in the README to those in this test
	var printed string
	var endpoint *program
	for _, b := range blocks {
		text := moved.replace(b.text)
		switch {
		case b.language == "bash" && strings.TrimSpace(text) == "go run ./cmd/postrider serve":
			_, addr := startServer(t)
			moved = append(moved, "127.0.0.1:8085", addr)
		case b.language == "bash" && strings.TrimSpace(text) == "go run ./cmd/postrider receive":
			endpoint = startProgram(t, nil, "receive", "--listen", "127.0.0.1:0")
			moved = append(moved, "127.0.0.1:9000", awaitEndpoint(t, endpoint))
		case b.language == "bash":
			printed = shell.run(text)
		case b.language == "json":
			compareJSON(t, text, printed)
		case b.language == "text":
			eventually(t, func() error {
				if got := endpoint.output.String(); withoutIDs(got) != withoutIDs(text) {
					return fmt.Errorf("the endpoint printed\n%s\nnot\n%s", got, text)
				}
				return nil
			})
		default:
			t.Errorf("nothing checks this block of %s:\n%s", b.language, b.text)
		}
	}
}

// The other commands of the README have tests of their own: the demonstration's, and this one is part of scripts/test.
func TestReadmeNamesTheTwoCommands(t *testing.T) {
	t.Parallel()
	_, blocks := readme(t, "See it work")
	if len(blocks) != 2 || blocks[0].text != "go run ./cmd/postrider demo\n" || blocks[1].text != "scripts/test\n" {
		t.Errorf("the section has %q", blocks)
	}
}

func TestReadmeListsEverySetting(t *testing.T) {
	t.Parallel()
	whole, _ := readme(t, "See it work")
	serverFlags(new(Config)).VisitAll(func(f *pflag.Flag) {
		row := fmt.Sprintf("| `--%s` | `%s` |", f.Name, variableName(f.Name))
		_, rest, found := strings.Cut(whole, row)
		if f.Name == "config" {
			return // named in the text above the table
		}
		rest, _, _ = strings.Cut(rest, "\n")
		if !found || f.DefValue != "" && f.DefValue != "[]" && !strings.Contains(rest, "`"+f.DefValue+"`") {
			t.Errorf("the table lacks %s with the default %q", row, f.DefValue)
		}
	})
}

var link = regexp.MustCompile(`\]\(([^)#:]+)\)`)

func TestReadmeLinksToWhatIsThere(t *testing.T) {
	t.Parallel()
	whole, _ := readme(t, "See it work")
	for _, m := range link.FindAllStringSubmatch(whole, -1) {
		if _, err := os.Stat(filepath.Join(repository, m[1])); err != nil {
			t.Error(err)
		}
	}
}

func awaitEndpoint(t *testing.T, p *program) (addr string) {
	t.Helper()
	eventually(t, func() error {
		_, rest, found := strings.Cut(p.output.String(), "http://")
		if !found {
			return errNotYet
		}
		addr = strings.TrimSpace(rest)
		return nil
	})
	return addr
}

// replacer are pairs of texts: old, new.
type replacer []string

func (r replacer) replace(s string) string { return strings.NewReplacer(r...).Replace(s) }

// messageID is what differs from run to run in text.
var messageID = regexp.MustCompile(`\d{13}-\d+`)

func withoutIDs(s string) string { return messageID.ReplaceAllString(s, "ID") }

// shell is one bash, in which blocks are run one after the other.
type shell struct {
	*testing.T
	in  io.Writer
	out *bufio.Reader
}

func startShell(t *testing.T) *shell {
	t.Helper()
	cmd := exec.Command("bash", "-eu")
	cmd.Dir = t.TempDir()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &shell{t, in, bufio.NewReader(out)}
}

// run runs a block and returns what it printed.
func (s *shell) run(script string) string {
	s.Helper()
	const mark = "\x00end\n"
	if _, err := fmt.Fprintf(s.in, "%s\nprintf '\\000end\\n'\n", script); err != nil {
		s.Fatal(err)
	}
	var printed strings.Builder
	for !strings.HasSuffix(printed.String(), mark) {
		line, err := s.out.ReadString('\n')
		printed.WriteString(line)
		if err != nil {
			s.Fatalf("bash ended with %s", printed.String())
		}
	}
	return strings.TrimSuffix(printed.String(), mark)
}

// compareJSON compares objects that stand one after the other.
func compareJSON(t *testing.T, want, got string) {
	t.Helper()
	wanted, gotten := documents(t, want), documents(t, got)
	if !reflect.DeepEqual(wanted, gotten) {
		t.Errorf("got\n%s\nnot\n%s", got, want)
	}
}

// documents are the objects of a text, without the values that differ from run to run.
func documents(t *testing.T, text string) []any {
	t.Helper()
	var all []any
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		all = append(all, mask(v))
	}
}

// mask puts the length of a list, or the fact that there is something, in place of ids and times.
func mask(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			switch key {
			case "messageIds":
				v[key] = len(value.([]any))
			case "messageId", "ackId", "publishTime":
				v[key] = value != ""
			default:
				v[key] = mask(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = mask(v[i])
		}
	}
	return v
}
