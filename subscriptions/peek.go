package subscriptions

import (
	"context"
	"fmt"
	"time"
)

// Peeked is a message that a subscription has not acked, as it stands there. To
// look at it changes nothing: it is not leased and spends no attempt.
type Peeked struct {
	// Delivery is the message by its last delivery, with what is kept of its failed
	// attempts. Number and Attempt are 0 as long as it was not leased; in PeekLeased
	// Attempt is the one under way.
	Delivery
	State PeekState
	// Next is when a lease or a wait ends, by the store's clock; unset in other
	// states.
	Next time.Time
}

// PeekState says where an unacked message stands.
type PeekState int8

const (
	// PeekNew: it was not leased yet.
	PeekNew PeekState = iota + 1
	// PeekLeased: somebody has it until Next.
	PeekLeased
	// PeekWaiting: it is leased again in Next.
	PeekWaiting
	// PeekParked: it waits for an earlier message of its ordering key.
	PeekParked
	// PeekDead: it had all its attempts and waits to be moved to the dead-letter
	// topic.
	PeekDead
)

// PeekPlace is the place of a message in what Peek lists. The zero value is
// before the first one.
type PeekPlace struct {
	Part PeekPart
	ID   MessageID
}

// PeekPart is a part of the list: what was outstanding, or is again after a
// seek; what ordering keys left in the log; and what lies ahead of the cursor.
type PeekPart int8

// The parts, in order.
const (
	PeekBehind PeekPart = iota
	PeekLeft
	PeekAhead
)

// PeekRequest asks for unacked messages.
type PeekRequest struct {
	Ref
	Rules Rules
	// After is where the last page ended, or the first is to begin; no message needs
	// to have its ID.
	After PeekPlace
	// Max bounds the answer. A store may return fewer, even none, and More.
	Max int
}

// PeekResult is a part of the unacked messages.
type PeekResult struct {
	Messages []Peeked
	// More tells whether there may be more, which begin after Next.
	More bool
	Next PeekPlace
	// End is an id that no message has which the topic gets from now on, nor is
	// any of those lower.
	End MessageID
}

// Peeks look at messages without leasing them.
type Peeks interface {
	// Peek lists what is unacked and not older than the retention, each part in
	// order of the log. What was acked provisionally is left out.
	Peek(context.Context, PeekRequest) (PeekResult, error)
	// PeekLog lists what the log of a topic holds after an id, in PeekNew: what a
	// topic without subscriptions keeps. An unknown topic has nothing.
	PeekLog(ctx context.Context, topic string, after MessageID, limit int) (PeekResult, error)
}

// String is the place in the token of a page.
func (p PeekPlace) String() string { return fmt.Sprintf("%d %s", p.Part, p.ID) }

// parsePeekPlace reads what String writes; empty is before the first message.
func parsePeekPlace(token, s string) (p PeekPlace, err error) {
	if s == "" {
		return p, nil
	}
	var id string
	if _, err := fmt.Sscanf(s, "%d %s", &p.Part, &id); err == nil {
		p.ID, err = ParseMessageID(id)
		if err == nil && p.String() == s && p.Part >= PeekBehind && p.Part <= PeekAhead {
			return p, nil
		}
	}
	return PeekPlace{}, badPageToken(token)
}

const (
	// peekSteps is how many steps of the store one page takes at most: where few
	// messages are what is looked for, a page is short, and the next goes on.
	peekSteps = 20
	// peekBytes is about how many bytes of messages one page holds.
	peekBytes = 8 << 20
)

// Peek lists the messages that a subscription has not acked, without leasing
// them: first those that were delivered, then those that were not, each in the
// order in which they were published. A page may be shorter than asked, even
// empty, and have a next one. A detached subscription has none. NOT_FOUND,
// INVALID_ARGUMENT.
func (s *Service) Peek(ctx context.Context, name SubscriptionName, p Page) (msgs []Peeked, next string, err error) {
	if err := name.Validate(); err != nil {
		return nil, "", err
	}
	err = s.directory.withSubscription(ctx, name, func(sub Subscription) error {
		size, after, err := p.start()
		if err != nil {
			return err
		}
		place, err := parsePeekPlace(p.Token, after)
		if err != nil || sub.Detached {
			return err
		}
		var more bool
		msgs, place, more, err = s.peekPage(ctx, sub, place, size)
		if more {
			next = pageToken(place.String())
		}
		return err
	})
	return msgs, next, err
}

// peekPage collects a page of unacked messages.
func (s *Service) peekPage(ctx context.Context, sub Subscription, place PeekPlace, size int) (msgs []Peeked, next PeekPlace, more bool, err error) {
	ctx, cancel := step(ctx)
	defer cancel()
	bytes := 0
	for range peekSteps {
		res, err := s.store.Peek(ctx, PeekRequest{Ref: sub.Ref(), Rules: sub.Rules(s.outstanding), After: place, Max: size - len(msgs)})
		if err != nil {
			return nil, place, false, err
		}
		for _, m := range res.Messages {
			bytes += m.Message.Size()
		}
		msgs, place, more = append(msgs, res.Messages...), res.Next, res.More
		if !more || len(msgs) >= size || bytes >= peekBytes {
			break
		}
	}
	return msgs, place, more, nil
}
