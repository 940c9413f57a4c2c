package subscriptions

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// surveyEvery is how often, give or take a fifth, a server surveys the topics
	// that it touched and looks at what others found.
	surveyEvery = 5 * time.Second
	// maxSurveys bounds the steps of a round for topics that were touched, and
	// maxFirstSurveys those for what nobody has surveyed yet: ten a second, since
	// with 10,000 idle subscriptions the sweep alone takes 17 steps a second.
	maxSurveys      = 500
	maxFirstSurveys = 50
	// shareAtOnce is how many findings are shared in one step.
	shareAtOnce = 100
	// lookAge is how old what is known of others' findings may be for an Overview.
	lookAge = time.Second
	// forgetEvery is how often findings about what was deleted are thrown away.
	forgetEvery = 10 * time.Minute
)

// surveyor knows what topics and subscriptions hold, from its own surveys and
// those of other servers. Each server surveys the topics that its steps changed,
// a few seconds later, one step a topic however much has happened there; where
// several servers change one topic, the first to survey it spares the others
// theirs. What nobody touches costs nothing.
type surveyor struct {
	s       *Service
	touched *touched

	looking  sync.Mutex // held by who reads findings
	position string

	mu    sync.Mutex
	found map[string]*Finding // by UID
	whole bool                // all that is shared was read
	// now was the store's time at read on this server's clock, which had been at
	// asked when the question left.
	now         time.Time
	asked, read time.Time

	making sync.Mutex // held by who makes an overview
	made   Overview
	madeAt time.Time

	forgetAt time.Time // run's goroutine only
}

func newSurveyor(s *Service, t *touched) *surveyor {
	y := &surveyor{s: s, touched: t, found: map[string]*Finding{}}
	t.holds = y.holds
	return y
}

// holds tells whether a subscription was last seen with a backlog, or a topic
// with delayed messages.
func (y *surveyor) holds(uid string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	f := y.found[uid]
	return f != nil && (f.last().Stats.Backlog() > 0 || f.last().Delayed > 0)
}

// run surveys until ctx ends. The store being away is no reason to end: what
// could not be surveyed is touched still.
func (y *surveyor) run(ctx context.Context) error {
	y.forgetAt = time.Now().Add(forgetEvery/2 + rand.N(forgetEvery))
	failing := false
	for sleep(ctx, surveyEvery*4/5+rand.N(surveyEvery*2/5), nil) {
		err := y.round(ctx)
		if (err != nil) != failing && ctx.Err() == nil {
			failing = err != nil
			y.s.log.Log(ctx, failLevel(failing), "survey", "failing", failing, "error", err)
		}
	}
	return nil
}

// round looks at what others found, then surveys what they did not.
func (y *surveyor) round(ctx context.Context) error {
	if err := y.look(ctx, 0); err != nil {
		return err
	}
	subs, unknown := y.s.fleet.surveyed(y.unknown)
	budget := maxSurveys
	var tasks []string
	y.touched.take(func(topic string, at time.Time) (taken, more bool) {
		switch age := y.coveredFor(topic, at); {
		case age < 0:
			return true, true
		case age > 0: // the next round will do
			return false, true
		}
		tasks = append(tasks, topic)
		budget -= 1 + len(subs[topic])/MaxSurvey
		return true, budget > 0
	})
	for budget = maxFirstSurveys; budget > 0 && len(unknown) > 0; unknown = unknown[1:] {
		tasks = append(tasks, unknown[0])
		budget -= 1 + len(subs[unknown[0]])/MaxSurvey
	}
	var found []Finding
	for i, topic := range tasks {
		more, err := y.survey(ctx, topic, subs[topic])
		if err != nil {
			for _, topic := range tasks[i:] {
				y.touched.touch(topic)
			}
			return firstError(err, y.share(ctx, found))
		}
		found = append(found, more...)
	}
	if err := y.share(ctx, found); err != nil {
		for _, topic := range tasks {
			y.touched.touch(topic)
		}
		return err
	}
	return y.forget(ctx)
}

// survey counts what a topic and its subscriptions hold.
func (y *surveyor) survey(ctx context.Context, topic string, uids []string) ([]Finding, error) {
	ctx, cancel := step(ctx)
	defer cancel()
	var found []Finding
	for first := true; first || len(uids) > 0; first = false {
		chunk := uids[:min(len(uids), MaxSurvey)]
		uids = uids[len(chunk):]
		v, err := y.s.store.Survey(ctx, topic, chunk)
		if err != nil {
			return nil, err
		}
		if f, ok := finding(topic, v.Topic); ok && first {
			found = append(found, f)
		}
		for _, sub := range v.Subscriptions {
			if f, ok := finding(sub.UID, sub.Points); ok {
				f.Backlog = minuteBacklogs(sub.Points)
				f.Breaker, f.Push, f.Blocked = sub.Breaker, sub.Push, sub.Blocked
				found = append(found, f)
			}
		}
	}
	return found, nil
}

