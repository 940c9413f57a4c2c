package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"postrider/subscriptions"
)

// findings are what surveys shared, by UID.
type findings struct {
	shared map[string]sharedFinding
	seq    int64 // of the last one that was shared
}

type sharedFinding struct {
	seq int64
	subscriptions.Finding
}

// Survey implements subscriptions.Surveys.
func (s *Store) Survey(_ context.Context, topic string, uids []string) (v subscriptions.Survey, err error) {
	s.begin()
	defer s.end()
	t := s.slots[topic]
	if t == nil || t.unused() {
		t = &slot{}
	} else {
		v.Topic = s.keepPoint(&t.history, subscriptions.Counts{Log: int64(len(t.log.entries)), Delayed: int64(len(t.delayed))}, t)
	}
	for _, uid := range uids {
		found := subscriptions.SurveyedSubscription{UID: uid}
		if st := t.states[uid]; st != nil {
			found.Points = s.keepPoint(&st.history, subscriptions.Counts{Stats: st.stats(s.now)}, t)
			found.Breaker = s.keptBreaker(st)
			found.Push = s.keptReport(st)
			found.Push.Errors = found.Push.Errors[:min(len(found.Push.Errors), 1)]
			found.Blocked = st.blockedKeys()
		}
		v.Subscriptions = append(v.Subscriptions, found)
	}
	return v, nil
}

// keepPoint puts counts to a history and returns it. The last point is replaced if it is of the same minute, but two stay.
func (s *Store) keepPoint(history *[]subscriptions.Counts, c subscriptions.Counts, t *slot) []subscriptions.Counts {
	points := *history
	c.At = time.UnixMilli(s.now).UTC()
	c.Published, c.PublishedBytes = t.log.end.n, t.log.end.bytes
	if n := len(points); n > 0 && points[n-1].At.After(c.At) {
		c.At = points[n-1].At
	}
	if n := len(points); n > 1 && points[n-1].At.Unix()/60 == c.At.Unix()/60 {
		points[n-1] = c
	} else {
		points = append(points, c)
	}
	for len(points) > 1 && !points[1].At.After(c.At.Add(-subscriptions.HistoryLength)) {
		points = points[1:]
	}
	*history = points
	return slices.Clone(points)
}

// Share implements subscriptions.Surveys.
func (s *Store) Share(_ context.Context, found []subscriptions.Finding) error {
	s.begin()
	defer s.end()
	for _, f := range found {
		known, ok := s.findings.shared[f.UID]
		if ok && lastPoint(known.Finding).After(lastPoint(f)) {
			continue
		}
		s.findings.seq++
		s.findings.shared[f.UID] = sharedFinding{s.findings.seq, clone(f)}
	}
	return nil
}

func lastPoint(f subscriptions.Finding) time.Time { return f.Points[len(f.Points)-1].At }

// Findings implements subscriptions.Surveys.
func (s *Store) Findings(_ context.Context, position string) (page subscriptions.Findings, err error) {
	s.begin()
	defer s.end()
	life, seq, _ := strings.Cut(position, ".")
	from, err := strconv.ParseInt(seq, 10, 64)
	if page.Lost = err != nil || life != s.feed.life || from > s.findings.seq; page.Lost {
		from = 0
	}
	for _, f := range s.findings.shared {
		if f.seq > from {
			page.Found = append(page.Found, clone(f.Finding))
		}
	}
	page.Now = time.UnixMilli(s.now).UTC()
	page.Position = fmt.Sprintf("%s.%d", s.feed.life, s.findings.seq)
	return page, nil
}

// Forget implements subscriptions.Surveys.
func (s *Store) Forget(_ context.Context, uids []string) error {
	s.begin()
	defer s.end()
	for _, uid := range uids {
		delete(s.findings.shared, uid)
	}
	return nil
}

// Report implements subscriptions.Surveys.
func (s *Store) Report(context.Context) (subscriptions.StoreReport, error) {
	return subscriptions.StoreReport{Kind: "memory"}, nil
}
