package redisstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"postrider/subscriptions"
)

// CheckBackup reads a backup to its end and says what is in it. Its error says what is wrong with the file and where.
func CheckBackup(r io.Reader) (Report, error) {
	_, held, sum, err := readContents(r, func(part) {})
	return held.report(sum), err
}

// readContents reads a backup for what its records name, and how much there is. It shows each part.
func readContents(r io.Reader, show func(part)) (id string, held holdings, sum tally, err error) {
	id, total, err := readBackup(r, func(p part) error {
		p.count(&sum)
		show(p)
		records, ok := p.(recordsPart)
		if !ok {
			return nil
		}
		if !slices.Contains(held.projects, records.project) {
			held.projects = append(held.projects, records.project)
		}
		return held.add(records)
	})
	if err == nil && total.text() != sum.text() {
		err = fmt.Errorf("the backup is damaged: it says that there are %s of each, but there are %s", total.text(), sum.text())
	}
	return id, held, sum, err
}

// Restore fills an unused store from a backup. The file is read twice: nothing is written before all of it was found whole.
// When it was interrupted it goes on.
func Restore(ctx context.Context, file io.ReadSeeker, to string, o TransferOptions) (Report, error) {
	t, err := openTarget(ctx, to, &o)
	if err != nil {
		return Report{}, err
	}
	r := &restore{target: t, progress: o.Progress, topics: map[string]*restored{}, seen: seen{}}
	err = t.alone(ctx, func(ctx context.Context) error { return r.run(ctx, file) })
	report := r.held.report(r.sum)
	report.Verified = err == nil
	return report, errors.Join(err, t.Close())
}

// restore is one restore under way.
type restore struct {
	*target
	held     holdings
	sum      tally // of what is restored
	progress *Progress
	topics   map[string]*restored            // by uid: those that are wanted
	wanted   map[string]*subscriptions.Match // by uid of a subscription, what it selects
	sub      *observed                       // what came of the present subscription so far
	// snapshots are the uids of those with a record.
	snapshots map[string]bool
	seen      seen
}

// restored is what came of a topic so far.
type restored struct {
	begun bool
	meta  *topicMeta // the last one
	last  string     // id in the log
	sum   tally      // without meta
	subs  map[string]bool
	// due is when the first delayed message is, and delayBytes the size of all.
	due, delayBytes int64
}

func (r *restore) run(ctx context.Context, file io.ReadSeeker) error {
	r.progress.begin("reading the backup for the first time, to check it", 0)
	id, held, all, err := readContents(file, r.seen.part)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	resumes, err := r.look(ctx, id)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	switch {
	case resumes && r.claimed.state == stateDone:
		return errors.New("target: redis: this backup has been restored here already")
	case !resumes:
		if err := r.begin(ctx, id); err != nil {
			return fmt.Errorf("target: %w", err)
		}
	}
	if err := r.expect(ctx, held); err != nil {
		return err
	}
	r.progress.begin("writing what is in the backup", len(r.topics))
	r.progress.total.Store(all.messages)
	if _, _, err := readBackup(file, func(p part) error { return r.part(ctx, p) }); err != nil {
		return err
	}
	if err := r.endSubscription(ctx); err != nil {
		return err
	}
	if err := r.compare(ctx); err != nil {
		return err
	}
	if err := r.complete(ctx); err != nil {
		return err
	}
	return r.finish(ctx, r.held, claim{format: formatVersion, id: id, role: roleTarget, state: stateDone})
}

// expect says what is wanted of the backup, and notes it, so that what was begun can be thrown away.
func (r *restore) expect(ctx context.Context, held holdings) error {
	r.held, r.wanted, r.snapshots = held, map[string]*subscriptions.Match{}, map[string]bool{}
	slots := held.slots()
	for _, t := range slots {
		r.topics[t.uid] = &restored{last: "0-0", subs: map[string]bool{}}
	}
	for _, sub := range held.subs {
		var err error
		if r.wanted[sub.UID], err = subscriptions.NewMatch(sub.Filter, sub.Routing); err != nil {
			return fmt.Errorf("redisstream: %s has a filter that cannot be read: a newer Postrider wrote it: %w", sub.Name, err)
		}
	}
	for _, snap := range held.snaps {
		r.snapshots[snap.UID] = true
	}
	for _, project := range held.projects {
		if err := r.client.SAdd(ctx, r.keys.projects(), project).Err(); err != nil {
			return failed(ctx, "note a project", err)
		}
	}
	return r.touch(ctx, slots)
}

