package subscriptions

import (
	"context"
	"errors"
	"time"
)

// CreateSubscription creates a subscription from its name, topic and
// configuration; what is unset gets its default. It receives what is published
// from now on. NOT_FOUND (topic or dead-letter topic), INVALID_ARGUMENT,
// ALREADY_EXISTS; ABORTED when it was deleted meanwhile.
func (s *Service) CreateSubscription(ctx context.Context, sub Subscription) (Subscription, error) {
	if err := firstError(sub.Name.Validate(), sub.Topic.Validate()); err != nil {
		return Subscription{}, err
	}
	topic, err := s.GetTopic(ctx, sub.Topic)
	if err != nil {
		return Subscription{}, err
	}
	push := sub.Push
	sub.Push = nil
	sub.setPush(push, sub.PushAttributes)
	sub, err = s.withExpiration(sub).withNewExtensions()
	if err := firstError(err, sub.complete(), sub.validateNewRouting(), s.certificateExists(sub, ""), s.deadLetterTopicExists(ctx, sub)); err != nil {
		return Subscription{}, err
	}
	if err := s.checkEndpoint(ctx, sub); err != nil {
		return Subscription{}, err
	}
	sub.UID, sub.TopicUID, sub.Phase, sub.Revision = newUID(), topic.UID, Creating, 1
	sub.TopicRetention = topic.Retention
	err = inserted(
		func() error { return s.store.InsertSubscription(ctx, sub) },
		func() error { return s.settleSubscription(ctx, sub.Name) })
	if err != nil {
		return Subscription{}, err
	}
	created, err := s.finishCreateSubscription(ctx, sub)
	return created, ofCreation(sub.Name, err)
}

func (s *Service) deadLetterTopicExists(ctx context.Context, sub Subscription) error {
	if sub.DeadLetter == nil {
		return nil
	}
	if err := sub.DeadLetter.Topic.Validate(); err != nil {
		return WrapError(err, InvalidArgument, "deadLetterPolicy.deadLetterTopic: must be of the form projects/PROJECT/topics/ID")
	}
	_, err := s.GetTopic(ctx, sub.DeadLetter.Topic)
	return err
}

// settleSubscription finishes what a name's record says is half-made. It fails
// with ALREADY_EXISTS when there is an active subscription then.
func (s *Service) settleSubscription(ctx context.Context, name SubscriptionName) error {
	sub, err := s.store.Subscription(ctx, name)
	switch {
	case CodeOf(err) == NotFound:
		return nil
	case err != nil:
		return err
	case sub.Phase == Deleting:
		return s.finishDeleteSubscription(ctx, sub)
	case sub.Phase == Creating:
		_, err := s.finishCreateSubscription(ctx, sub)
		if CodeOf(err) == NotFound {
			return nil // its topic went first: the name is free again
		}
		if err != nil {
			return err
		}
	}
	return Errorf(AlreadyExists, "%s already exists", name)
}

// finishCreateSubscription takes a record from Creating to Active, or away when
// its topic was deleted meanwhile (NOT_FOUND). Any server may do it.
func (s *Service) finishCreateSubscription(ctx context.Context, sub Subscription) (Subscription, error) {
	sub.Phase, sub.Revision = Active, sub.Revision+1
	err := s.store.Attach(ctx, sub.Ref(), sub.Name)
	if errors.Is(err, ErrGone) {
		// It may have been attached before the topic was closed.
		return Subscription{}, firstError(s.finishDeleteSubscription(ctx, sub), topicNotFound(sub.Topic))
	}
	if err != nil && !errors.Is(err, ErrStale) {
		return Subscription{}, err
	}
	if err := s.store.ReplaceSubscription(ctx, sub); err == nil {
		return sub, nil
	} else if CodeOf(err) != Aborted {
		return Subscription{}, err
	}
	// Another server came first: to finish it too, or to delete it since.
	now, err := s.directory.reloadSubscription(ctx, sub.Name)
	if CodeOf(err) == NotFound || err == nil && now.UID != sub.UID {
		return Subscription{}, firstError(s.store.Drop(ctx, sub.TopicUID, sub.UID), vanished(sub.Name))
	}
	return now, err
}

