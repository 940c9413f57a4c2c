package subscriptions

import (
	"maps"
	"strconv"
	"strings"
	"time"
)

// The attributes that a dead letter carries beside its own. The first are in
// Google's words.
const (
	attrSourceCount       = "CloudPubSubDeadLetterSourceDeliveryCount"
	attrSourceName        = "CloudPubSubDeadLetterSourceSubscription"
	attrSourceProject     = "CloudPubSubDeadLetterSourceSubscriptionProject"
	attrSourcePublishTime = "CloudPubSubDeadLetterSourceTopicPublishTime"

	attrSourceID       = "postrider-dead-letter-message-id"
	attrSourceTopic    = "postrider-dead-letter-topic"
	attrSourceTopicUID = "postrider-dead-letter-topic-uid"
	attrSourcePlace    = "postrider-dead-letter-place" // in the log, of what was delayed
)

// The attributes that a redriven message keeps of its history: how often it was
// redriven, how many attempts it had before, and why the last of them failed.
const (
	RedrivenAttribute         = "postrider-redriven"
	RedrivenAttemptsAttribute = "postrider-redriven-attempts"
	RedrivenReasonAttribute   = "postrider-redriven-reason"
)

const sourcePublishTimeLayout = "2006-01-02T15:04:05.999999999-07:00"

// Origin is where a dead letter comes from, and why.
type Origin struct {
	Subscription SubscriptionName
	// Topic and MessageID are unset in what a Postrider before 1.0 moved, and PublishTime
	// in what is damaged.
	Topic       TopicName
	MessageID   MessageID
	PublishTime time.Time
	// Attempts is how many it had since it was published, or redriven for the last
	// time, and Reason why the last one failed, if that is known. Failed are the
	// last of them that failed, newest first.
	Attempts int
	Reason   string
	Failed   []Attempt
	// Redriven is how often it was redriven before, and FormerAttempts how many
	// attempts it had until then, whichever subscriptions that was to.
	Redriven, FormerAttempts int

	topicUID string
	place    MessageID         // in the log, if that was another than MessageID
	restored map[string]string // attributes that it has again when it goes back there
}

// originOf reads where a message comes from. ok is false for what is no dead
// letter: somebody published it to the dead-letter topic.
func originOf(m Message) (o Origin, ok bool) {
	a := m.Attributes
	o.Subscription = SubscriptionName{Project: a[attrSourceProject], ID: a[attrSourceName]}
	if o.Subscription.Validate() != nil {
		return Origin{}, false
	}
	o.Topic, _ = ParseTopicName("", a[attrSourceTopic])
	o.MessageID, _ = ParseMessageID(a[attrSourceID])
	o.topicUID = a[attrSourceTopicUID]
	o.place, _ = ParseMessageID(a[attrSourcePlace])
	o.PublishTime, _ = time.Parse(sourcePublishTimeLayout, a[attrSourcePublishTime])
	o.Attempts, _ = strconv.Atoi(a[attrSourceCount])
	o.Reason, o.Failed = a[ReasonAttribute], m.FailedAttempts()
	o.Redriven, _ = strconv.Atoi(a[RedrivenAttribute])
	o.FormerAttempts, _ = strconv.Atoi(a[RedrivenAttemptsAttribute])
	o.restored = firstOriginOf(m)
	return o, true
}

// deadLetter is the message as the dead-letter topic gets it. What is a dead letter
// already keeps its first origin under other names.
func deadLetter(sub Subscription, d Delivery) Message {
	d.Message.Attributes = maps.Clone(d.Message.Attributes)
	if d.Message.Attributes == nil {
		d.Message.Attributes = map[string]string{}
	}
	keepFirstOrigin(d.Message)
	m := d.withAttempts().Message
	if d.Late {
		m.Attributes[ReasonAttribute] = ReasonLate
	}
	m.Attributes[attrSourceCount] = strconv.Itoa(d.Attempt)
	m.Attributes[attrSourceName] = sub.Name.ID
	m.Attributes[attrSourceProject] = sub.Name.Project
	m.Attributes[attrSourcePublishTime] = m.PublishTime().Format(sourcePublishTimeLayout)
	m.Attributes[attrSourceID] = m.ID.String()
	m.Attributes[attrSourceTopic] = sub.Topic.String()
	m.Attributes[attrSourceTopicUID] = sub.TopicUID
	if !d.LogID.IsZero() {
		m.Attributes[attrSourcePlace] = d.LogID.String()
	}
	return m
}

// isBookkeeping tells whether an attribute is one by which a dead letter tells
// where it comes from, or a redriven message of its history.
func isBookkeeping(key string) bool {
	return strings.HasPrefix(key, "CloudPubSubDeadLetterSource") || strings.HasPrefix(key, "postrider-dead-letter-") ||
		strings.HasPrefix(key, RedrivenAttribute)
}

// redriven is the message as it goes back to where it came from: with its id,
// its publish time and its attributes, and some that tell of its history.
func (o Origin) redriven(m Message) Message {
	attributes := maps.Clone(m.Attributes)
	for k := range attributes {
		if isBookkeeping(k) {
			delete(attributes, k)
		}
	}
	maps.Copy(attributes, o.restored)
	attributes[RedrivenAttribute] = strconv.Itoa(o.Redriven + 1)
	attributes[RedrivenAttemptsAttribute] = strconv.Itoa(o.FormerAttempts + o.Attempts)
	if o.Reason != "" {
		attributes[RedrivenReasonAttribute] = o.Reason
	}
	m.ID, m.Attributes = o.MessageID, attributes
	return m
}

// timesRedriven is how often a message of a source topic was redriven.
func timesRedriven(m Message) int {
	n, _ := strconv.Atoi(m.Attributes[RedrivenAttribute])
	return n
}