// part takes what comes next.
func (r *restore) part(ctx context.Context, p part) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.sub != nil {
		if r.sub.take(p) {
			return nil
		}
		if err := r.endSubscription(ctx); err != nil {
			return err
		}
	}
	switch p := p.(type) {
	case recordsPart:
		return r.put(ctx, p)
	case logPart:
		return r.ofTopic(ctx, p.topic, func(t *restored) error { return r.log(ctx, t, p) })
	case keyPart:
		if p = r.seen.without(r.ofRecords(p)); len(p.pairs) == 0 {
			return nil
		}
		return r.ofTopic(ctx, p.topic, func(t *restored) error {
			switch {
			case p.name == "meta":
				p = t.withDelayed(p)
				t.meta = &topicMeta{p}
			case p.isDelayed():
				t.addDelayed(p)
				fallthrough
			default:
				p.count(&t.sum)
			}
			return r.put(ctx, p)
		})
	case subscriptionPart:
		r.sub = &observed{sub: p}
		return nil
	}
	return fmt.Errorf("redisstream: %T stands where it does not belong", p)
}

// take takes a part of the same subscription.
func (o *observed) take(p part) bool {
	switch p := p.(type) {
	case outstandingPart:
		if p.uid != o.sub.uid {
			return false
		}
		o.messages = append(o.messages, p.messages...)
		return true
	case keyPart:
		switch p.name {
		case "overflow:" + o.sub.uid:
			o.left = append(o.left, p.pairs...)
			return true
		case "source:" + o.sub.uid:
			o.source = append(o.source, p.pairs...)
			return true
		case "redriven:" + o.sub.uid:
			o.redriven = append(o.redriven, p.pairs...)
			return true
		case "letters:" + o.sub.uid:
			o.letters = append(o.letters, p.pairs...)
			return true
		}
	}
	return false
}

// ofTopic does something for a topic that is wanted. What an interrupted restore left of its state goes first.
func (r *restore) ofTopic(ctx context.Context, uid string, do func(*restored) error) error {
	t := r.topics[uid]
	if t == nil {
		return nil
	}
	if !t.begun {
		if err := r.clear(ctx, uid); err != nil {
			return err
		}
		ends, err := r.logEnds(ctx, uid)
		if err != nil {
			return err
		}
		t.last, t.begun = ends.last, true
		r.progress.made.Add(1)
	}
	return do(t)
}

// log appends what is not there yet.
func (r *restore) log(ctx context.Context, t *restored, p logPart) error {
	p.count(&t.sum)
	r.progress.done.Add(int64(len(p.entries)))
	last, err := subscriptions.ParseMessageID(t.last)
	if err != nil {
		return err
	}
	there := 0
	for ; there < len(p.entries); there++ {
		id, err := subscriptions.ParseMessageID(p.entries[there].id)
		if err != nil {
			return err
		}
		if id.Compare(last) > 0 {
			break
		}
	}
	if p.entries = p.entries[there:]; len(p.entries) == 0 {
		return nil
	}
	t.last = p.entries[len(p.entries)-1].id
	return r.put(ctx, p)
}

