package subscriptions

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"time"
)

// DeadLetter is a message that a subscription gave up, as a subscription of the
// dead-letter topic holds it. Where a dead-letter topic has several
// subscriptions, each holds its own copy, and each copy is a dead letter.
type DeadLetter struct {
	// Peeked is the message as the dead-letter topic has it: its id is the one that
	// names the dead letter, and its publish time is when it was moved there.
	Peeked
	// Topic is the dead-letter topic and Owner who looks after it, if it says so.
	Topic TopicName
	Owner string
	// Holder is the subscription of Topic that has not acked it; unset where Topic
	// has no subscription, and keeps it nevertheless for a while.
	Holder SubscriptionName
	Origin Origin
}

// DeadLetterQuery selects dead letters. Either Subscription or Topic is set.
type DeadLetterQuery struct {
	// Subscription selects the dead letters that came from it and are in its
	// dead-letter topic.
	Subscription SubscriptionName
	// Topic selects the dead letters of a dead-letter topic, wherever they come
	// from.
	Topic TopicName
	// Holder, if set, selects those that this subscription of the dead-letter topic
	// holds.
	Holder SubscriptionName
	DeadLetterFilter
}

// DeadLetterFilter is what dead letters are searched by. What is unset selects
// all; together, all must hold.
type DeadLetterFilter struct {
	// IDs are those that the dead-letter topic gave them; at most
	// MaxDeadLetterIDs.
	IDs []MessageID
	// Text is looked for in the data, the attributes that the publisher gave, the
	// ordering key and the reason, whatever the case.
	Text string
	// From is the subscription they came from.
	From SubscriptionName
	// Since and Before bound when they were moved to the dead-letter topic: not
	// before the one, and before the other.
	Since, Before time.Time
}

// MaxDeadLetterIDs bounds the IDs of a DeadLetterFilter, and MaxDeadLetterText
// its Text, in bytes.
const (
	MaxDeadLetterIDs  = 1_000
	MaxDeadLetterText = 1_024
)

// named checks whose dead letters are asked for, and the rest is checked by
// validate once that is known to exist.
func (q DeadLetterQuery) named() error {
	switch {
	case (q.Subscription == SubscriptionName{}) == (q.Topic == TopicName{}):
		return Errorf(InvalidArgument, "either a subscription or a dead-letter topic is required")
	case q.Subscription != SubscriptionName{}:
		return q.Subscription.Validate()
	}
	return q.Topic.Validate()
}

func (q DeadLetterQuery) validate() error {
	switch {
	case len(q.IDs) > MaxDeadLetterIDs:
		return Errorf(InvalidArgument, "filter.messageIds: at most %d are allowed, there are %d", MaxDeadLetterIDs, len(q.IDs))
	case len(q.Text) > MaxDeadLetterText:
		return Errorf(InvalidArgument, "filter.text: at most %d bytes are allowed, there are %d", MaxDeadLetterText, len(q.Text))
	case !q.Since.IsZero() && !q.Before.IsZero() && !q.Since.Before(q.Before):
		return Errorf(InvalidArgument, "filter.beforeTime: must be later than filter.sinceTime")
	case q.From != SubscriptionName{} && q.From.Validate() != nil:
		return Errorf(InvalidArgument, "filter.subscription: must be of the form projects/PROJECT/subscriptions/ID")
	case q.Holder != SubscriptionName{} && q.Holder.Validate() != nil:
		return Errorf(InvalidArgument, "deadLetterSubscription: must be of the form projects/PROJECT/subscriptions/ID")
	}
	return nil
}

// bounds are the ids between which all that is selected lies, both included.
func (f DeadLetterFilter) bounds() (low, high MessageID) {
	high = MessageID{math.MaxInt64, maxSeq}
	if !f.Since.IsZero() {
		low.Milli = f.Since.Add(time.Millisecond - 1).UnixMilli()
	}
	if !f.Before.IsZero() {
		high = MessageID{f.Before.Add(time.Millisecond-1).UnixMilli() - 1, maxSeq}
	}
	if len(f.IDs) > 0 {
		first, last := slices.MinFunc(f.IDs, MessageID.Compare), slices.MaxFunc(f.IDs, MessageID.Compare)
		if first.Compare(low) > 0 {
			low = first
		}
		if last.Compare(high) < 0 {
			high = last
		}
	}
	return low, high
}

