package bench

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Report is what a bench found.
type Report struct {
	Rows []Row
	// Runs is how many runs were finished, of how many.
	Runs, Of int
	// Redis is its version, empty if it is not known.
	Redis string
}

// Write prints the table. Rows without figures are left out, and so are columns that say the same in every row.
func (r Report) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "fsync\twhat\tserver\tfloor\tthe floor is\tratio\tof the runs\ttarget\tholds")
	for _, row := range r.Rows {
		if len(row.Pairs) > 0 {
			fmt.Fprintln(t, strings.Join(row.cells(), "\t"))
		}
	}
	return t.Flush()
}

// cells are a line of the table.
func (r Row) cells() []string {
	middle, least, most := r.Compared()
	medians, by := r.Medians(), r.Target.by
	cells := []string{r.Fsync, r.Name, r.Unit.format(medians.Server), "-", "-", "-", "-", r.Target.text(), r.Target.holds(middle)}
	if cells[0] == "" {
		cells[0] = "-"
	}
	if !math.IsNaN(middle) {
		cells[3], cells[4] = r.Unit.format(medians.Floor), r.Floor
		cells[5], cells[6] = by.format(middle), by.format(least)+" to "+by.format(most)
	}
	return cells
}

// format writes a figure with its unit, to about three digits.
func (u Unit) format(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case u == PerSecond:
		return grouped(int64(math.Round(v))) + string(u)
	}
	decimals := 2
	if v >= 100 {
		decimals = 0
	} else if v >= 10 {
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64) + " " + string(u)
}

// grouped writes a number in groups of three digits.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
