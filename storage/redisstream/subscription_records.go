package redisstream

import (
	"context"

	"postrider/subscriptions"
)

// InsertSubscription implements subscriptions.SubscriptionCatalog.
func (s *Store) InsertSubscription(ctx context.Context, sub subscriptions.Subscription) error {
	stored, err := encodeSubscription(sub)
	if err != nil {
		return err
	}
	if err := s.noteProject(ctx, sub.Name.Project); err != nil {
		return err
	}
	added, err := s.write(ctx, insertScript, sub.Name.Project, sub.Name.String(), subscribers+sub.Name.ID, stored)
	if err == nil && !added {
		return subscriptions.Errorf(subscriptions.AlreadyExists, "the subscription %s exists already", sub.Name)
	}
	return err
}

// Subscription implements subscriptions.SubscriptionCatalog.
func (s *Store) Subscription(ctx context.Context, name subscriptions.SubscriptionName) (subscriptions.Subscription, error) {
	stored, found, err := s.record(ctx, name.Project, subscribers+name.ID)
	if err != nil {
		return subscriptions.Subscription{}, err
	}
	if !found {
		return subscriptions.Subscription{}, subscriptions.Errorf(subscriptions.NotFound, "there is no subscription %s", name)
	}
	return decodeSubscription(name, stored)
}

// ReplaceSubscription implements subscriptions.SubscriptionCatalog.
func (s *Store) ReplaceSubscription(ctx context.Context, sub subscriptions.Subscription) error {
	stored, err := encodeSubscription(sub)
	if err != nil {
		return err
	}
	replaced, err := s.write(ctx, replaceScript, sub.Name.Project, sub.Name.String(),
		subscribers+sub.Name.ID, ofRevision(sub.UID, sub.Revision-1), stored)
	if err == nil && !replaced {
		return subscriptions.Errorf(subscriptions.Aborted, "the subscription %s was changed by another request", sub.Name)
	}
	return err
}

// RemoveSubscription implements subscriptions.SubscriptionCatalog.
func (s *Store) RemoveSubscription(ctx context.Context, name subscriptions.SubscriptionName, uid string) error {
	_, err := s.write(ctx, removeScript, name.Project, name.String(), subscribers+name.ID, ofUID(uid))
	return err
}

// ListSubscriptions implements subscriptions.SubscriptionCatalog.
func (s *Store) ListSubscriptions(
	ctx context.Context, project, after string, limit int,
) ([]subscriptions.Subscription, error) {
	reply, err := s.run(ctx, listScript, s.keys.catalog(project), subscribers+after, afterSubscribers, limit)
	if err != nil {
		return nil, err
	}
	return decodeList(reply, func(id, stored string) (subscriptions.Subscription, error) {
		return decodeSubscription(subscriptions.SubscriptionName{Project: project, ID: id}, stored)
	})
}
