package subscriptions

import "time"

const (
	// rateWindow is what a rate is taken over, as near as the points allow.
	rateWindow = time.Minute
	// activeGap is the longest time between the points of two minutes in which
	// something happened all the time.
	activeGap = 2 * time.Minute
	// rateLag is how long ago the last point may be while things still happen.
	rateLag = 3 * surveyEvery
)

// rate is how fast a counter rises, a second, at a time not before the last of
// the points. Between points that lie further apart than two of one minute and
// the next nothing happened but just before the later one.
func rate(points []Counts, now time.Time, counter func(Counts) int64) float64 {
	last := len(points) - 1
	if now.Sub(points[last].At) < rateLag {
		now = points[last].At
	}
	base := last
	for base > 0 && now.Sub(points[base].At) < rateWindow*5/6 {
		base--
	}
	if base == last || now.Sub(points[base].At) < time.Second {
		return 0
	}
	from := points[base].At
	if points[base+1].At.Sub(from) > activeGap {
		from = now.Add(-rateWindow)
	}
	rise := counter(points[last]) - counter(points[base])
	return max(0, float64(rise)/now.Sub(from).Seconds())
}

// came counts what was published and not passed over, left what was settled.
func came(c Counts) int64 { return c.Published - c.Stats.Filtered }
func left(c Counts) int64 { return c.Stats.Acked + c.Stats.DeadLettered }

// buried counts the messages that became dead letters in the last BuriedWindow.
// What happened between two points that lie far apart happened just before the
// later one. Fewer points than findings have are all there are: what the first
// one counts is new, too.
func buried(points []Counts, now time.Time) (n int64) {
	before := int64(0)
	if len(points) >= findingPoints {
		before = points[0].Stats.DeadLettered
	}
	for _, c := range points {
		if now.Sub(c.At) < BuriedWindow {
			n += max(0, c.Stats.DeadLettered-before)
		}
		before = c.Stats.DeadLettered
	}
	return n
}

// drains is when a backlog will be empty.
func drains(backlog int64, in, out float64) time.Duration {
	switch seconds := float64(backlog) / (out - in); {
	case backlog == 0:
		return 0
	case out <= in || seconds > (1000*24*time.Hour).Seconds():
		return -1
	default:
		return time.Duration(seconds * float64(time.Second))
	}
}

// history makes points of counts, and fills minutes in which nothing happened.
func history(counts []Counts) []Point {
	var points []Point
	for i, c := range counts {
		p := Point{
			At: c.At, Undelivered: c.Stats.Undelivered, Outstanding: c.Stats.Outstanding, Dead: c.Stats.Dead,
			Parked: c.Stats.Parked, Bytes: c.Stats.Bytes, OldestAge: c.Stats.OldestAge,
		}
		if i > 0 {
			before := counts[i-1]
			points = fillHistory(points, before, c.At)
			p.since(before, c, c.At.Sub(points[len(points)-1].At))
		}
		points = append(points, p)
	}
	return points
}

// fillHistory adds a point a minute after before, in which nothing changes but
// ages, up to the minute before that of next.
func fillHistory(points []Point, before Counts, next time.Time) []Point {
	same := points[len(points)-1]
	for at := before.At.Add(time.Minute); next.Sub(at) >= time.Minute; at = at.Add(time.Minute) {
		p := Point{
			At: at, Undelivered: same.Undelivered, Outstanding: same.Outstanding, Dead: same.Dead,
			Parked: same.Parked, Bytes: same.Bytes, OldestAge: aged(before.Stats, at.Sub(before.At)),
		}
		points = append(points, p)
	}
	return points
}

// since counts what happened between two counts, in so much time.
func (p *Point) since(before, now Counts, d time.Duration) {
	p.Acked = now.Stats.Acked - before.Stats.Acked
	p.Nacked = now.Stats.Nacked - before.Stats.Nacked
	p.Expired = now.Stats.Expired - before.Stats.Expired
	p.Dropped = now.Stats.Dropped - before.Stats.Dropped
	p.DeadLettered = now.Stats.DeadLettered - before.Stats.DeadLettered
	p.Filtered = now.Stats.Filtered - before.Stats.Filtered
	if seconds := d.Seconds(); seconds > 0 {
		p.In = max(0, float64(came(now)-came(before))/seconds)
		p.Out = max(0, float64(left(now)-left(before))/seconds)
	}
}

// aged is the age of the oldest message some time after it was counted.
func aged(s Stats, later time.Duration) time.Duration {
	if s.Backlog() == 0 {
		return 0
	}
	return s.OldestAge + max(0, later)
}