// GetSubscription returns a subscription. NOT_FOUND.
func (s *Service) GetSubscription(ctx context.Context, name SubscriptionName) (Subscription, error) {
	sub, err := s.readSubscription(ctx, name)
	if err != nil {
		return Subscription{}, err
	}
	subs := []Subscription{sub}
	if err := s.withExpiry(ctx, subs); err != nil {
		return Subscription{}, err
	}
	return s.withTopicState(ctx, subs[0])
}

// readSubscription returns the active record of the catalog.
func (s *Service) readSubscription(ctx context.Context, name SubscriptionName) (Subscription, error) {
	if err := name.Validate(); err != nil {
		return Subscription{}, err
	}
	sub, err := s.store.Subscription(ctx, name)
	switch {
	case CodeOf(err) == NotFound || err == nil && sub.Phase == Deleting:
		return Subscription{}, subscriptionNotFound(name)
	case err == nil && sub.Phase == Creating:
		return s.finishCreateSubscription(ctx, sub)
	}
	return sub, err
}

// withTopicState finds out whether the subscription's topic is still there.
// That a topic of the same name is does not count.
func (s *Service) withTopicState(ctx context.Context, sub Subscription) (Subscription, error) {
	t, err := s.store.Topic(ctx, sub.Topic)
	if err != nil && CodeOf(err) != NotFound {
		return Subscription{}, err
	}
	sub.TopicDeleted = err != nil || t.UID != sub.TopicUID || t.Phase == Deleting
	sub.TopicRetention = 0
	if !sub.TopicDeleted {
		sub.TopicRetention = t.Retention
	}
	return sub, nil
}

// ListSubscriptions returns a page of a project's subscriptions in order of id,
// and the token of the next page, empty at the end. INVALID_ARGUMENT.
func (s *Service) ListSubscriptions(ctx context.Context, project string, p Page) ([]Subscription, string, error) {
	if err := ValidateProject(project); err != nil {
		return nil, "", err
	}
	size, after, err := p.start()
	if err != nil {
		return nil, "", err
	}
	page, next, err := listed(size, after,
		func(s Subscription) string { return s.Name.ID },
		func(s Subscription) bool { return s.Phase == Active },
		func(after string, limit int) ([]Subscription, error) {
			return s.store.ListSubscriptions(ctx, project, after, limit)
		})
	if err == nil {
		err = s.withExpiry(ctx, page)
	}
	if err != nil {
		return nil, "", err
	}
	known := map[string]Subscription{} // many subscriptions share a topic
	for i, sub := range page {
		if other, ok := known[sub.TopicUID]; ok {
			page[i].TopicDeleted, page[i].TopicRetention = other.TopicDeleted, other.TopicRetention
			continue
		}
		if page[i], err = s.withTopicState(ctx, sub); err != nil {
			return nil, "", err
		}
		known[sub.TopicUID] = page[i]
	}
	return page, next, err
}

// UpdateSubscription sets the fields that mask names to what they are in change.
// NOT_FOUND, INVALID_ARGUMENT.
func (s *Service) UpdateSubscription(ctx context.Context, change Subscription, mask []string) (Subscription, error) {
	return s.changeSubscription(ctx, change.Name, func(sub Subscription) (Subscription, error) {
		before := sub.ClientCertificate
		sub, err := applySubscriptionMask(sub, change, mask)
		if err != nil {
			return sub, err
		}
		sub = s.withExpiration(sub)
		err = firstError(sub.complete(), s.certificateExists(sub, before), s.deadLetterTopicExists(ctx, sub))
		if err == nil && setsEndpoint(mask) {
			err = s.checkEndpoint(ctx, sub)
		}
		return sub, err
	})
}

