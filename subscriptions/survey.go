package subscriptions

import (
	"context"
	"time"
)

// Surveys count what topics and subscriptions hold, keep an hour of that, and
// tell every server what one of them found.
type Surveys interface {
	// Survey counts what a topic and some of its subscriptions hold, by their
	// UIDs, and keeps the counts as those of this minute, in place of earlier ones
	// of it. The answer is what is kept of each, in the order of uids. What has no
	// state, or has none any more, has no points. At most MaxSurvey uids.
	Survey(ctx context.Context, topic string, uids []string) (Survey, error)
	// Share tells the other servers. What is older than what they know has no
	// effect.
	Share(ctx context.Context, found []Finding) error
	// Findings returns what was shared since a position, in any order.
	Findings(ctx context.Context, position string) (Findings, error)
	// Forget takes back what was shared of these UIDs.
	Forget(ctx context.Context, uids []string) error
	// Report says how the store is.
	Report(context.Context) (StoreReport, error)
}

// MaxSurvey bounds a Survey.
const MaxSurvey = 50

// Counts are what a topic or a subscription held at a moment of the store's
// time.
type Counts struct {
	At time.Time
	// Published and PublishedBytes count what was ever published to the topic.
	Published, PublishedBytes int64
	// Log is how many messages the topic's log has; 0 for a subscription.
	Log int64
	// Delayed is how many messages of the topic are not due yet; 0 for a
	// subscription.
	Delayed int64
	// Stats are zero for a topic.
	Stats Stats
}

// Survey is what a survey found. Points are one a minute in which there was a
// survey, oldest first, of the last HistoryLength and the one before that; the
// last is now.
type Survey struct {
	Topic         []Counts
	Subscriptions []SurveyedSubscription
}

// SurveyedSubscription is a subscription in a Survey.
type SurveyedSubscription struct {
	UID    string
	Points []Counts
	// These are as of the last point.
	Breaker Breaker
	// Push is what the owner said last of its pushes, while that is kept, with the
	// newest refusal alone.
	Push    PushReport
	Blocked BlockedKeys
}

// MaxSurveyedKeys bounds BlockedKeys.Keys.
const MaxSurveyedKeys = 20

// BlockedKeys sums up which ordering keys are blocked: see Block. A head that has
// vanished may still count.
type BlockedKeys struct {
	// Keys is how many there are, up to MaxSurveyedKeys; More tells that there may
	// be others.
	Keys int
	More bool
	// Since is when the first one became blocked, by the store's clock, and Failed
	// the last attempt of its message that failed.
	Since  time.Time
	Failed Attempt
}

// Finding is what servers tell one another of a topic or a subscription.
type Finding struct {
	UID string
	// Points are the last few, oldest first, at least one.
	Points []Counts
	// Backlog is that at the end of each of the last minutes, oldest first; the
	// last one is of the minute of the last point. Nil for a topic.
	Backlog []int64
	// These are of the subscription, as of the last point.
	Breaker Breaker
	Push    PushReport
	Blocked BlockedKeys
}

// last is what is known best.
func (f *Finding) last() Counts { return f.Points[len(f.Points)-1] }

// Findings are what was shared.
type Findings struct {
	Found []Finding
	// Now is the store's time.
	Now time.Time
	// Position is what to ask for next time, at once if there is More.
	Position string
	More     bool
	// Lost means that the position is none of this store's life, and the answer
	// begins with the first of all that is shared: forget what was known.
	Lost bool
}

// findingPoints is how many points rates need: over a minute, however the minutes
// of surveys fall.
const findingPoints = 3

// finding makes what is told of a series; false when there is nothing.
func finding(uid string, points []Counts) (Finding, bool) {
	if len(points) == 0 {
		return Finding{}, false
	}
	return Finding{UID: uid, Points: points[max(0, len(points)-findingPoints):]}, true
}

// minuteBacklogs are the backlogs at the ends of the last RecentPoints minutes
// up to the last point. Where a minute had no survey nothing happened.
func minuteBacklogs(points []Counts) []int64 {
	minute := func(c Counts) int64 { return c.At.Unix() / 60 }
	if len(points) == 0 {
		return nil
	}
	end := minute(points[len(points)-1])
	first := max(minute(points[0]), end-RecentPoints+1)
	backlogs := make([]int64, 0, end-first+1)
	next := 0
	for m := first; m <= end; m++ {
		for next < len(points) && minute(points[next]) <= m {
			next++
		}
		backlogs = append(backlogs, points[max(0, next-1)].Stats.Backlog())
	}
	return backlogs
}

// later are backlogs seen some minutes after their last one, if nothing happened
// since.
func laterBacklogs(backlogs []int64, minutes int64) []int64 {
	if len(backlogs) == 0 {
		return nil
	}
	out := append([]int64{}, backlogs...)
	for range min(max(minutes, 0), RecentPoints) {
		out = append(out, out[len(out)-1])
	}
	return out[max(0, len(out)-RecentPoints):]
}
