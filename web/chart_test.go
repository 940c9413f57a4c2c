package web

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

// hour is a past of n minutes.
func hour(n int) (points []subscriptions.Point) {
	for i := range n {
		points = append(points, subscriptions.Point{
			At: now.Add(time.Duration(i-n) * time.Minute), Undelivered: int64(i * 1000), In: float64(i), Out: 3, OldestAge: time.Duration(i) * time.Minute,
		})
	}
	return points
}

func TestChartsAreWholePictures(t *testing.T) {
	for _, g := range graphs {
		for name, points := range map[string][]subscriptions.Point{"an hour": hour(61), "a gap": append(hour(30)[:5], hour(30)[20:]...), "zeros": make([]subscriptions.Point, 3), "too long": hour(500), "few": {{At: now, Undelivered: 1, In: 0.03}}} {
			light, err := g.draw(points, false)
			if err != nil {
				t.Fatalf("%s of %s: %v", g.Name, name, err)
			}
			dark, err := g.draw(points, true)
			if err != nil || bytes.Equal(light, dark) {
				t.Errorf("%s of %s is as light as dark: %v", g.Name, name, err)
			}
			text := pictureText(t, light)
			wants(t, text, "60 min", "now")
			if strings.Contains(text, "NaN") || strings.Contains(text, "00000") {
				t.Errorf("%s of %s has %s", g.Name, name, text)
			}
		}
	}
	wants(t, pictureText(t, must(graphs[1].draw(hour(61), false))), "in", "out")
}

// There is no part of a message.
func TestFewMessagesAreWhole(t *testing.T) {
	for n := range int64(3) {
		text := pictureText(t, must(graphs[0].draw([]subscriptions.Point{{At: now.Add(-time.Minute)}, {At: now, Undelivered: n}}, false)))
		if wants(t, text, "60 min"); strings.Contains(text, ".") {
			t.Errorf("the axis of %d messages has %s", n, text)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// pictureText is the text in a picture, which must be XML.
func pictureText(t *testing.T, picture []byte) string {
	t.Helper()
	var text []string
	for d := xml.NewDecoder(bytes.NewReader(picture)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(text, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := token.(xml.CharData); ok {
			text = append(text, string(c))
		}
	}
}

func TestFiguresSayWhatTheyShow(t *testing.T) {
	all := figures(subscriptionOf("billing"), hour(61))
	if len(all) != 3 || all[0].Alternative != "not acknowledged now 60k; at most 60k in the last hour" {
		t.Errorf("got %+v", all)
	}
	if figures(subscriptionOf("billing"), hour(1)) != nil {
		t.Error("one point has a chart")
	}
}
