package web

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// sparkWidth and sparkHeight are a sparkline's size in its own units.
const sparkWidth, sparkHeight = 64, 18

// spark draws how a number has gone as a line without axes, small enough for a row of a table. It is our own: the library that
// draws the charts writes style attributes, which the Content-Security-Policy forbids in a page, and hundreds of pictures of
// their own would be as many requests.
func spark(values []int64) template.HTML {
	if len(values) < 2 {
		return ""
	}
	top := max(1, slices.Max(values))
	var points strings.Builder
	for i, v := range values {
		x := float64(i) * sparkWidth / float64(len(values)-1)
		y := 1 + (sparkHeight-2)*(1-float64(max(0, v))/float64(top))
		fmt.Fprintf(&points, "%.1f,%.1f ", x, y)
	}
	first, last := values[0], values[len(values)-1]
	return template.HTML(fmt.Sprintf(`<svg class="spark" viewBox="0 0 %d %d" role="img" aria-label="from %s to %s, at most %s">`+
		`<polyline points="%s"/></svg>`,
		sparkWidth, sparkHeight, count(first), count(last), count(slices.Max(values)), strings.TrimSpace(points.String())))
}
