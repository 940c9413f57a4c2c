package subscriptions

import (
	"fmt"
	"testing"
	"time"
)

// at makes points of a counter at some seconds.
func at(secondsAndCounts ...int64) []Counts {
	var points []Counts
	for i := 0; i < len(secondsAndCounts); i += 2 {
		points = append(points, Counts{At: time.Unix(secondsAndCounts[i], 0), Published: secondsAndCounts[i+1]})
	}
	return points
}

func TestRate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		points []Counts
		now    int64
		want   float64
	}{
		{"one point", at(0, 100), 10, 0},
		{"as of the last point", at(0, 0, 60, 600), 70, 10},
		{"just begun", at(0, 0, 10, 100), 10, 10},
		{"steady", at(0, 0, 60, 600, 120, 1200), 120, 10},
		{"the window is a minute and what is left of one", at(0, 0, 60, 600, 65, 650), 65, 10},
		{"nothing for long, then a burst", at(0, 0, 3600, 600), 3600, 10},
		{"a while after the burst", at(0, 0, 3600, 600), 3630, 10},
		{"long after the burst", at(0, 0, 3600, 600), 3700, 0},
		{"a counter of another life", at(0, 1000, 60, 10), 60, 0},
		{"at the same moment", at(5, 0, 5, 10), 5, 0},
	} {
		if got := rate(c.points, time.Unix(c.now, 0), came); got != c.want {
			t.Errorf("%s: %v a second, want %v", c.name, got, c.want)
		}
	}
}

func TestDrains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		backlog int64
		in, out float64
		want    time.Duration
	}{
		{0, 5, 0, 0}, {100, 5, 15, 10 * time.Second}, {100, 5, 5, -1}, {100, 6, 5, -1}, {100, 0, 0, -1}, {1 << 60, 0, 0.001, -1},
	} {
		if got := drains(c.backlog, c.in, c.out); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestMinuteBacklogs(t *testing.T) {
	t.Parallel()
	var points []Counts
	for _, p := range [][2]int64{{10, 1}, {50, 2}, {110, 3}, {310, 4}, {315, 5}} {
		points = append(points, Counts{At: time.Unix(p[0], 0), Stats: Stats{Undelivered: p[1]}})
	}
	got := minuteBacklogs(points)
	if text := fmt.Sprint(got); text != "[2 3 3 3 3 5]" {
		t.Error(text)
	}
	if text := fmt.Sprint(laterBacklogs(got, 2)); text != "[2 3 3 3 3 5 5 5]" {
		t.Error(text)
	}
	if n := len(laterBacklogs(got, 500)); n != RecentPoints {
		t.Error(n)
	}
	points[0].At = time.Unix(-7000, 0) // before the hour
	if got := minuteBacklogs(points); len(got) != RecentPoints || got[0] != 1 {
		t.Error(got)
	}
	if minuteBacklogs(nil) != nil || laterBacklogs(nil, 3) != nil {
		t.Error("something came of nothing")
	}
}

func TestBuried(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		points []Counts
		now    int64
		want   int64
	}{
		{"just begun", at(0, 3), 10, 3},
		{"the first minute", at(0, 3, 60, 4), 60, 4},
		{"begun long ago", at(0, 3), 300, 0},
		{"each minute", at(0, 1, 60, 3, 120, 6), 120, 5},
		{"the first for long", at(0, 1, 3600, 4), 3600, 3},
		{"a while ago", at(0, 1, 3600, 4), 3899, 3},
		{"long ago", at(0, 1, 3600, 4), 3900, 0},
		{"only what is new", at(0, 1, 3600, 4, 7200, 5), 7200, 1},
		{"a counter of another life", at(0, 1000, 60, 10, 120, 10), 120, 0},
	} {
		for i := range c.points {
			c.points[i].Stats.DeadLettered = c.points[i].Published
		}
		if got := buried(c.points, time.Unix(c.now, 0)); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
