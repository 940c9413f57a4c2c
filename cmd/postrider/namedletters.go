package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"postrider/server/api"
	"postrider/subscriptions"
)

// noSuchLetters is nil without ids.
func noSuchLetters(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return fmt.Errorf("not found: %s; gone by now, of another subscription, or not what the flags select", strings.Join(ids, ", "))
}

// work lets begin work on the dead letters, and follows it. Ids that were named and are not there are an error, after the rest
// is done.
func (l *letters) work(ctx context.Context, begin func() (api.Operation, error), follow func(api.Operation) error) error {
	op, err := begin()
	if err != nil {
		return l.advise(ctx, err)
	}
	absent := noSuchLetters(op.Metadata.NotFoundMessageIDs)
	if absent != nil && op.Metadata.TotalMessages == 0 {
		return absent // there is nothing to follow
	}
	return errors.Join(follow(op), absent)
}

// advise puts an error of the server into the words of the command line.
func (l *letters) advise(ctx context.Context, err error) error {
	var e serverError
	if !errors.As(err, &e) {
		return err
	}
	if text, ok := strings.CutPrefix(e.Message, "deadLetterSubscription: "); ok {
		e.Message = "--from: " + text
		return e
	}
	if e.Status == string(subscriptions.NotFound) && l.subscription.ID != "" {
		if _, err := call[api.Topic](l.GetTopic(ctx, l.subscription.Project, l.subscription.ID)); err == nil {
			e.Message += "; there is a topic of this name: say --topic " + l.subscription.ID
		}
		return e
	}
	return err
}
