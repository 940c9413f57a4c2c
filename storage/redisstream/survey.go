package redisstream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"postrider/subscriptions"
)

var (
	surveyScript   = newScript("survey", with(onTopic, "surveyed", "messages", "source", "oldest", "counts", "kept_breaker", "kept_report", "blocked_keys")...)
	shareScript    = newScript("share")
	findingsScript = newScript("findings", "clock")
)

// Survey implements subscriptions.Surveys.
func (s *Store) Survey(ctx context.Context, topic string, uids []string) (v subscriptions.Survey, err error) {
	keys := append(s.keys.topicSlot(topic)[:4:4], s.keys.history(topic, ""), s.keys.delayed(topic)[0])
	for _, uid := range uids {
		keys = append(keys, s.keys.surveyed(topic, uid)...)
	}
	reply, err := s.run(ctx, surveyScript, keys, s.now())
	if err != nil {
		return v, err
	}
	f := fields{name: "survey", rest: reply}
	v.Topic = f.points(false)
	for _, uid := range uids {
		sub := subscriptions.SurveyedSubscription{UID: uid}
		if len(f.rest) > 0 {
			f.surveyed(&sub)
		}
		v.Subscriptions = append(v.Subscriptions, sub)
	}
	return v, f.err
}

// surveyed reads what was found of a subscription.
func (f *fields) surveyed(sub *subscriptions.SurveyedSubscription) {
	sub.Points = f.points(true)
	breaker, report, blocked := f.list(), f.list(), f.list()
	if len(breaker.rest) > 0 {
		sub.Breaker = breaker.breaker()
	}
	if len(report.rest) > 0 {
		sub.Push = report.pushReport()
		sub.Push.Errors = sub.Push.Errors[:min(len(sub.Push.Errors), 1)]
	}
	if len(blocked.rest) > 0 {
		sub.Blocked = blocked.blockedKeys()
	}
	f.err = firstError(f.err, breaker.err, report.err, blocked.err)
}

// blockedKeys reads what blocked_keys.lua sums up.
func (f *fields) blockedKeys() subscriptions.BlockedKeys {
	b := subscriptions.BlockedKeys{Keys: int(f.int()), More: f.int() == 1, Since: f.time()}
	if attempts := f.attempts(); len(attempts) > 0 {
		b.Failed = attempts[0]
	}
	return b
}

// list reads a list in a reply.
func (f *fields) list() *fields {
	v, ok := f.next().([]any)
	if !ok {
		f.fail("holds no list where one was expected")
	}
	return &fields{name: f.name, rest: v}
}

// points reads a history.
func (f *fields) points(ofSubscription bool) []subscriptions.Counts {
	var points []subscriptions.Counts
	for list := f.list(); len(list.rest) > 0; {
		p, err := parsePoint(list.text(), ofSubscription)
		if err = firstError(err, list.err); err != nil && f.err == nil {
			f.err = err
		}
		points = append(points, p)
	}
	return points
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// parsePoint reads a point. What a newer version put behind is left.
func parsePoint(text string, ofSubscription bool) (c subscriptions.Counts, err error) {
	f := fields{name: "history"}
	for _, word := range strings.Fields(text) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return c, fmt.Errorf("redisstream: %q is not a point of a history: %w", text, err)
		}
		f.rest = append(f.rest, n)
	}
	c.At = time.UnixMilli(f.int()).UTC()
	c.Published, c.PublishedBytes, c.Log = f.int(), f.int(), f.int()
	switch {
	case ofSubscription:
		c.Stats = f.stats()
	case len(f.rest) > 0: // earlier points have none
		c.Delayed = f.int()
	}
	return c, f.err
}

// Share implements subscriptions.Surveys.
func (s *Store) Share(ctx context.Context, found []subscriptions.Finding) error {
	return inChunks(found, func(chunk []subscriptions.Finding) error {
		args := []any{rand.Uint32()}
		for _, f := range chunk {
			args = append(args, f.UID, f.Points[len(f.Points)-1].At.UnixMilli(), encodeFinding(f))
		}
		_, err := s.run(ctx, shareScript, s.keys.surveys(), args...)
		return err
	})
}

// Findings implements subscriptions.Surveys. What a newer version wrote is left out.
func (s *Store) Findings(ctx context.Context, position string) (page subscriptions.Findings, err error) {
	life, seq, _ := strings.Cut(position, ".")
	if _, err := strconv.ParseUint(seq, 10, 53); err != nil {
		seq = ""
	}
	reply, err := s.run(ctx, findingsScript, s.keys.surveys(), s.now(), life, seq)
	if err != nil {
		return page, err
	}
	f := fields{name: "findings", rest: reply}
	page.Now = time.UnixMilli(f.int()).UTC()
	page.Lost = f.int() == 1
	page.Position = fmt.Sprintf("%s.%d", f.text(), f.int())
	page.More = f.int() == 1
	for len(f.rest) > 0 {
		if found, ok := decodeFinding(f.text(), f.text()); ok {
			page.Found = append(page.Found, found)
		}
	}
	return page, f.err
}

// Forget implements subscriptions.Surveys.
func (s *Store) Forget(ctx context.Context, uids []string) error {
	keys := s.keys.surveys()
	return inChunks(uids, func(chunk []string) error {
		members := make([]any, len(chunk))
		for i, uid := range chunk {
			members[i] = uid
		}
		if err := s.client.ZRem(ctx, keys[2], members...).Err(); err != nil {
			return failed(ctx, "forget", err)
		}
		return failed(ctx, "forget", s.client.HDel(ctx, keys[1], chunk...).Err())
	})
}
