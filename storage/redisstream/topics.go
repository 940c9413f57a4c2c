package redisstream

import (
	"context"
	"slices"
	"strings"

	"postrider/subscriptions"
)

var (
	openScript  = newScript("open_topic", onTopic...)
	closeScript = newScript("close_topic", with(onTopic, "empty")...)
	trimScript  = newScript("trim", with(onTopic, "trim_log")...)
)

// OpenTopic implements subscriptions.Log.
func (s *Store) OpenTopic(ctx context.Context, topic subscriptions.TopicRef) error {
	_, err := s.run(ctx, openScript, s.keys.topicSlot(topic.UID)[:4], s.now(), topic.Revision, s.keys.wake(topic.UID))
	return err
}

// CloseTopic implements subscriptions.Log.
func (s *Store) CloseTopic(ctx context.Context, uid string) error {
	_, err := s.run(ctx, closeScript, s.keys.topicSlot(uid), s.now(), "", s.keys.wake(uid))
	return err
}

// Attached implements subscriptions.Log.
func (s *Store) Attached(ctx context.Context, uid string) ([]subscriptions.SubscriptionName, error) {
	texts, err := s.client.HVals(ctx, s.keys.topic(uid, "subs")).Result()
	if err != nil {
		return nil, failed(ctx, "attached", err)
	}
	slices.Sort(texts)
	names := make([]subscriptions.SubscriptionName, len(texts))
	for i, text := range texts {
		names[i] = parseSubscription(text)
	}
	return names, nil
}

// Trim implements subscriptions.Log.
func (s *Store) Trim(ctx context.Context, uid string) (more bool, err error) {
	reply, err := s.run(ctx, trimScript, s.keys.topicSlot(uid)[:4], s.now())
	if err != nil {
		return false, err
	}
	f := fields{name: "trim", rest: reply}
	return f.int() == 1, f.err
}

// Names are stored as their text and read without judging it: what is stored was judged when it came in, by the rules of
// its time.

func parseSubscription(text string) subscriptions.SubscriptionName {
	project, id := splitName(text)
	return subscriptions.SubscriptionName{Project: project, ID: id}
}

func parseTopic(text string) subscriptions.TopicName {
	project, id := splitName(text)
	return subscriptions.TopicName{Project: project, ID: id}
}

// splitName takes projects/PROJECT/collection/ID apart.
func splitName(text string) (project, id string) {
	parts := strings.SplitN(text, "/", 4)
	if len(parts) < 4 {
		return "", text
	}
	return parts[1], parts[3]
}
