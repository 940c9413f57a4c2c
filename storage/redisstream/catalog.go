package redisstream

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"postrider/subscriptions"
)

var (
	insertScript  = newScript("insert_record")
	replaceScript = newScript("replace_record")
	removeScript  = newScript("remove_record")
	listScript    = newScript("list_records")
)

// A kind of record in a project's catalog. Names are "t/ID" and "s/ID"; '0' is the character after '/'.
const (
	topics           = "t/"
	afterTopics      = "t0"
	subscribers      = "s/"
	afterSubscribers = "s0"
)

// write runs a script on a project's catalog and tells whether it changed anything. If so, all servers are told.
func (s *Store) write(ctx context.Context, sc *script, project, fullName string, args ...any) (bool, error) {
	reply, err := s.run(ctx, sc, s.keys.catalog(project), args...)
	if err != nil {
		return false, err
	}
	f := fields{name: sc.name, rest: reply}
	if f.int() != 1 {
		return false, f.err
	}
	s.noteChange(ctx, fullName)
	return true, f.err
}

// record reads one record's stored form.
func (s *Store) record(ctx context.Context, project, name string) (stored string, found bool, err error) {
	stored, err = s.client.HGet(ctx, s.keys.catalog(project)[0], name).Result()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	return stored, err == nil, failed(ctx, "read record", err)
}

// InsertTopic implements subscriptions.TopicCatalog.
func (s *Store) InsertTopic(ctx context.Context, t subscriptions.Topic) error {
	stored, err := encodeTopic(t)
	if err != nil {
		return err
	}
	if err := s.noteProject(ctx, t.Name.Project); err != nil {
		return err
	}
	added, err := s.write(ctx, insertScript, t.Name.Project, t.Name.String(), topics+t.Name.ID, stored)
	if err == nil && !added {
		return subscriptions.Errorf(subscriptions.AlreadyExists, "the topic %s exists already", t.Name)
	}
	return err
}

// Topic implements subscriptions.TopicCatalog.
func (s *Store) Topic(ctx context.Context, name subscriptions.TopicName) (subscriptions.Topic, error) {
	stored, found, err := s.record(ctx, name.Project, topics+name.ID)
	if err != nil {
		return subscriptions.Topic{}, err
	}
	if !found {
		return subscriptions.Topic{}, subscriptions.Errorf(subscriptions.NotFound, "there is no topic %s", name)
	}
	return decodeTopic(name, stored)
}

// ReplaceTopic implements subscriptions.TopicCatalog.
func (s *Store) ReplaceTopic(ctx context.Context, t subscriptions.Topic) error {
	stored, err := encodeTopic(t)
	if err != nil {
		return err
	}
	replaced, err := s.write(ctx, replaceScript, t.Name.Project, t.Name.String(),
		topics+t.Name.ID, ofRevision(t.UID, t.Revision-1), stored)
	if err == nil && !replaced {
		return subscriptions.Errorf(subscriptions.Aborted, "the topic %s was changed by another request", t.Name)
	}
	return err
}

// RemoveTopic implements subscriptions.TopicCatalog.
func (s *Store) RemoveTopic(ctx context.Context, name subscriptions.TopicName, uid string) error {
	_, err := s.write(ctx, removeScript, name.Project, name.String(), topics+name.ID, ofUID(uid))
	return err
}

// ListTopics implements subscriptions.TopicCatalog.
func (s *Store) ListTopics(ctx context.Context, project, after string, limit int) ([]subscriptions.Topic, error) {
	reply, err := s.run(ctx, listScript, s.keys.catalog(project), topics+after, afterTopics, limit)
	if err != nil {
		return nil, err
	}
	return decodeList(reply, func(id, stored string) (subscriptions.Topic, error) {
		return decodeTopic(subscriptions.TopicName{Project: project, ID: id}, stored)
	})
}

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

// decodeList reads pairs of a name in the catalog and a record.
func decodeList[R any](reply []any, decode func(id, stored string) (R, error)) ([]R, error) {
	var records []R
	f := fields{name: listScript.name, rest: reply}
	for len(f.rest) > 0 {
		name, stored := f.text(), f.text()
		if f.err != nil {
			break
		}
		r, err := decode(name[len(topics):], stored)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, f.err
}
