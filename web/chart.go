package web

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/go-analyze/charts"

	"postrider/subscriptions"
)

// A chart is a picture of its own, one for light and one for dark: so the style attributes that the library writes are under a
// Content-Security-Policy of their own, and a page's can be without any.
const chartPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

const chartWidth, chartHeight = 560, 190

// chartEvery is how often the address of a chart changes on a live page.
const chartEvery = 15 * time.Second

// graph is what a chart shows of a subscription's past.
type graph struct {
	Name, Title string
	lines       []graphLine
	// unit is what the axis counts in when the top is so high, and its name.
	unit func(top float64) (one float64, name string)
	// whole says that it counts things, of which an axis shows no parts.
	whole bool
}

// graphLine is a line of a chart.
type graphLine struct {
	name  string
	value func(subscriptions.Point) float64
}

var graphs = []graph{
	{"backlog", "Backlog", []graphLine{
		{"not acknowledged", func(p subscriptions.Point) float64 { return float64(p.Undelivered + p.Outstanding) }},
	}, thousands, true},
	{"rates", "Messages a second", []graphLine{
		{"in", func(p subscriptions.Point) float64 { return p.In }},
		{"out", func(p subscriptions.Point) float64 { return p.Out }},
	}, thousands, false},
	{"oldest", "Age of the oldest message", []graphLine{
		{"oldest", func(p subscriptions.Point) float64 { return p.OldestAge.Seconds() }},
	}, timeUnit, false},
}

func thousands(top float64) (float64, string) {
	switch {
	case top >= 2e6:
		return 1e6, "M"
	case top >= 2e4:
		return 1e3, "k"
	}
	return 1, ""
}

func timeUnit(top float64) (float64, string) {
	for _, u := range []struct {
		one  time.Duration
		name string
	}{{24 * time.Hour, " d"}, {time.Hour, " h"}, {time.Minute, " min"}} {
		if top >= 2*u.one.Seconds() {
			return u.one.Seconds(), u.name
		}
	}
	return 1, " s"
}

// text is a value of the graph in its unit.
func (g graph) text(v, top float64) string {
	one, name := g.unit(top)
	return strconv.FormatFloat(math.Round(v/one*10)/10, 'f', -1, 64) + name
}

// top is the highest value there is.
func (g graph) top(points []subscriptions.Point) (top float64) {
	for _, l := range g.lines {
		for _, p := range points {
			top = max(top, l.value(p))
		}
	}
	return top
}

// palette are the colours of the style sheet, as the library wants them.
func palette(dark bool) charts.ColorPalette {
	muted, line := charts.ColorFromHex("#56616f"), charts.ColorFromHex("#d8dde4")
	series := []charts.Color{charts.ColorFromHex("#164ea6"), charts.ColorFromHex("#b45f06")}
	if dark {
		muted, line = charts.ColorFromHex("#9faab8"), charts.ColorFromHex("#323c48")
		series = []charts.Color{charts.ColorFromHex("#8db9ff"), charts.ColorFromHex("#f3bf6b")}
	}
	return charts.MakeTheme(charts.ThemeOption{
		IsDarkMode: dark, AxisStrokeColor: line, AxisSplitLineColor: line, BackgroundColor: charts.ColorTransparent,
		TextColor: muted, SeriesColors: series,
	})
}

// draw makes the picture.
func (g graph) draw(points []subscriptions.Point, dark bool) ([]byte, error) {
	const slots = int(subscriptions.HistoryLength/time.Minute) + 1
	values := make([][]float64, len(g.lines))
	names := make([]string, len(g.lines))
	top := g.top(points)
	one, unit := g.unit(top)
	for i, l := range g.lines {
		names[i], values[i] = l.name, make([]float64, slots)
		for s := range values[i] {
			values[i][s] = charts.GetNullValue()
		}
		for _, p := range points {
			past := points[len(points)-1].At.Sub(p.At)
			if slot := slots - 1 - int(math.Round(past.Minutes())); slot >= 0 {
				values[i][slot] = l.value(p) / one
			}
		}
	}
	labels := make([]string, slots)
	for i := range labels {
		labels[i] = strconv.Itoa(slots-1-i) + " min"
	}
	labels[slots-1] = "now"
	font := charts.FontStyle{FontSize: 11}
	o := charts.NewLineChartOptionWithData(values)
	o.Theme, o.Padding = palette(dark), charts.NewBox(4, 10, 16, 2)
	o.Symbol, o.LineStrokeWidth = charts.Symbol{Shape: charts.SymbolNone}, 1.8
	o.XAxis.Labels, o.XAxis.LabelCount, o.XAxis.LabelFontStyle = labels, 5, font
	o.XAxis.BoundaryGap = charts.Ptr(false)
	o.YAxis = []charts.YAxisOption{{Min: charts.Ptr(0.0), LabelFontStyle: font,
		ValueFormatter: func(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) + unit },
	}}
	if top == 0 || g.whole && top < 3 {
		o.YAxis[0].Max = charts.Ptr(3.0) // a line at the bottom, and not an axis without numbers
	}
	o.Legend.SeriesNames, o.Legend.FontStyle = names, font
	o.Legend.Show = charts.Ptr(len(names) > 1)
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: chartWidth, Height: chartHeight})
	if err := p.LineChart(o); err != nil {
		return nil, err
	}
	return p.Bytes()
}

// figure is a chart in a page.
type figure struct {
	Title, Light, Dark, Alternative string
	Width, Height                   int
}

// figures are the charts of a subscription, as of now.
func figures(name subscriptions.SubscriptionName, points []subscriptions.Point) (all []figure) {
	if len(points) < 2 {
		return nil // a chart of one point says nothing
	}
	last := points[len(points)-1]
	version := "?at=" + strconv.FormatInt(last.At.Unix()/int64(chartEvery/time.Second), 10)
	for _, g := range graphs {
		f := figure{Title: g.Title, Width: chartWidth, Height: chartHeight}
		path := subscriptionPath(name) + "/charts/" + g.Name
		f.Light, f.Dark = path+"/light.svg"+version, path+"/dark.svg"+version
		for i, l := range g.lines {
			if i > 0 {
				f.Alternative += ", "
			}
			f.Alternative += l.name + " now " + g.text(l.value(last), g.top(points))
		}
		f.Alternative += "; at most " + g.text(g.top(points), g.top(points)) + " in the last hour"
		all = append(all, f)
	}
	return all
}

// chart hands out a picture.
func (s *Site) chart(w http.ResponseWriter, r *http.Request) {
	name := subscriptions.SubscriptionName{Project: r.PathValue("project"), ID: r.PathValue("subscription")}
	for _, g := range graphs {
		if g.Name != r.PathValue("graph") {
			continue
		}
		points, err := s.backend.History(r.Context(), name)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		picture, err := g.draw(points, r.PathValue("scheme") == "dark.svg")
		if err != nil {
			s.fail(w, r, err)
			return
		}
		w.Header().Set("Content-Security-Policy", chartPolicy)
		w.Header().Set("Content-Type", "image/svg+xml")
		s.write(w, r, picture)
		return
	}
	s.fail(w, r, subscriptions.Errorf(subscriptions.NotFound, "there is no such chart"))
}