// ModifyPushConfig makes the subscription push to another endpoint, or pull when
// push is nil. Nothing of the backlog is lost. NOT_FOUND, INVALID_ARGUMENT.
func (s *Service) ModifyPushConfig(ctx context.Context, name SubscriptionName, push *PushConfig, attributes map[string]string) error {
	_, err := s.changeSubscription(ctx, name, func(sub Subscription) (Subscription, error) {
		sub.setPush(push, attributes)
		if err := sub.validatePush(); err != nil {
			return sub, err
		}
		return sub, s.checkEndpoint(ctx, sub)
	})
	return err
}

// changeSubscription changes a record and lets the slot, and with it every
// server, know.
func (s *Service) changeSubscription(ctx context.Context, name SubscriptionName, change func(Subscription) (Subscription, error)) (Subscription, error) {
	var retained time.Duration
	var endpoint string
	sub, err := replaced(
		func() (Subscription, error) { return s.readSubscription(ctx, name) },
		func(sub Subscription) (Subscription, error) {
			retained, endpoint = sub.Ref().Retain, orZero(sub.Push).Endpoint
			sub, err := change(sub)
			sub.Revision++
			return sub, err
		},
		func(sub Subscription) error { return s.store.ReplaceSubscription(ctx, sub) })
	if err != nil {
		return Subscription{}, err
	}
	s.directory.forgetSubscription(name)
	if err := s.store.Revise(ctx, sub.Ref()); err != nil && !outdated(err) {
		return Subscription{}, err
	}
	if sub.IsPush() && !sub.Detached && sub.Push.Endpoint != endpoint {
		err := s.ofSame(ctx, sub, func(sub Subscription) error { return s.hasten(ctx, sub) })
		if err != nil {
			return Subscription{}, err
		}
	}
	if sub.Ref().Retain < retained {
		if err := s.trim(ctx, sub.TopicUID); err != nil {
			return Subscription{}, err
		}
	}
	return s.withTopicState(ctx, sub)
}

// DetachSubscription cuts the subscription off its topic and drops its backlog,
// for good. NOT_FOUND.
func (s *Service) DetachSubscription(ctx context.Context, name SubscriptionName) error {
	sub, err := s.changeSubscription(ctx, name, func(sub Subscription) (Subscription, error) {
		sub.Detached = true
		return sub, nil
	})
	if err != nil {
		return err
	}
	return s.dropState(ctx, sub)
}

// DeleteSubscription deletes a subscription with its backlog. NOT_FOUND.
func (s *Service) DeleteSubscription(ctx context.Context, name SubscriptionName) error {
	sub, err := replaced(
		func() (Subscription, error) { return s.readSubscription(ctx, name) },
		func(sub Subscription) (Subscription, error) {
			sub.Phase, sub.Revision = Deleting, sub.Revision+1
			return sub, nil
		},
		func(sub Subscription) error { return s.store.ReplaceSubscription(ctx, sub) })
	if err != nil {
		return err
	}
	return s.finishDeleteSubscription(ctx, sub)
}

// finishDeleteSubscription drops the state of a tombstone, then removes the
// tombstone.
func (s *Service) finishDeleteSubscription(ctx context.Context, sub Subscription) error {
	s.directory.forgetSubscription(sub.Name)
	if err := s.dropState(ctx, sub); err != nil {
		return err
	}
	return s.store.RemoveSubscription(ctx, sub.Name, sub.UID)
}

// dropState removes the subscription's state and cuts off the log what only it
// needed.
func (s *Service) dropState(ctx context.Context, sub Subscription) error {
	if err := s.store.Drop(ctx, sub.TopicUID, sub.UID); err != nil {
		return err
	}
	return s.trim(ctx, sub.TopicUID)
}

// trim cuts all that nobody needs off a topic's log, a bounded step at a time.
func (s *Service) trim(ctx context.Context, topicUID string) error {
	for {
		more, err := s.store.Trim(ctx, topicUID)
		if err != nil || !more {
			return err
		}
	}
}
