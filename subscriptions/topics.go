package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

// CreateTopic creates a topic from its name and configuration.
// INVALID_ARGUMENT, ALREADY_EXISTS; ABORTED when it was deleted meanwhile.
func (s *Service) CreateTopic(ctx context.Context, t Topic) (Topic, error) {
	if err := firstError(t.Name.Validate(), t.validate()); err != nil {
		return Topic{}, err
	}
	t.UID, t.Phase, t.Revision = newUID(), Creating, 1
	err := inserted(
		func() error { return s.store.InsertTopic(ctx, t) },
		func() error { return s.settleTopic(ctx, t.Name) })
	if err != nil {
		return Topic{}, err
	}
	created, err := s.finishCreateTopic(ctx, t)
	return created, ofCreation(t.Name, err)
}

// settleTopic finishes what a name's record says is half-made. It fails with
// ALREADY_EXISTS when there is an active topic then.
func (s *Service) settleTopic(ctx context.Context, name TopicName) error {
	t, err := s.store.Topic(ctx, name)
	switch {
	case CodeOf(err) == NotFound:
		return nil
	case err != nil:
		return err
	case t.Phase == Deleting:
		return s.finishDeleteTopic(ctx, t)
	case t.Phase == Creating:
		if _, err := s.finishCreateTopic(ctx, t); err != nil {
			return err
		}
	}
	return Errorf(AlreadyExists, "%s already exists", name)
}

// finishCreateTopic takes a record from Creating to Active. Any server may do
// it, and more than one at once.
func (s *Service) finishCreateTopic(ctx context.Context, t Topic) (Topic, error) {
	t.Phase, t.Revision = Active, t.Revision+1
	if err := s.store.OpenTopic(ctx, t.Ref()); err != nil && !errors.Is(err, ErrStale) {
		if errors.Is(err, ErrGone) { // deleted by another caller meanwhile
			return Topic{}, vanished(t.Name)
		}
		return Topic{}, err
	}
	if err := s.store.ReplaceTopic(ctx, t); err == nil {
		return t, nil
	} else if CodeOf(err) != Aborted {
		return Topic{}, err
	}
	// Another server came first: to finish it too, or to delete it since.
	now, err := s.directory.reloadTopic(ctx, t.Name)
	if CodeOf(err) == NotFound || err == nil && now.UID != t.UID {
		return Topic{}, firstError(s.store.CloseTopic(ctx, t.UID), vanished(t.Name))
	}
	return now, err
}

// GetTopic returns a topic. NOT_FOUND.
func (s *Service) GetTopic(ctx context.Context, name TopicName) (Topic, error) {
	if err := name.Validate(); err != nil {
		return Topic{}, err
	}
	t, err := s.store.Topic(ctx, name)
	switch {
	case CodeOf(err) == NotFound || err == nil && t.Phase == Deleting:
		return Topic{}, topicNotFound(name)
	case err == nil && t.Phase == Creating:
		return s.finishCreateTopic(ctx, t)
	}
	return t, err
}

// ListTopics returns a page of a project's topics in order of id, and the token
// of the next page, empty at the end. INVALID_ARGUMENT.
func (s *Service) ListTopics(ctx context.Context, project string, p Page) ([]Topic, string, error) {
	if err := ValidateProject(project); err != nil {
		return nil, "", err
	}
	size, after, err := p.start()
	if err != nil {
		return nil, "", err
	}
	return listed(size, after,
		func(t Topic) string { return t.Name.ID },
		func(t Topic) bool { return t.Phase == Active },
		func(after string, limit int) ([]Topic, error) {
			return s.store.ListTopics(ctx, project, after, limit)
		})
}

// UpdateTopic sets the fields that mask names to what they are in change.
// NOT_FOUND, INVALID_ARGUMENT.
func (s *Service) UpdateTopic(ctx context.Context, change Topic, mask []string) (Topic, error) {
	var retained time.Duration
	updated, err := replaced(
		func() (Topic, error) { return s.GetTopic(ctx, change.Name) },
		func(t Topic) (Topic, error) {
			retained = t.Retention
			t, err := applyTopicMask(t, change, mask)
			t.Revision++
			return t, err
		},
		func(t Topic) error { return s.store.ReplaceTopic(ctx, t) })
	if err != nil {
		return Topic{}, err
	}
	// The record counts; the slot learns of it now or with the next step.
	if err := s.store.OpenTopic(ctx, updated.Ref()); err != nil && !outdated(err) {
		return Topic{}, err
	}
	s.directory.forgetTopic(change.Name)
	if updated.Retention < retained {
		return updated, s.trim(ctx, updated.UID)
	}
	return updated, nil
}

// DeleteTopic deletes a topic. Its subscriptions stay with their backlog; their
// topic reads DeletedTopic from then on. NOT_FOUND.
func (s *Service) DeleteTopic(ctx context.Context, name TopicName) error {
	t, err := replaced(
		func() (Topic, error) { return s.GetTopic(ctx, name) },
		func(t Topic) (Topic, error) {
			t.Phase, t.Revision = Deleting, t.Revision+1
			return t, nil
		},
		func(t Topic) error { return s.store.ReplaceTopic(ctx, t) })
	if err != nil {
		return err
	}
	return s.finishDeleteTopic(ctx, t)
}

// finishDeleteTopic closes the slot of a tombstone, then removes the tombstone.
func (s *Service) finishDeleteTopic(ctx context.Context, t Topic) error {
	if err := s.store.CloseTopic(ctx, t.UID); err != nil {
		return err
	}
	s.directory.forgetTopic(t.Name)
	return s.store.RemoveTopic(ctx, t.Name, t.UID)
}

// ListTopicSubscriptions returns a page of the names of the subscriptions
// attached to a topic, of whatever project. NOT_FOUND, INVALID_ARGUMENT.
func (s *Service) ListTopicSubscriptions(ctx context.Context, name TopicName, p Page) ([]SubscriptionName, string, error) {
	t, err := s.GetTopic(ctx, name)
	if err != nil {
		return nil, "", err
	}
	size, after, err := p.start()
	if err != nil {
		return nil, "", err
	}
	names, err := s.store.Attached(ctx, t.UID)
	if err != nil {
		return nil, "", err
	}
	page, next := namesAfter(names, size, after)
	return page, next, nil
}

// namesAfter is a page of sorted names, and the token of the next.
func namesAfter[N fmt.Stringer](names []N, size int, after string) (page []N, next string) {
	for _, n := range names {
		if n.String() <= after {
			continue
		}
		if len(page) == size {
			return page, pageToken(page[size-1].String())
		}
		page = append(page, n)
	}
	return page, ""
}

// applyTopicMask returns t with the masked fields of change.
func applyTopicMask(t, change Topic, mask []string) (Topic, error) {
	fields, err := maskFields(mask, topicFields)
	if err != nil {
		return Topic{}, err
	}
	if fields["labels"] {
		t.Labels = maps.Clone(change.Labels)
	}
	if fields["messageRetentionDuration"] {
		t.Retention = change.Retention
	}
	return t, t.validate()
}

func (t Topic) validate() error {
	if t.Retention != 0 {
		return firstError(validateLabels(t.Labels), validateRetention(t.Retention))
	}
	return validateLabels(t.Labels)
}
