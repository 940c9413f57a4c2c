package redisstream

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"postrider/subscriptions"
)

// A record is stored as its version, UID and revision, which the scripts compare as text, and then its fields as JSON.
// Fields are never renamed; absent ones read as zero.

// topicRecord is how a topic is stored. Durations are nanoseconds.
type topicRecord struct {
	Labels    map[string]string   `json:"labels,omitempty"`
	Retention time.Duration       `json:"retention,omitempty"`
	Phase     subscriptions.Phase `json:"phase,omitempty"`
}

// subscriptionRecord is how a subscription is stored. Durations are nanoseconds.
type subscriptionRecord struct {
	Topic          nameRecord          `json:"topic"`
	TopicUID       string              `json:"topicUid"`
	Detached       bool                `json:"detached,omitempty"`
	Ordered        bool                `json:"ordered,omitempty"`
	ExactlyOnce    bool                `json:"exactlyOnce,omitempty"`
	AckDeadline    time.Duration       `json:"ackDeadline,omitempty"`
	Push           *pushRecord         `json:"push,omitempty"`
	PushAttributes map[string]string   `json:"pushAttributes,omitempty"`
	Retention      time.Duration       `json:"retention,omitempty"`
	RetainAcked    bool                `json:"retainAcked,omitempty"`
	Expiration     time.Duration       `json:"expiration,omitempty"`
	DeadLetter     *deadLetterRecord   `json:"deadLetter,omitempty"`
	Retry          *retryRecord        `json:"retry,omitempty"`
	Labels         map[string]string   `json:"labels,omitempty"`
	Phase          subscriptions.Phase `json:"phase,omitempty"`
	// Texts, since the domain's type marshals as what may be shown of it.
	WebhookSecrets    []string         `json:"webhookSecrets,omitempty"`
	ClientCertificate string           `json:"clientCertificate,omitempty"`
	PushLimits        *pushLimitRecord `json:"pushLimits,omitempty"`
	Terminal          *terminalRecord  `json:"terminal,omitempty"`
	Filter            string           `json:"filter,omitempty"`
	Routing           *routingRecord   `json:"routing,omitempty"`
	DeadLetterLate    bool             `json:"deadLetterLate,omitempty"`
}

type terminalRecord struct {
	Statuses []int  `json:"statuses,omitempty"`
	Header   string `json:"header,omitempty"`
}

type pushLimitRecord struct {
	MaxOutstanding int     `json:"maxOutstanding,omitempty"`
	MaxPerSecond   float64 `json:"maxPerSecond,omitempty"`
}

type routingRecord struct {
	Attribute string `json:"attribute"`
	Pattern   string `json:"pattern"`
}

// snapshotRecord is how a snapshot is stored. Times are milliseconds of the store's clock.
type snapshotRecord struct {
	Topic           nameRecord          `json:"topic"`
	TopicUID        string              `json:"topicUid"`
	Subscription    nameRecord          `json:"subscription"`
	SubscriptionUID string              `json:"subscriptionUid"`
	Filter          string              `json:"filter,omitempty"`
	Routing         *routingRecord      `json:"routing,omitempty"`
	Expires         int64               `json:"expires,omitempty"`
	MaxExpires      int64               `json:"maxExpires,omitempty"`
	Labels          map[string]string   `json:"labels,omitempty"`
	Phase           subscriptions.Phase `json:"phase,omitempty"`
}

type nameRecord struct {
	Project string `json:"project"`
	ID      string `json:"id"`
}

type pushRecord struct {
	Endpoint      string                `json:"endpoint,omitempty"`
	Wrapper       subscriptions.Wrapper `json:"wrapper,omitempty"`
	WriteMetadata bool                  `json:"writeMetadata,omitempty"`
	Token         *tokenRecord          `json:"token,omitempty"`
}

type tokenRecord struct {
	Email    string `json:"email,omitempty"`
	Audience string `json:"audience,omitempty"`
}

type deadLetterRecord struct {
	Topic       nameRecord `json:"topic"`
	MaxAttempts int        `json:"maxAttempts"`
}

