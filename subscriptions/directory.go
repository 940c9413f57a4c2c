package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// directory holds the records that this server has read, so that the main way
// needs no look at the catalog. It may be behind: every step carries the
// record's revision, and the slot's answer ErrStale or ErrGone makes it read
// the record again.
type directory struct {
	store Store

	mu            sync.RWMutex
	topics        map[TopicName]Topic
	subscriptions map[SubscriptionName]Subscription
}

func newDirectory(store Store) *directory {
	return &directory{
		store:         store,
		topics:        map[TopicName]Topic{},
		subscriptions: map[SubscriptionName]Subscription{},
	}
}

// maxReloads bounds how often a call starts again with a fresher record.
const maxReloads = 4

// topic returns the active topic of this name. NOT_FOUND.
func (d *directory) topic(ctx context.Context, name TopicName) (Topic, error) {
	d.mu.RLock()
	t, ok := d.topics[name]
	d.mu.RUnlock()
	if ok {
		return t, nil
	}
	return d.reloadTopic(ctx, name)
}

// reloadTopic reads the record from the catalog. NOT_FOUND unless it is active.
func (d *directory) reloadTopic(ctx context.Context, name TopicName) (Topic, error) {
	t, err := d.store.Topic(ctx, name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil || t.Phase != Active {
		delete(d.topics, name)
		if err == nil || CodeOf(err) == NotFound {
			return Topic{}, topicNotFound(name)
		}
		return Topic{}, err
	}
	d.topics[name] = t
	return t, nil
}

// subscription returns the active subscription of this name. NOT_FOUND.
func (d *directory) subscription(ctx context.Context, name SubscriptionName) (Subscription, error) {
	d.mu.RLock()
	s, ok := d.subscriptions[name]
	d.mu.RUnlock()
	if ok {
		return s, nil
	}
	return d.reloadSubscription(ctx, name)
}

// reloadSubscription reads the record from the catalog. NOT_FOUND unless it is
// active.
func (d *directory) reloadSubscription(ctx context.Context, name SubscriptionName) (Subscription, error) {
	s, err := d.store.Subscription(ctx, name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil || s.Phase != Active {
		delete(d.subscriptions, name)
		if err == nil || CodeOf(err) == NotFound {
			return Subscription{}, subscriptionNotFound(name)
		}
		return Subscription{}, err
	}
	if s, err = s.prepared(); err != nil {
		delete(d.subscriptions, name)
		return Subscription{}, err
	}
	d.subscriptions[name] = s
	return s, nil
}

// withTopic runs a step on the topic's slot, again with a fresher record when
// the slot says that this one is out of date.
func (d *directory) withTopic(ctx context.Context, name TopicName, do func(Topic) error) error {
	t, err := d.topic(ctx, name)
	for range maxReloads {
		if err != nil {
			return stateLost(err, name)
		}
		if err = do(t); !outdated(err) {
			return err
		}
		old, gone := t, errors.Is(err, ErrGone)
		if t, err = d.reloadTopic(ctx, name); err == nil && gone && t.Ref() == old.Ref() {
			// The record stands, the slot does not: the store lost it.
			err = d.store.OpenTopic(ctx, t.Ref())
		}
	}
	return keptChanging(err, name)
}

// withSubscription is withTopic for a subscription.
func (d *directory) withSubscription(ctx context.Context, name SubscriptionName, do func(Subscription) error) error {
	s, err := d.subscription(ctx, name)
	for range maxReloads {
		if err != nil {
			return stateLost(err, name)
		}
		if err = do(s); !outdated(err) {
			return err
		}
		old, gone := s, errors.Is(err, ErrGone)
		if s, err = d.reloadSubscription(ctx, name); err == nil && gone && s.Ref() == old.Ref() && !s.Detached {
			err = d.store.Attach(ctx, s.Ref(), s.Name)
		}
	}
	return keptChanging(err, name)
}

// stateLost explains that a record could not be given its state in the slot back.
func stateLost(err error, name fmt.Stringer) error {
	if !outdated(err) {
		return err
	}
	return WrapError(err, FailedPrecondition, "the store has lost what it kept of %s; delete it and create it again", name)
}

func keptChanging(err error, name fmt.Stringer) error {
	if err != nil && !outdated(err) {
		return err
	}
	return WrapError(err, Aborted, "%s kept changing during the call; try again", name)
}

// forgetTopic drops what is remembered, so that the next call reads the catalog.
func (d *directory) forgetTopic(name TopicName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.topics, name)
}

// forgetSubscription is forgetTopic for a subscription.
func (d *directory) forgetSubscription(name SubscriptionName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.subscriptions, name)
}

// outdated tells whether a store refused a step for the record it carried.
func outdated(err error) bool { return errors.Is(err, ErrStale) || errors.Is(err, ErrGone) }

func topicNotFound(name TopicName) error {
	return Errorf(NotFound, "%s does not exist", name)
}

func subscriptionNotFound(name SubscriptionName) error {
	return Errorf(NotFound, "%s does not exist", name)
}
