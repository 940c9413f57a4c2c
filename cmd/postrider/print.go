package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"postrider/server/wire"
)

// The output formats of commands.
const (
	outputTable = "table"
	outputJSON  = "json"
	outputYAML  = "yaml"
)

// bindOutput adds the flag for the format of what a command prints. The first format is the default.
func bindOutput(c *cobra.Command, format *string, formats ...string) {
	*format = formats[0]
	c.Flags().VarP(&choice{format, formats}, "output", "o",
		"`FORMAT`: "+strings.Join(formats[:len(formats)-1], ", ")+" or "+formats[len(formats)-1])
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// printer writes results: words and tables for people, or for programs JSON as the server answers it, or the same as YAML.
type printer struct {
	w      io.Writer
	format string // people are the default
}

// forPeople tells whether words and tables are wanted.
func (p printer) forPeople() bool { return p.format != outputJSON && p.format != outputYAML }

// result prints a message of the API for programs, or else what people prints. A message is what package wire can write: a
// generated struct, or one of ours with JSON tags.
func (p printer) result(message any, people func() error) error {
	if p.forPeople() {
		return people()
	}
	b, err := wire.Marshal(message)
	if err != nil {
		return err
	}
	return p.encoded(b)
}

// next is result for one of any number of messages that come one after the other: JSON has a line for each, YAML a document.
func (p printer) next(message any, people func() error) error {
	if p.format != outputJSON {
		if p.format == outputYAML {
			if _, err := io.WriteString(p.w, "---\n"); err != nil {
				return err
			}
		}
		return p.result(message, people)
	}
	b, err := wire.Marshal(message)
	if err != nil {
		return err
	}
	_, err = p.w.Write(append(b, '\n'))
	return err
}

// list prints messages as one array for programs, also when there are none, or else a table with a row for each.
func list[T any](p printer, messages []T, header []string, row func(T) []string) error {
	if p.forPeople() {
		rows := make([][]string, len(messages))
		for i, m := range messages {
			rows[i] = row(m)
		}
		return p.table(header, rows)
	}
	parts := make([][]byte, len(messages))
	for i, m := range messages {
		var err error
		if parts[i], err = wire.Marshal(m); err != nil {
			return err
		}
	}
	return p.encoded(slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]")))
}

// names is list for plain names.
func (p printer) names(header string, names []string) error {
	if !p.forPeople() {
		b, err := json.Marshal(append([]string{}, names...)) // never null
		if err != nil {
			return err
		}
		return p.encoded(b)
	}
	rows := make([][]string, len(names))
	for i, name := range names {
		rows[i] = []string{name}
	}
	return p.table([]string{header}, rows)
}

// encoded writes JSON so that people can read it, too.
func (p printer) encoded(b []byte) error {
	var out bytes.Buffer
	if p.format == outputYAML {
		if err := writeYAML(&out, b); err != nil {
			return err
		}
	} else {
		if err := json.Indent(&out, b, "", "  "); err != nil {
			return err
		}
		out.WriteByte('\n')
	}
	_, err := p.w.Write(out.Bytes())
	return err
}

// writeYAML writes JSON as YAML, with the fields in the same order.
func writeYAML(w io.Writer, b []byte) error {
	var document yaml.Node
	if err := yaml.Unmarshal(b, &document); err != nil { // YAML holds all of JSON
		return err
	}
	plain(&document)
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	return errors.Join(encoder.Encode(&document), encoder.Close())
}

// plain takes off the quotes and braces of JSON, where there is something within.
func plain(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode || len(node.Content) > 0 {
		node.Style = 0
	}
	for _, inner := range node.Content {
		plain(inner)
	}
}

func (p printer) table(header []string, rows [][]string) error {
	w := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	for _, row := range slices.Concat([][]string{header}, rows) {
		for i, cell := range row {
			row[i] = printable(cell)
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// fields prints names and values, one a line, leaving out what is empty.
func (p printer) fields(pairs ...string) error {
	w := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", pairs[i], printable(pairs[i+1]))
		}
	}
	return w.Flush()
}

// line prints a line for people.
func (p printer) line(format string, args ...any) error {
	_, err := fmt.Fprintf(p.w, format+"\n", args...)
	return err
}

// printable is text that leaves the terminal as it is, on one line.
func printable(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// payload is a message's data for people: as text where it is text.
func payload(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	return fmt.Sprintf("(%d bytes) %s", len(data), base64.StdEncoding.EncodeToString(data))
}

// mapText is a map for people, sorted.
func mapText(m map[string]string) string {
	pairs := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, k+"="+m[k])
	}
	return strings.Join(pairs, " ")
}