type retryRecord struct {
	Minimum time.Duration `json:"minimum"`
	Maximum time.Duration `json:"maximum"`
}

// ofUID is what a record with this UID begins with, and ofRevision one of that revision.
func ofUID(uid string) string { return formatVersion + " " + uid + " " }

func ofRevision(uid string, revision int64) string {
	return ofUID(uid) + fmt.Sprintf("%d ", revision)
}

func encodeRecord(uid string, revision int64, record any) (string, error) {
	b, err := json.Marshal(record)
	if err != nil {
		return "", fmt.Errorf("redisstream: encode record: %w", err)
	}
	return ofRevision(uid, revision) + string(b), nil
}

// decodeRecord reads the fields into record.
func decodeRecord(name, stored string, record any) (uid string, revision int64, err error) {
	parts := strings.SplitN(stored, " ", 4)
	if parts[0] != formatVersion {
		return "", 0, fmt.Errorf("redisstream: the record of %s is of an unknown format: a newer Postrider wrote it", name)
	}
	if len(parts) < 4 {
		return "", 0, fmt.Errorf("redisstream: the record of %s is damaged", name)
	}
	if _, err := fmt.Sscanf(parts[2], "%d", &revision); err != nil {
		return "", 0, fmt.Errorf("redisstream: the record of %s is damaged: %w", name, err)
	}
	if err := json.Unmarshal([]byte(parts[3]), record); err != nil {
		return "", 0, fmt.Errorf("redisstream: the record of %s is damaged: %w", name, err)
	}
	return parts[1], revision, nil
}

func encodeTopic(t subscriptions.Topic) (string, error) {
	return encodeRecord(t.UID, t.Revision, topicRecord{t.Labels, t.Retention, t.Phase})
}

func decodeTopic(name subscriptions.TopicName, stored string) (subscriptions.Topic, error) {
	var r topicRecord
	uid, revision, err := decodeRecord(name.String(), stored, &r)
	if err != nil {
		return subscriptions.Topic{}, err
	}
	return subscriptions.Topic{
		Name: name, UID: uid, Labels: r.Labels, Retention: r.Retention, Phase: r.Phase, Revision: revision,
	}, nil
}

func encodeSubscription(s subscriptions.Subscription) (string, error) {
	r := subscriptionRecord{
		Topic: nameRecord(s.Topic), TopicUID: s.TopicUID, Detached: s.Detached, Ordered: s.Ordered, ExactlyOnce: s.ExactlyOnce, AckDeadline: s.AckDeadline,
		PushAttributes: s.PushAttributes, Retention: s.Retention, RetainAcked: s.RetainAcked, Expiration: s.Expiration, Labels: s.Labels, Phase: s.Phase,
		ClientCertificate: s.ClientCertificate, Filter: s.Filter, DeadLetterLate: s.DeadLetterLate,
	}
	if s.Routing != nil {
		routing := routingRecord(*s.Routing)
		r.Routing = &routing
	}
	for _, secret := range s.WebhookSecrets {
		r.WebhookSecrets = append(r.WebhookSecrets, string(secret))
	}
	if len(s.Terminal.Statuses) > 0 || s.Terminal.Header != "" {
		terminal := terminalRecord(s.Terminal)
		r.Terminal = &terminal
	}
	if s.PushLimits != (subscriptions.PushLimits{}) {
		limits := pushLimitRecord(s.PushLimits)
		r.PushLimits = &limits
	}
	if s.Push != nil {
		r.Push = &pushRecord{s.Push.Endpoint, s.Push.Wrapper, s.Push.WriteMetadata, (*tokenRecord)(s.Push.Token)}
	}
	if s.DeadLetter != nil {
		r.DeadLetter = &deadLetterRecord{nameRecord(s.DeadLetter.Topic), s.DeadLetter.MaxAttempts}
	}
	if s.Retry != nil {
		r.Retry = &retryRecord{s.Retry.Minimum, s.Retry.Maximum}
	}
	return encodeRecord(s.UID, s.Revision, r)
}

