package pusher

import "time"

const (
	// firstWindow is how many pushes may be out before anything is known of an
	// endpoint, and as few as slow answers alone lead to.
	firstWindow = 10
	// steepWindow is up to where the window doubles; beyond it grows by one at a
	// time.
	steepWindow = 3000
	// minWindow is as few as refusals lead to.
	minWindow = 4
	// slowAnswer is the mean time of answers beyond which an endpoint is taken to
	// be overloaded.
	slowAnswer = time.Second
	// roundMost bounds the answers that are judged together.
	roundMost = 100
	// sureWindow is up to where it need not pay to grow: a smaller window would
	// only make leases smaller, too. Beyond it a doubling must have made the
	// pushes this much faster.
	sureWindow = 100
	payingGain = 1.25
)

// window is how many pushes of a subscription may be out, by how its endpoint
// does. Answers are judged by the round, which is as many as the window, 100 at
// most:
//
//   - 99 % accepted, within a second on average, and the window made use of: it
//     grows by the number of the answers, which doubles it as often as it is
//     filled; above 3,000 by one;
//   - too slow: it halves;
//   - refusals: it shrinks by half their share, and by one less, as DCTCP does
//     (RFC 8257). So an endpoint that always refuses a few keeps a window, of 2
//     for all divided by those, where halving would take it to the least.
//
// What began before it last shrank has had its say. And it does not grow to no
// end: where twice the pushes at once brought no more of them to their end, the
// endpoint, or this server, is at work on as many as it can, and more would only
// wait there. So a fast endpoint is not made to keep 3,000 connections.
type window struct {
	size   int
	shrunk time.Time
	climb  climb

	answers, refused int // of this round
	took             time.Duration
	used             int // the most that were out
}

// climb tells whether growth pays, by how many pushes end in a second.
type climb struct {
	count int // ends since then
	since time.Time
	rate  float64 // a fading mean
	size  int     // the window that the next doubling is compared with
	then  float64 // the rate then
}

func newWindow() window { return window{size: firstWindow} }

// uses notes how many pushes are out.
func (w *window) uses(out int) { w.used = max(w.used, out) }

// observe judges one more answer.
func (w *window) observe(began time.Time, took time.Duration, ok bool) {
	if !began.After(w.shrunk) {
		return
	}
	w.answers++
	w.took += took
	if !ok {
		w.refused++
	}
	w.climb.end(w.size)
	if w.answers < min(w.size, roundMost) {
		return
	}
	switch {
	case w.refused*100 > w.answers:
		w.shrink(max(minWindow, w.size-(w.size*w.refused+w.answers)/(2*w.answers)+1))
	case w.took > slowAnswer*time.Duration(w.answers):
		w.shrink(max(firstWindow, w.size/2))
	case w.used < w.size*3/4:
		// It was not what held anything back.
	case !w.climb.pays(w.size):
	case w.size < steepWindow:
		w.size = min(w.size+w.answers-w.refused, steepWindow, w.climb.most())
		w.climb.restart()
	default:
		w.size++
	}
	w.answers, w.refused, w.took, w.used = 0, 0, 0, 0
}

// shrink never grows: a window can be below firstWindow for refusals.
func (w *window) shrink(to int) {
	w.size = min(w.size, to)
	w.shrunk = time.Now()
	w.climb = climb{size: w.size}
}

// end counts a push that ended, while the window is so large.
func (c *climb) end(size int) {
	now := time.Now()
	if c.since.IsZero() {
		c.since = now
	}
	c.count++
	took := now.Sub(c.since)
	if c.count < size || took <= 0 {
		return
	}
	rate := float64(c.count) / took.Seconds()
	if c.rate == 0 {
		c.rate = rate
	}
	c.rate += (rate - c.rate) / 4
	c.count, c.since = 0, now
}

// pays tells whether a window of this size may grow.
func (c *climb) pays(size int) bool {
	if size < c.most() {
		return true
	}
	if c.rate == 0 || c.rate < c.then*payingGain {
		return false
	}
	c.size, c.then = size, c.rate
	return true
}

// restart measures anew, for a window that has changed.
func (c *climb) restart() { c.count, c.since, c.rate = 0, time.Time{}, 0 }

// most is up to where it may grow before that must have paid.
func (c *climb) most() int { return 2 * max(c.size, sureWindow/2) }