// letterSearch is a query made ready to look at many messages.
type letterSearch struct {
	DeadLetterQuery
	text      []byte
	ids       []MessageID // those of the filter, sorted
	low, high MessageID
}

func (q DeadLetterQuery) search() *letterSearch {
	l := &letterSearch{DeadLetterQuery: q, text: bytes.ToLower([]byte(q.Text))}
	l.low, l.high = q.bounds()
	l.ids = slices.SortedFunc(slices.Values(q.distinctIDs()), MessageID.Compare)
	return l
}

// selects tells whether a dead letter is looked for.
func (l *letterSearch) selects(m Message, o Origin) bool {
	return m.ID.Compare(l.low) >= 0 && m.ID.Compare(l.high) <= 0 &&
		l.names(m.ID) &&
		(l.Subscription == SubscriptionName{} || o.Subscription == l.Subscription) &&
		(l.From == SubscriptionName{} || o.Subscription == l.From) &&
		l.hasText(m)
}

// names tells whether an id is one of those that were named, if any were.
func (l *letterSearch) names(id MessageID) bool {
	_, found := slices.BinarySearchFunc(l.ids, id, MessageID.Compare)
	return found || len(l.ids) == 0
}

// namedAfter are the ids that lie after another one, of those that were named.
func (l *letterSearch) namedAfter(id MessageID) []MessageID {
	i, found := slices.BinarySearchFunc(l.ids, id, MessageID.Compare)
	if found {
		i++
	}
	return l.ids[i:]
}

// most is how many messages after a place are worth a look at once: what lies
// between ids that were named is passed over.
func (l *letterSearch) most(after PeekPlace, limit int) int {
	if len(l.ids) == 0 {
		return limit
	}
	return min(limit, len(l.namedAfter(after.ID)))
}

func (l *letterSearch) hasText(m Message) bool {
	if len(l.text) == 0 || bytes.Contains(bytes.ToLower(m.Data), l.text) {
		return true
	}
	text := string(l.text)
	if strings.Contains(strings.ToLower(m.OrderingKey), text) {
		return true
	}
	for k, v := range m.Attributes {
		if k == ReasonAttribute {
			k = "" // what we call it is nothing to look for
		} else if isBookkeeping(k) {
			continue
		}
		if strings.Contains(strings.ToLower(k), text) || strings.Contains(strings.ToLower(v), text) {
			return true
		}
	}
	return false
}

// from is the place from which on something may be selected, and past says that
// there is nothing any more.
func (l *letterSearch) from(p PeekPlace) (place PeekPlace, past bool) {
	named := l.namedAfter(p.ID)
	if p.ID.Compare(l.high) >= 0 || len(l.ids) > 0 && len(named) == 0 {
		p.Part, p.ID, named = p.Part+1, MessageID{}, l.ids
	}
	low := l.low
	if len(named) > 0 && named[0].Compare(low) > 0 {
		low = named[0]
	}
	if before := low.before(); p.ID.Compare(before) < 0 {
		p.ID = before
	}
	return p, p.Part > PeekAhead
}

// maxSeq is higher than the Seq of any message, and has as many digits as stores
// provide for.
const maxSeq = 9_999_999_999_999_999

// before is the highest id that is lower.
func (id MessageID) before() MessageID {
	switch {
	case id.Seq > 0:
		return MessageID{id.Milli, id.Seq - 1}
	case id.Milli > 0:
		return MessageID{id.Milli - 1, maxSeq}
	}
	return MessageID{}
}

// DeadLetters lists dead letters, of each subscription that holds some in the order
// in which they were moved. A page may be shorter than asked, even empty, and have a next one: what one page looks at is
// bounded. NOT_FOUND; FAILED_PRECONDITION when the subscription has no
// dead-letter topic or that does not exist; INVALID_ARGUMENT.
func (s *Service) DeadLetters(ctx context.Context, q DeadLetterQuery, p Page) (letters []DeadLetter, next string, err error) {
	if err := q.named(); err != nil {
		return nil, "", err
	}
	topic, holders, err := s.holders(ctx, q)
	if err := firstError(err, q.validate()); err != nil {
		return nil, "", err
	}
	size, after, err := p.start()
	if err != nil {
		return nil, "", err
	}
	at, token, _ := strings.Cut(after, " ")
	place, err := parsePeekPlace(p.Token, token)
	if err != nil {
		return nil, "", err
	}
	found := &letterPage{search: q.search(), topic: topic, size: size, steps: peekSteps}
	for _, holder := range holders {
		name := holder.holderName()
		if name < at {
			continue
		}
		if name > at {
			place = PeekPlace{}
		}
		more, err := s.searchHolder(ctx, holder, found, place)
		if err != nil {
			return nil, "", err
		}
		if more || found.full() {
			return found.letters, pageToken(name + " " + found.place.String()), nil
		}
	}
	return found.letters, "", nil
}

