package subscriptions

import (
	"context"
	"fmt"
)

// MaxCancel is how many messages CancelDelayed takes at once.
const MaxCancel = 1_000

// Delayed lists the messages of a topic that are not due yet, the first to be due
// first, and the token of the next page, empty at the end. NOT_FOUND,
// INVALID_ARGUMENT.
func (s *Service) Delayed(ctx context.Context, name TopicName, p Page) (result DelayedResult, next string, err error) {
	if err := name.Validate(); err != nil {
		return DelayedResult{}, "", err
	}
	err = s.directory.withTopic(ctx, name, func(t Topic) error {
		size, after, err := p.start()
		if err != nil {
			return err
		}
		r := DelayedRequest{Topic: t.UID, Max: size}
		if r.After, err = parseDelayedPlace(p.Token, after); err != nil {
			return err
		}
		if result, err = s.store.Delayed(ctx, r); err == nil && result.More && len(result.Messages) > 0 {
			next = pageToken(result.Messages[len(result.Messages)-1].place().String())
		}
		return err
	})
	return result, next, err
}

// CountDelayed returns how many messages of a topic are not due yet, and their
// size in bytes. NOT_FOUND, INVALID_ARGUMENT.
func (s *Service) CountDelayed(ctx context.Context, name TopicName) (count, bytes int64, err error) {
	if err := name.Validate(); err != nil {
		return 0, 0, err
	}
	err = s.directory.withTopic(ctx, name, func(t Topic) error {
		result, err := s.store.Delayed(ctx, DelayedRequest{Topic: t.UID})
		count, bytes = result.Count, result.Bytes
		return err
	})
	return count, bytes, err
}

// CancelDelayed drops messages that are not due yet: nobody gets them. It returns
// the ids of those that it dropped; the others are not delayed, or no longer.
// NOT_FOUND when there is no such topic; INVALID_ARGUMENT.
func (s *Service) CancelDelayed(ctx context.Context, name TopicName, ids []string) (cancelled []MessageID, err error) {
	if err := name.Validate(); err != nil {
		return nil, err
	}
	err = s.directory.withTopic(ctx, name, func(t Topic) error {
		if len(ids) == 0 || len(ids) > MaxCancel {
			return Errorf(InvalidArgument, "messageIds: 1 to %d are allowed, there are %d", MaxCancel, len(ids))
		}
		parsed := make([]MessageID, len(ids))
		for i, text := range ids {
			id, err := ParseMessageID(text)
			if err != nil {
				return Errorf(InvalidArgument, "messageIds[%d]: %q is not the id of a message", i, clip(text, 64))
			}
			parsed[i] = id
		}
		cancelled, err = s.store.CancelDelayed(ctx, t.UID, parsed)
		return err
	})
	return cancelled, err
}

// String is the place in the token of a page.
func (p DelayedPlace) String() string { return fmt.Sprintf("%d %s", p.Milli, p.ID) }

// parseDelayedPlace reads what String writes; empty is before the first message.
func parseDelayedPlace(token, s string) (p DelayedPlace, err error) {
	if s == "" {
		return p, nil
	}
	var id string
	if _, err := fmt.Sscanf(s, "%d %s", &p.Milli, &id); err == nil {
		p.ID, err = ParseMessageID(id)
		if err == nil && p.String() == s {
			return p, nil
		}
	}
	return DelayedPlace{}, Errorf(InvalidArgument, "pageToken: %q is not a token of an earlier answer", clip(token, 64))
}
