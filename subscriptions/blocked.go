package subscriptions

import (
	"context"
	"fmt"
)

// BlockedKeys lists the ordering keys whose first outstanding message has failed
// at least once, so that all later messages of the key wait behind it; the
// longest blocked first. A subscription without order has none. NOT_FOUND,
// INVALID_ARGUMENT.
func (s *Service) BlockedKeys(ctx context.Context, name SubscriptionName, p Page) (blocks []Block, next string, err error) {
	if err := name.Validate(); err != nil {
		return nil, "", err
	}
	err = s.directory.withSubscription(ctx, name, func(sub Subscription) error {
		size, after, err := p.start()
		if err != nil {
			return err
		}
		r := BlocksRequest{Ref: sub.Ref(), Max: size}
		if r.After, err = parseBlockPlace(p.Token, after); err != nil || sub.Detached {
			return err
		}
		ctx, cancel := step(ctx)
		defer cancel()
		page, err := s.store.Blocked(ctx, r)
		blocks = page.Blocks
		if page.More {
			next = pageToken(page.Next.String())
		}
		return err
	})
	return blocks, next, err
}

// String is the place in the token of a page.
func (p BlockPlace) String() string { return fmt.Sprintf("%d %s %d", p.Milli, p.ID, p.Key) }

// parseBlockPlace reads what String writes; empty is before the first block.
func parseBlockPlace(token, s string) (p BlockPlace, err error) {
	if s == "" {
		return p, nil
	}
	var id string
	if _, err := fmt.Sscanf(s, "%d %s %d", &p.Milli, &id, &p.Key); err == nil {
		p.ID, err = ParseMessageID(id)
		if err == nil && p.String() == s {
			return p, nil
		}
	}
	return BlockPlace{}, badPageToken(token)
}

// Unblocking asks to take the message that blocks an ordering key out of the way.
type Unblocking struct {
	OrderingKey string
	// MessageID is the message that BlockedKeys named.
	MessageID string
	// DeadLetter moves it to the dead-letter topic; else it is dropped.
	DeadLetter bool
}

// UnblockKey takes the message that blocks an ordering key out of the way, also
// while it is being delivered: nobody gets it again. It does nothing to any
// other message: NOT_FOUND when the key is not blocked, ABORTED when another
// message blocks it by now, or somebody else acks or takes this one at the same
// moment. FAILED_PRECONDITION when there is no dead-letter
// topic for the message to go to; INVALID_ARGUMENT.
func (s *Service) UnblockKey(ctx context.Context, name SubscriptionName, u Unblocking) error {
	if err := name.Validate(); err != nil {
		return err
	}
	return s.directory.withSubscription(ctx, name, func(sub Subscription) error {
		if u.OrderingKey == "" {
			return Errorf(InvalidArgument, "orderingKey: must not be empty")
		}
		id, err := ParseMessageID(u.MessageID)
		if err != nil {
			return Errorf(InvalidArgument, "messageId: %q is not the id of a message", clip(u.MessageID, 64))
		}
		ctx, cancel := step(ctx)
		defer cancel()
		head, err := s.blockingMessage(ctx, sub, u.OrderingKey)
		if err != nil {
			return err
		}
		if head.Message.ID != id {
			return Errorf(Aborted, "messageId: by now %s blocks the ordering key", head.Message.ID)
		}
		if err := s.remove(ctx, sub, head, u.DeadLetter); err != nil {
			return err
		}
		s.noteUse(ctx, sub)
		return nil
	})
}

// blockingMessage is the message that blocks a key.
func (s *Service) blockingMessage(ctx context.Context, sub Subscription, key string) (Delivery, error) {
	if !sub.Detached {
		page, err := s.store.Blocked(ctx, BlocksRequest{Ref: sub.Ref(), Key: Message{OrderingKey: key}.KeyHash(), Max: 1})
		if err != nil {
			return Delivery{}, err
		}
		if len(page.Blocks) > 0 {
			return page.Blocks[0].Head, nil
		}
	}
	return Delivery{}, Errorf(NotFound, "orderingKey: %q is not blocked", clip(key, 64))
}

// remove takes a message from a subscription, whatever its state. It seizes it
// first: of an ack and several who remove it one comes first, and that one alone
// succeeds.
func (s *Service) remove(ctx context.Context, sub Subscription, d Delivery, deadLetter bool) error {
	if deadLetter {
		if err := s.hasDeadLetterTopic(ctx, sub); err != nil {
			return err
		}
	}
	seized, err := s.store.Seize(ctx, sub.Ref(), d.Receipt(), moveHold)
	if err != nil {
		return err
	}
	if !seized {
		return Errorf(Aborted, "messageId: %s is being taken away by somebody else", d.Message.ID)
	}
	if deadLetter {
		// Should the topic go now the message lives again, when it is no longer held.
		return s.moveDead(ctx, sub, []Delivery{d})
	}
	s.log.InfoContext(ctx, "a message that blocked its ordering key is dropped", "subscription", sub.Name.String(), "message", d.Message.ID.String())
	return s.store.Acknowledge(ctx, sub.Ref(), []Receipt{d.Receipt()})
}

// hasDeadLetterTopic fails with FAILED_PRECONDITION when dead letters have
// nowhere to go.
func (s *Service) hasDeadLetterTopic(ctx context.Context, sub Subscription) error {
	if sub.DeadLetter == nil {
		return Errorf(FailedPrecondition, "%s has no dead-letter topic", sub.Name)
	}
	_, err := s.GetTopic(ctx, sub.DeadLetter.Topic)
	if CodeOf(err) == NotFound {
		return Errorf(FailedPrecondition, "the dead-letter topic %s does not exist", sub.DeadLetter.Topic)
	}
	return err
}
