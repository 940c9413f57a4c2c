package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"postrider/server/wire"
)

// The output formats of client commands.
const (
	outputTable = "table"
	outputJSON  = "json"
)

// printer writes results: words and tables for people, or JSON as the server answers it.
type printer struct {
	w    io.Writer
	json bool
}

// result prints a message of the API as JSON, or else what people prints.
func (p printer) result(message any, people func() error) error {
	if !p.json {
		return people()
	}
	b, err := wire.Marshal(message)
	if err != nil {
		return err
	}
	return p.indented(b)
}

// list prints messages as a JSON array, also when there are none, or else a table with a row for each.
func list[T any](p printer, messages []T, header []string, row func(T) []string) error {
	if !p.json {
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
	return p.indented(slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]")))
}

// names is list for plain names.
func (p printer) names(header string, names []string) error {
	if p.json {
		b, err := json.Marshal(append([]string{}, names...)) // never null
		if err != nil {
			return err
		}
		return p.indented(b)
	}
	rows := make([][]string, len(names))
	for i, name := range names {
		rows[i] = []string{name}
	}
	return p.table([]string{header}, rows)
}

func (p printer) indented(b []byte) error {
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err := p.w.Write(out.Bytes())
	return err
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
