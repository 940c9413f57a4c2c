package server

import (
	"fmt"
	"time"

	"postrider/server/api"
	"postrider/server/rules"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// topicOf makes the domain's topic of the fields that a request is about.
func topicOf(name subscriptions.TopicName, in api.Topic, about rules.Fields) (subscriptions.Topic, error) {
	if err := agree(in.Name, name); err != nil {
		return subscriptions.Topic{}, err
	}
	if err := unbuiltOfTopic(in).Refuse(about); err != nil {
		return subscriptions.Topic{}, err
	}
	t := subscriptions.Topic{Name: name, Labels: in.Labels}
	var err error
	if about("messageRetentionDuration") {
		t.Retention, err = rules.Retention(duration(in.MessageRetentionDuration))
	}
	return t, err
}

func apiTopic(t subscriptions.Topic) api.Topic {
	out := api.Topic{Name: t.Name.String(), Labels: t.Labels, State: api.TopicStateActive}
	if t.Retention != 0 {
		out.MessageRetentionDuration = wire.NewDuration(t.Retention)
	}
	return out
}

func messagesOf(in []api.PubsubMessage) []subscriptions.Message {
	out := make([]subscriptions.Message, len(in))
	for i, m := range in {
		out[i] = subscriptions.Message{Data: m.Data, Attributes: m.Attributes, OrderingKey: m.OrderingKey}
	}
	return out
}

// agree refuses a name in a body that is not the one in the path.
func agree(inBody string, inPath fmt.Stringer) error {
	if inBody != "" && inBody != inPath.String() {
		return subscriptions.Errorf(subscriptions.InvalidArgument, "name: %q is not what the path names, %s", clip(inBody), inPath)
	}
	return nil
}

func pageOf(size api.PageSize, token api.PageToken) subscriptions.Page {
	return subscriptions.Page{Size: int(size), Token: token}
}

func seconds(n wire.Int32) time.Duration { return time.Duration(n) * time.Second }

func duration(d *wire.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	t := d.Duration()
	return &t
}
