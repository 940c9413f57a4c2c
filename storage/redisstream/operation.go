package redisstream

import (
	"errors"

	"postrider/subscriptions"
)

// operationRecord is how an operation is stored. Times are milliseconds.
type operationRecord struct {
	Kind            subscriptions.OperationKind `json:"kind"`
	Subscription    *nameRecord                 `json:"subscription,omitempty"`
	Topic           *nameRecord                 `json:"topic,omitempty"`
	Holder          *nameRecord                 `json:"holder,omitempty"`
	From            *nameRecord                 `json:"from,omitempty"`
	IDs             []string                    `json:"ids,omitempty"`
	Text            string                      `json:"text,omitempty"`
	Since           int64                       `json:"since,omitempty"`
	Before          int64                       `json:"before,omitempty"`
	DeadLetterTopic nameRecord                  `json:"deadLetterTopic"`
	PerSecond       float64                     `json:"perSecond,omitempty"`
	ToFirst         bool                        `json:"toFirst,omitempty"`
	Total           int64                       `json:"total,omitempty"`
	AtLeast         bool                        `json:"atLeast,omitempty"`
	NotFound        []string                    `json:"notFound,omitempty"`
	Moved           int64                       `json:"moved,omitempty"`
	Gone            int64                       `json:"gone,omitempty"`
	Failed          int64                       `json:"failed,omitempty"`
	Reason          string                      `json:"reason,omitempty"`
	Waiting         string                      `json:"waiting,omitempty"`
	CancelRequested bool                        `json:"cancelRequested,omitempty"`
	Done            bool                        `json:"done,omitempty"`
	FailureCode     subscriptions.Code          `json:"failureCode,omitempty"`
	Failure         string                      `json:"failure,omitempty"`
	Created         int64                       `json:"created,omitempty"`
	Ended           int64                       `json:"ended,omitempty"`
	Part            subscriptions.PeekPart      `json:"part,omitempty"`
	Place           string                      `json:"place"`
	Until           string                      `json:"until"`
}

// optionalName is nil for a name that is unset.
func optionalName(n nameRecord) *nameRecord {
	if n == (nameRecord{}) {
		return nil
	}
	return &n
}

func (n *nameRecord) orZero() nameRecord {
	if n == nil {
		return nameRecord{}
	}
	return *n
}

func encodeOperation(o subscriptions.Operation) (string, error) {
	q, p := o.Query, o.Progress
	r := operationRecord{
		Kind: o.Kind, DeadLetterTopic: nameRecord(o.Topic), PerSecond: o.PerSecond, ToFirst: o.ToFirst,
		Subscription: optionalName(nameRecord(q.Subscription)), Topic: optionalName(nameRecord(q.Topic)),
		Holder: optionalName(nameRecord(q.Holder)), From: optionalName(nameRecord(q.From)),
		Text: q.Text, Since: milliOf(q.Since), Before: milliOf(q.Before),
		Total: p.Total, AtLeast: p.AtLeast, Moved: p.Moved, Gone: p.Gone, Failed: p.Failed, Reason: p.Reason, Waiting: p.Waiting,
		CancelRequested: o.CancelRequested, Done: o.Done, Created: milliOf(o.Created), Ended: milliOf(o.Ended),
		Part: o.Place.Part, Place: o.Place.ID.String(), Until: o.Until.String(),
	}
	r.IDs, r.NotFound = textsOf(q.IDs), textsOf(o.NotFound)
	if o.Failure != nil {
		r.FailureCode, r.Failure = o.Failure.Code, o.Failure.Message
	}
	return encodeRecord(o.UID, o.Revision, r)
}

func decodeOperation(name subscriptions.OperationName, stored string) (o subscriptions.Operation, err error) {
	var r operationRecord
	uid, revision, err := decodeRecord(name.String(), stored, &r)
	if err != nil {
		return o, err
	}
	o = subscriptions.Operation{
		Name: name, UID: uid, Revision: revision, Kind: r.Kind, Topic: subscriptions.TopicName(r.DeadLetterTopic), PerSecond: r.PerSecond, ToFirst: r.ToFirst,
		Query: subscriptions.DeadLetterQuery{
			Subscription: subscriptions.SubscriptionName(r.Subscription.orZero()), Topic: subscriptions.TopicName(r.Topic.orZero()),
			Holder: subscriptions.SubscriptionName(r.Holder.orZero()),
		},
		Progress: subscriptions.OperationProgress{
			Total: r.Total, AtLeast: r.AtLeast, Moved: r.Moved, Gone: r.Gone, Failed: r.Failed, Reason: r.Reason, Waiting: r.Waiting,
		},
		CancelRequested: r.CancelRequested, Done: r.Done, Created: timeOf(r.Created), Ended: timeOf(r.Ended),
		Place: subscriptions.PeekPlace{Part: r.Part},
	}
	o.Query.DeadLetterFilter = subscriptions.DeadLetterFilter{
		From: subscriptions.SubscriptionName(r.From.orZero()), Text: r.Text, Since: timeOf(r.Since), Before: timeOf(r.Before),
	}
	if r.FailureCode != "" {
		o.Failure = subscriptions.Errorf(r.FailureCode, "%s", r.Failure)
	}
	var errs [4]error
	o.Place.ID, errs[0] = subscriptions.ParseMessageID(r.Place)
	o.Until, errs[1] = subscriptions.ParseMessageID(r.Until)
	o.Query.IDs, errs[2] = idsOf(r.IDs)
	o.NotFound, errs[3] = idsOf(r.NotFound)
	return o, errors.Join(errs[:]...)
}

func textsOf(ids []subscriptions.MessageID) (texts []string) {
	for _, id := range ids {
		texts = append(texts, id.String())
	}
	return texts
}

func idsOf(texts []string) (ids []subscriptions.MessageID, err error) {
	for _, text := range texts {
		id, err := subscriptions.ParseMessageID(text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
