package subscriptions

import "time"

// Limits and defaults of a subscription.
const (
	DefaultAckDeadline = 10 * time.Second
	MinAckDeadline     = 10 * time.Second
	MaxAckDeadline     = 600 * time.Second

	DefaultRetention = 7 * 24 * time.Hour
	MinRetention     = 10 * time.Minute
	MaxRetention     = 31 * 24 * time.Hour

	DefaultExpiration = 31 * 24 * time.Hour
	MinExpiration     = 24 * time.Hour

	// DefaultOutstanding bounds the messages of one subscription that are
	// leased, wait for a retry or are parked behind another of their ordering
	// key. Beyond it nothing new is leased.
	DefaultOutstanding = 100_000

	// pullRun is how many messages of one ordering key a puller may hold at
	// once.
	pullRun = 100
)

// Subscription is the record of a subscription.
type Subscription struct {
	Name SubscriptionName
	// UID names the subscription's state in its topic's slot.
	UID string
	// Topic is the topic's name when the subscription was created and TopicUID
	// the topic of that name then. Another topic of the same name created
	// later feeds nothing here.
	Topic    TopicName
	TopicUID string
	// TopicDeleted is not stored: it is found out when a record is read.
	TopicDeleted bool
	// Detached means that the subscription was cut off its topic and dropped
	// its backlog, for good.
	Detached    bool
	AckDeadline time.Duration
	// Push is nil for a pull subscription.
	Push *PushConfig
	// PushAttributes are kept apart from Push, since a subscription that was
	// push keeps them when it becomes pull.
	PushAttributes map[string]string
	// WebhookSecrets are what each push is signed with, once with each. They
	// belong to the subscription rather than to Push, so that another endpoint or
	// a while of being pulled loses none.
	WebhookSecrets []WebhookSecret
	// ClientCertificate names what is shown to endpoints that ask for a
	// certificate; empty is none.
	ClientCertificate string
	// PushLimits bound the pushes further than flow control does.
	PushLimits PushLimits
	Terminal   TerminalAnswers
	// Retention is how long a message is kept that is not acked, and with
	// RetainAcked one that is, too.
	Retention   time.Duration
	RetainAcked bool
	// TopicRetention is the topic's. It is not stored: it is found out when a
	// record is read.
	TopicRetention time.Duration
	// Expiration is how long the subscription may go unused; 0 is for ever.
	Expiration time.Duration
	// Expires is when the subscription is deleted unless it is used before, if
	// that is soon. It is not stored: it is found out when a record is read.
	Expires    time.Time
	DeadLetter *DeadLetterPolicy
	// DeadLetterLate moves messages to the dead-letter topic whose time to live
	// (AttributeTTL) is over; else they are dropped.
	DeadLetterLate bool
	// Filter is an expression over the attributes of messages, and Routing a
	// pattern for one of them; empty and nil select all. What either does not
	// select counts as acked. They cannot be changed.
	Filter  string
	Routing *Routing
	// match is Filter and Routing compiled; see prepared.
	match *Match
	// Ordered delivers the messages of an ordering key in the order in which they
	// were published. It cannot be changed.
	Ordered bool
	// ExactlyOnce acks a message only by a current ack id and tells of each ack id
	// that had no effect. Only a pull subscription can have it.
	ExactlyOnce bool
	// Retry is nil when messages are redelivered at once.
	Retry  *RetryPolicy
	Labels map[string]string
	Phase  Phase
	// Revision rises by one with every change of the record.
	Revision int64
}

// PushConfig says where the messages of a push subscription go.
type PushConfig struct {
	// Endpoint is an absolute http or https URL. In a request it may be empty:
	// then the subscription is pulled.
	Endpoint string
	Wrapper  Wrapper
	// WriteMetadata makes headers of what a message has beside its data. Only
	// with NoWrapper.
	WriteMetadata bool
	// Token is nil when pushes carry none.
	Token *OIDCToken
}

// OIDCToken says what the tokens claim by which an endpoint knows who pushes.
type OIDCToken struct {
	// Email is the identity that the token speaks for.
	Email string
	// Audience is whom the token is meant for; empty is the endpoint's URL.
	Audience string
}

// Wrapper says what the body of a push is.
type Wrapper string

// The wrappers. Unset is as PubsubWrapper, but is not reported.
const (
	PubsubWrapper Wrapper = "pubsub" // the JSON envelope
	NoWrapper     Wrapper = "none"   // the data alone
)

// DeadLetterPolicy says where messages go that were tried often enough.
type DeadLetterPolicy struct {
	Topic TopicName
	// MaxAttempts is how often a message is delivered before it goes there, 5
	// to 100.
	MaxAttempts int
}

// IsPush tells whether the server POSTs this subscription's messages.
func (s Subscription) IsPush() bool { return s.Push != nil }

// selects tells whether the subscription gets only some of the messages.
func (s Subscription) selects() bool { return s.Filter != "" || s.Routing != nil }

// Ref addresses the subscription's state.
func (s Subscription) Ref() Ref {
	ref := Ref{Topic: s.TopicUID, Subscription: s.UID, Revision: s.Revision}
	if s.RetainAcked {
		ref.Retain = s.Retention
	}
	return ref
}

// run is how many messages of one ordering key may be leased at once: for
// exactly-once delivery one, since an ack is for good only if nothing before it
// can come again.
func (s Subscription) run() int {
	if s.ExactlyOnce || s.IsPush() {
		return 1
	}
	return pullRun
}

// Rules are the parts of the configuration that the store's steps act on.
func (s Subscription) Rules(outstanding int) Rules {
	r := Rules{Retention: s.Retention, Outstanding: outstanding, Ordered: s.Ordered, Match: s.selection()}
	if s.Retry != nil {
		r.Retry = s.Retry.Spans()
	}
	if s.DeadLetter != nil {
		r.MaxAttempts, r.DeadLetterLate = s.DeadLetter.MaxAttempts, s.DeadLetterLate
	}
	return r
}
