package redisstream

import (
	"context"

	"postrider/subscriptions"
)

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