// endSubscription writes the present subscription, now that all of it is known. One that was deleted while the backup was made
// has no record, and is not wanted.
func (r *restore) endSubscription(ctx context.Context) error {
	o := r.sub
	r.sub = nil
	if o == nil || o.sub.name == "" {
		return nil
	}
	match, wanted := r.wanted[o.sub.uid]
	if !wanted {
		return nil
	}
	t := r.topics[o.sub.topic]
	if t == nil || t.meta == nil {
		return fmt.Errorf("redisstream: the subscription %s is of no topic", o.sub.name)
	}
	t.subs[o.sub.uid] = true
	var err error
	all := slices.Clone(o.messages)
	for _, m := range o.source {
		all = append(all, outstanding{member: m.name})
	}
	if o.sizes, err = r.sizes(ctx, o.sub.topic, all); err != nil {
		return err
	}
	o.sizeLetters()
	if o.rest, err = r.leftovers(ctx, *t.meta, o, match); err != nil {
		return err
	}
	for _, p := range o.build() {
		p.count(&t.sum)
		if err := r.put(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// leftovers looks in the log for what keys left there, up to the cursor.
func (s *Store) leftovers(ctx context.Context, meta topicMeta, o *observed, m *subscriptions.Match) (map[string]leftover, error) {
	after, err := o.leftAfter()
	if err != nil || len(after) == 0 {
		return nil, err
	}
	rest, j := map[string]leftover{}, judge{match: m}
	first := slices.MinFunc(slices.Collect(maps.Values(after)), subscriptions.MessageID.Compare).String()
	end := valueOf(o.sub.state, "id")
	for {
		p, err := s.readLog(ctx, meta.topic, numberOf(meta.pairs, "max"), first, end)
		if err != nil || len(p.entries) == 0 {
			return rest, err
		}
		for _, e := range p.entries {
			key := e.key()
			from, wanted := after[key]
			id, err := subscriptions.ParseMessageID(e.id)
			if err != nil {
				return nil, err
			}
			if !wanted || id.Compare(from) <= 0 || !j.matches(e) {
				continue
			}
			r := rest[key]
			if r.after = from; r.count == 0 {
				r.first = id.N()
			}
			r.count, r.bytes = r.count+1, r.bytes+e.size()
			rest[key] = r
		}
		first = p.entries[len(p.entries)-1].id
	}
}

// complete makes what was created while the backup was made, and so is in its records alone.
func (r *restore) complete(ctx context.Context) error {
	for _, t := range r.held.topics {
		if r.topics[t.UID].meta == nil && t.Phase == subscriptions.Active {
			if err := r.OpenTopic(ctx, t.Ref()); err != nil && !errors.Is(err, subscriptions.ErrGone) {
				return err
			}
		}
	}
	for _, sub := range r.held.subs {
		if !r.topics[sub.TopicUID].subs[sub.UID] && sub.Phase == subscriptions.Active && !sub.Detached {
			if err := r.Attach(ctx, sub.Ref(), sub.Name); err != nil && !errors.Is(err, subscriptions.ErrGone) {
				return err
			}
		}
	}
	return nil
}

// compare reads back what was written. Logs were compared when they were.
func (r *restore) compare(ctx context.Context) error {
	slots := r.held.slots()
	r.progress.begin("comparing", len(slots))
	var records tally
	for _, project := range r.held.projects {
		err := r.readRecords(ctx, project, func(p recordsPart) error {
			p.count(&records)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := differ(r.held.count, records); err != nil {
		return err
	}
	err := eachTopic(ctx, slots, r.progress, func(ctx context.Context, t heldTopic) error {
		return r.compareTopic(ctx, t.uid, r.topics[t.uid])
	})
	for _, t := range r.topics {
		r.sum.add(t.sum)
	}
	return err
}

func (r *restore) compareTopic(ctx context.Context, uid string, t *restored) error {
	r.mu.Lock()
	r.done[uid] = t.sum
	r.mu.Unlock()
	if t.meta == nil {
		return nil
	}
	ends, err := r.logEnds(ctx, uid)
	if err != nil {
		return err
	}
	if ends.length != t.sum.messages {
		return fmt.Errorf("redisstream: %d messages are there, %d were written", ends.length, t.sum.messages)
	}
	want := t.sum.state()
	t.meta.count(&want)
	there, err := r.holds(ctx, uid)
	if err == nil {
		err = differ(want, there)
	}
	return err
}
