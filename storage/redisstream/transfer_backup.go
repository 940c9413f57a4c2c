package redisstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Backup writes all that a store keeps to w, while servers go on. At the head of transfer.go stands what the moment of a backup
// is.
func Backup(ctx context.Context, from string, w io.Writer, o TransferOptions) (Report, error) {
	s, err := openTransfer(ctx, from, &o)
	if err != nil {
		return Report{}, err
	}
	report, err := s.backup(ctx, w, o.Progress)
	return report, errors.Join(err, s.Close())
}

// backup is one backup under way.
type backup struct {
	*Store
	file     *backupWriter
	total    tally
	progress *Progress
	metas    map[string]topicMeta // by topic: up to where its log is in the file
}

func (s *Store) backup(ctx context.Context, w io.Writer, p *Progress) (Report, error) {
	if _, err := s.survey(ctx, p); err != nil {
		return Report{}, err
	}
	held, err := s.holdings(ctx)
	if err != nil {
		return Report{}, err
	}
	file, err := newBackupWriter(w, newTransferID())
	if err != nil {
		return Report{}, err
	}
	b := &backup{s, file, tally{}, p, map[string]topicMeta{}}
	order := sourcesFirst(held.slots())
	p.begin("reading topic by topic", len(order))
	for _, t := range order {
		if err := b.topic(ctx, t.uid); err != nil {
			return Report{}, fmt.Errorf("%s: %w", t, err)
		}
		p.made.Add(1)
	}
	for _, uid := range tooEarly(order) {
		if err := b.tail(ctx, uid); err != nil {
			return Report{}, err
		}
	}
	if held, err = b.catalogs(ctx); err != nil {
		return Report{}, err
	}
	return held.report(b.total), file.end(b.total)
}

func (b *backup) put(p part) error {
	p.count(&b.total)
	return b.file.put(p)
}

// topic writes what a slot holds. The log comes before subscriptions: what one that is read later still needs of it was needed
// all the while. What is delayed comes before the log, to which it moves.
func (b *backup) topic(ctx context.Context, uid string) error {
	if err := b.readDelayed(ctx, uid, b.put); err != nil {
		return err
	}
	meta, err := b.readMeta(ctx, uid)
	if err != nil || !meta.exists() {
		return err
	}
	b.metas[uid] = meta
	if err := b.log(ctx, meta, "0-0"); err != nil {
		return err
	}
	if err := b.put(meta.keyPart); err != nil {
		return err
	}
	return b.observe(ctx, meta, b.put)
}

func (b *backup) log(ctx context.Context, meta topicMeta, after string) error {
	return copyLog(ctx, b.Store, meta, after, func(p logPart) error {
		b.progress.done.Add(int64(len(p.entries)))
		return b.put(p)
	})
}

// tail writes what was appended to a topic since it was read.
func (b *backup) tail(ctx context.Context, uid string) error {
	was := b.metas[uid]
	meta, err := b.readMeta(ctx, uid)
	if err != nil || was.end() == "" || meta.end() == was.end() {
		return err
	}
	if err := b.log(ctx, meta, was.end()); err != nil {
		return err
	}
	return b.put(meta.keyPart)
}

// catalogs writes the records.
func (b *backup) catalogs(ctx context.Context) (held holdings, err error) {
	projects, err := b.Projects(ctx)
	if err != nil {
		return held, err
	}
	for _, project := range projects {
		err := b.readRecords(ctx, project, func(p recordsPart) error {
			if err := held.add(p); err != nil {
				return err
			}
			return b.put(p)
		})
		if err != nil {
			return held, err
		}
	}
	return held, nil
}

// sourcesFirst puts topics before those to which they move dead letters, as far as they do not go in circles.
func sourcesFirst(list []heldTopic) []heldTopic {
	byUID := map[string]heldTopic{}
	for _, t := range list {
		byUID[t.uid] = t
	}
	var order []heldTopic // targets first
	seen := map[string]bool{}
	var visit func(t heldTopic)
	visit = func(t heldTopic) {
		if seen[t.uid] {
			return
		}
		seen[t.uid] = true
		for _, uid := range t.deadLetters {
			if target, ok := byUID[uid]; ok {
				visit(target)
			}
		}
		order = append(order, t)
	}
	for _, t := range list {
		visit(t)
	}
	slices.Reverse(order)
	return order
}

// tooEarly are topics whose log was read before the subscriptions that move dead letters to them. What moved in between is
// neither there nor here.
func tooEarly(order []heldTopic) []string {
	read := map[string]bool{}
	var early []string
	for _, t := range order {
		read[t.uid] = true
		for _, uid := range t.deadLetters {
			if read[uid] && !slices.Contains(early, uid) {
				early = append(early, uid)
			}
		}
	}
	return early
}
