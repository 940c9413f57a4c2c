package subscriptions

// A subscription of a dead-letter topic may give up a dead letter, which then goes
// to the dead-letter topic of that subscription. Google's attributes tell of the
// last origin, as there. The first one is kept under other names, so that nothing
// is lost of it: a redrive to the last origin makes the message what it was there,
// a dead letter of the first one. What lies between the two is not kept.

// firstNames are the attributes that tell of the last origin, and the names under
// which they tell of the first one.
var firstNames = map[string]string{
	attrSourceCount:       "postrider-dead-letter-first-delivery-count",
	attrSourceName:        "postrider-dead-letter-first-subscription",
	attrSourceProject:     "postrider-dead-letter-first-subscription-project",
	attrSourcePublishTime: "postrider-dead-letter-first-publish-time",
	attrSourceID:          "postrider-dead-letter-first-message-id",
	attrSourceTopic:       "postrider-dead-letter-first-topic",
	attrSourceTopicUID:    "postrider-dead-letter-first-topic-uid",
	attrSourcePlace:       "postrider-dead-letter-first-place",
	ReasonAttribute:       "postrider-dead-letter-first-reason",
	AttemptsAttribute:     "postrider-dead-letter-first-attempts",
}

// keepFirstOrigin makes room in the attributes of what dies for its next origin.
func keepFirstOrigin(m Message) {
	_, again := originOf(m)
	known := len(firstOriginOf(m)) > 0
	for name, first := range firstNames {
		if value, ok := m.Attributes[name]; ok && again && !known {
			m.Attributes[first] = value
		}
		delete(m.Attributes, name)
	}
}

// firstOriginOf are the attributes that a dead letter had when it died first; none
// if it did not die again since.
func firstOriginOf(m Message) map[string]string {
	had := map[string]string{}
	for name, first := range firstNames {
		if value, ok := m.Attributes[first]; ok {
			had[name] = value
		}
	}
	return had
}

// First is the subscription that a dead letter died at first, and what it had
// there, if it died again since. Its history is that of the letter.
func (o Origin) First() (first Origin, ok bool) {
	if first, ok = originOf(Message{Attributes: o.restored}); ok {
		first.Redriven, first.FormerAttempts = o.Redriven, o.FormerAttempts+o.Attempts
	}
	return first, ok
}

// target is the origin that a redrive goes to.
func (o Origin) target(first bool) Origin {
	if f, ok := o.First(); ok && first {
		return f
	}
	return o
}