// share tells the other servers, and this one.
func (y *surveyor) share(ctx context.Context, found []Finding) error {
	y.learn(found)
	ctx, cancel := step(ctx)
	defer cancel()
	for len(found) > 0 {
		n := min(len(found), shareAtOnce)
		if err := y.s.store.Share(ctx, found[:n]); err != nil {
			return err
		}
		found = found[n:]
	}
	return nil
}

// learn notes findings that are newer than what is known.
func (y *surveyor) learn(found []Finding) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for i := range found {
		f := &found[i]
		if known := y.found[f.UID]; known == nil || !f.last().At.Before(known.last().At) {
			y.found[f.UID] = f
		}
	}
}

// look reads what others found, unless that was done a short while ago.
func (y *surveyor) look(ctx context.Context, enough time.Duration) error {
	y.looking.Lock()
	defer y.looking.Unlock()
	y.mu.Lock()
	fresh := y.whole && enough > 0 && time.Since(y.read) < enough
	y.mu.Unlock()
	for more := !fresh; more; {
		asked := time.Now()
		page, err := y.s.store.Findings(ctx, y.position)
		if err != nil {
			return err
		}
		y.mu.Lock()
		if page.Lost {
			y.found, y.whole = map[string]*Finding{}, false
		}
		y.now, y.asked, y.read = page.Now, asked, time.Now()
		y.whole = y.whole || !page.More
		y.mu.Unlock()
		y.learn(page.Found)
		y.position, more = page.Position, page.More
	}
	return nil
}

// coveredFor judges a touch at a time of this server's clock: negative when the
// topic was surveyed since, positive when it was surveyed a moment before and so
// can wait, 0 otherwise.
func (y *surveyor) coveredFor(topic string, at time.Time) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	f := y.found[topic]
	if f == nil {
		return 0
	}
	surveyed := f.last().At
	// The store's clock was at most this much ahead of ours, times being whole
	// milliseconds there.
	ahead := y.now.Add(time.Millisecond).Sub(y.asked)
	switch {
	case surveyed.After(at.Add(ahead)):
		return -1
	case y.storeTime().Sub(surveyed) < surveyEvery*3/5:
		return 1
	}
	return 0
}

// storeTime is the store's time now, as near as is known. The caller holds mu.
func (y *surveyor) storeTime() time.Time { return y.now.Add(time.Since(y.read)) }

// unknown tells whether nobody has found anything about a UID.
func (y *surveyor) unknown(uid string) bool { return y.found[uid] == nil }

// forget throws away findings about what is in no record any more.
func (y *surveyor) forget(ctx context.Context) error {
	if time.Now().Before(y.forgetAt) {
		return nil
	}
	known, live := y.s.fleet.uids()
	var gone []string
	y.mu.Lock()
	for uid, f := range y.found {
		if !known[uid] && y.storeTime().Sub(f.last().At) > forgetEvery {
			delete(y.found, uid)
			if ownerOf(uid, live) == y.s.server {
				gone = append(gone, uid)
			}
		}
	}
	y.mu.Unlock()
	y.forgetAt = time.Now().Add(forgetEvery)
	if len(gone) == 0 {
		return nil
	}
	return y.s.store.Forget(ctx, gone)
}

// surveyed are the UIDs of the attached subscriptions of each topic, and the
// topics that this server owns of which something is unknown.
func (f *fleet) surveyed(unknown func(uid string) bool) (subs map[string][]string, missing []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	y := f.s.surveyor
	y.mu.Lock()
	defer y.mu.Unlock()
	subs = map[string][]string{}
	lacking := map[string]bool{}
	for _, t := range f.topics {
		if t.Phase == Active && unknown(t.UID) {
			lacking[t.UID] = true
		}
	}
	for _, sub := range f.subscriptions {
		if sub.Phase == Active && !sub.Detached {
			subs[sub.TopicUID] = append(subs[sub.TopicUID], sub.UID)
			if unknown(sub.UID) {
				lacking[sub.TopicUID] = true
			}
		}
	}
	for uid := range lacking {
		if ownerOf(uid, f.live) == f.s.server {
			missing = append(missing, uid)
		}
	}
	return subs, missing
}

// uids are those of all topics and subscriptions that have a record, and of
// topics that live on in their subscriptions.
func (f *fleet) uids() (known map[string]bool, live []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known = map[string]bool{}
	for _, t := range f.topics {
		known[t.UID] = true
	}
	for _, sub := range f.subscriptions {
		known[sub.UID], known[sub.TopicUID] = true, true
	}
	return known, f.live
}