func decodeSubscription(name subscriptions.SubscriptionName, stored string) (subscriptions.Subscription, error) {
	var r subscriptionRecord
	uid, revision, err := decodeRecord(name.String(), stored, &r)
	if err != nil {
		return subscriptions.Subscription{}, err
	}
	s := subscriptions.Subscription{
		Name: name, UID: uid, Topic: subscriptions.TopicName(r.Topic), TopicUID: r.TopicUID, Detached: r.Detached, Ordered: r.Ordered, ExactlyOnce: r.ExactlyOnce,
		AckDeadline: r.AckDeadline, PushAttributes: r.PushAttributes, Retention: r.Retention, RetainAcked: r.RetainAcked, Expiration: r.Expiration,
		Labels: r.Labels, Phase: r.Phase, Revision: revision, ClientCertificate: r.ClientCertificate, Filter: r.Filter,
		DeadLetterLate: r.DeadLetterLate,
	}
	if r.Routing != nil {
		routing := subscriptions.Routing(*r.Routing)
		s.Routing = &routing
	}
	for _, secret := range r.WebhookSecrets {
		s.WebhookSecrets = append(s.WebhookSecrets, subscriptions.WebhookSecret(secret))
	}
	if r.Terminal != nil {
		s.Terminal = subscriptions.TerminalAnswers(*r.Terminal)
	}
	if r.PushLimits != nil {
		s.PushLimits = subscriptions.PushLimits(*r.PushLimits)
	}
	if r.Push != nil {
		s.Push = &subscriptions.PushConfig{
			Endpoint: r.Push.Endpoint, Wrapper: r.Push.Wrapper, WriteMetadata: r.Push.WriteMetadata,
			Token: (*subscriptions.OIDCToken)(r.Push.Token),
		}
	}
	if r.DeadLetter != nil {
		s.DeadLetter = &subscriptions.DeadLetterPolicy{
			Topic: subscriptions.TopicName(r.DeadLetter.Topic), MaxAttempts: r.DeadLetter.MaxAttempts,
		}
	}
	if r.Retry != nil {
		s.Retry = &subscriptions.RetryPolicy{Minimum: r.Retry.Minimum, Maximum: r.Retry.Maximum}
	}
	return s, nil
}

func encodeSnapshot(s subscriptions.Snapshot) (string, error) {
	r := snapshotRecord{
		Topic: nameRecord(s.Topic), TopicUID: s.TopicUID, Subscription: nameRecord(s.Subscription), SubscriptionUID: s.SubscriptionUID,
		Filter: s.Filter, Expires: milliOf(s.Expires), MaxExpires: milliOf(s.MaxExpires), Labels: s.Labels, Phase: s.Phase,
	}
	if s.Routing != nil {
		routing := routingRecord(*s.Routing)
		r.Routing = &routing
	}
	return encodeRecord(s.UID, s.Revision, r)
}

func decodeSnapshot(name subscriptions.SnapshotName, stored string) (subscriptions.Snapshot, error) {
	var r snapshotRecord
	uid, revision, err := decodeRecord(name.String(), stored, &r)
	if err != nil {
		return subscriptions.Snapshot{}, err
	}
	s := subscriptions.Snapshot{
		Name: name, UID: uid, Topic: subscriptions.TopicName(r.Topic), TopicUID: r.TopicUID,
		Subscription: subscriptions.SubscriptionName(r.Subscription), SubscriptionUID: r.SubscriptionUID, Filter: r.Filter,
		Expires: timeOf(r.Expires), MaxExpires: timeOf(r.MaxExpires), Labels: r.Labels, Phase: r.Phase, Revision: revision,
	}
	if r.Routing != nil {
		routing := subscriptions.Routing(*r.Routing)
		s.Routing = &routing
	}
	return s, nil
}

// milliOf is a time in milliseconds; 0 when it is unset.
func milliOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(milli int64) time.Time {
	if milli == 0 {
		return time.Time{}
	}
	return time.UnixMilli(milli).UTC()
}