// letterPage collects dead letters.
type letterPage struct {
	search  *letterSearch
	topic   Topic
	size    int // how many are wanted
	steps   int // how many steps of the store it may still take
	bytes   int
	letters []DeadLetter
	place   PeekPlace
}

func (p *letterPage) full() bool {
	return len(p.letters) >= p.size || p.steps <= 0 || p.bytes >= peekBytes
}

// add takes a dead letter if it is looked for.
func (p *letterPage) add(holder Subscription, m Peeked) {
	o, ok := originOf(m.Message)
	if ok && p.search.selects(m.Message, o) {
		p.bytes += m.Message.Size()
		p.letters = append(p.letters, DeadLetter{
			Peeked: m, Topic: p.topic.Name, Owner: p.topic.Labels[OwnerLabel], Holder: holder.Name, Origin: o,
		})
	}
}

// holderName is the name in a page token; a dead-letter topic without
// subscriptions has "-".
func (s Subscription) holderName() string {
	if s.UID == "" {
		return "-"
	}
	return s.Name.String()
}

// holders are the dead-letter topic of a query and the subscriptions that hold
// its dead letters, in order of their names: one without a UID where the topic
// has none.
func (s *Service) holders(ctx context.Context, q DeadLetterQuery) (topic Topic, holders []Subscription, err error) {
	name := q.Topic
	if q.Subscription != (SubscriptionName{}) {
		sub, err := s.GetSubscription(ctx, q.Subscription)
		if err != nil {
			return topic, nil, err
		}
		if err := s.hasDeadLetterTopic(ctx, sub); err != nil {
			return topic, nil, err
		}
		name = sub.DeadLetter.Topic
	}
	if topic, err = s.GetTopic(ctx, name); err != nil {
		return topic, nil, err
	}
	names, err := s.store.Attached(ctx, topic.UID)
	if err != nil {
		return topic, nil, err
	}
	if q.Holder != (SubscriptionName{}) {
		if !slices.Contains(names, q.Holder) {
			return topic, nil, Errorf(NotFound, "deadLetterSubscription: %s is no subscription of %s", q.Holder, topic.Name)
		}
		names = []SubscriptionName{q.Holder}
	}
	for _, name := range names {
		sub, err := s.directory.subscription(ctx, name)
		if CodeOf(err) == NotFound {
			continue // it is being made or deleted
		}
		if err != nil {
			return topic, nil, err
		}
		holders = append(holders, sub)
	}
	if len(holders) == 0 {
		holders = []Subscription{{TopicUID: topic.UID}}
	}
	return topic, holders, nil
}

// searchHolder looks through what one subscription holds, from a place on, until
// the page is full. It tells whether there is more.
func (s *Service) searchHolder(ctx context.Context, holder Subscription, page *letterPage, place PeekPlace) (more bool, err error) {
	ctx, cancel := step(ctx)
	defer cancel()
	for more = true; more && !page.full(); {
		from, past := page.search.from(place)
		if past {
			return false, nil
		}
		page.steps--
		res, err := s.peekHolder(ctx, holder, from, page.search.most(from, page.size-len(page.letters)))
		if err != nil {
			return false, err
		}
		for _, m := range res.Messages {
			page.add(holder, m)
		}
		place, more = res.Next, res.More
		page.place = place
	}
	return more, nil
}

// peekHolder is one step of looking at what a subscription of a dead-letter topic
// holds, or what a topic without subscriptions keeps.
func (s *Service) peekHolder(ctx context.Context, holder Subscription, after PeekPlace, limit int) (res PeekResult, err error) {
	if holder.UID == "" {
		return s.store.PeekLog(ctx, holder.TopicUID, after.ID, limit)
	}
	err = s.directory.withSubscription(ctx, holder.Name, func(sub Subscription) (err error) {
		if sub.UID != holder.UID {
			return subscriptionNotFound(holder.Name)
		}
		res, err = s.store.Peek(ctx, PeekRequest{Ref: sub.Ref(), Rules: sub.Rules(s.outstanding), After: after, Max: limit})
		return err
	})
	return res, err
}
