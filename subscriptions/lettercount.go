package subscriptions

import (
	"context"
	"math"
	"slices"
)

// countSteps bounds how much is looked at to count dead letters: about 10,000.
const countSteps = 50

// countLetters counts what an operation that begins is to work on, as far as a
// bounded number of steps gets. Which of the named ids are not there is always
// found out: each step comes upon one or passes one by.
func (s *Service) countLetters(ctx context.Context, op *Operation, topic Topic, holder Subscription) error {
	res, err := s.peekHolder(ctx, holder, PeekPlace{}, 1)
	if err != nil {
		return err
	}
	op.Until = res.End
	ids := op.Query.distinctIDs()
	op.NotFound = slices.Clone(ids)
	if err := s.countOnce(ctx, op, op.Query, topic, holder); err != nil || len(ids) == 0 {
		return err
	}
	// What a subscriber leases meanwhile goes from where was not looked yet to where was.
	if again := op.Query; len(op.NotFound) > 0 {
		again.IDs = slices.Clone(op.NotFound)
		err = s.countOnce(ctx, op, again, topic, holder)
	}
	op.Progress.Total = int64(len(ids) - len(op.NotFound))
	return err
}

// countOnce goes through what a query selects once.
func (s *Service) countOnce(ctx context.Context, op *Operation, q DeadLetterQuery, topic Topic, holder Subscription) (err error) {
	page := &letterPage{search: q.search(), topic: topic, size: math.MaxInt, steps: countSteps + 3*len(q.IDs)}
	if page.search.high.Compare(op.Until) > 0 {
		page.search.high = op.Until // what dies later is left alone
	}
	for more := true; more && page.steps > 0; {
		if more, err = s.searchHolder(ctx, holder, page, page.place); err != nil {
			return err
		}
		for _, d := range page.letters {
			op.NotFound = slices.DeleteFunc(op.NotFound, func(id MessageID) bool { return id == d.Message.ID })
		}
		op.Progress.Total += int64(len(page.letters))
		op.Progress.AtLeast = more
		page.letters, page.bytes = nil, 0 // they are only counted
	}
	return nil
}

// distinctIDs are the IDs, each once.
func (f DeadLetterFilter) distinctIDs() (ids []MessageID) {
	seen := map[MessageID]bool{}
	for _, id := range f.IDs {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}
