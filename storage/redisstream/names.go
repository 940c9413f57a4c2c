package redisstream

import (
	"strings"

	"postrider/subscriptions"
)

// Names are stored as their text and read without judging it: what is stored was judged when it came in, by the rules of
// its time.

func parseSubscription(text string) subscriptions.SubscriptionName {
	project, id := splitName(text)
	return subscriptions.SubscriptionName{Project: project, ID: id}
}

func parseSnapshot(text string) subscriptions.SnapshotName {
	project, id := splitName(text)
	return subscriptions.SnapshotName{Project: project, ID: id}
}

func parseOperation(text string) subscriptions.OperationName {
	project, id := splitName(text)
	return subscriptions.OperationName{Project: project, ID: id}
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
