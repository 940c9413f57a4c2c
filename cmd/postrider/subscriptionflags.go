package main

import (
	"cmp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postrider/server/api"
	"postrider/server/wire"
)

// withoutFlags names the fields of a subscription that have no flags.
const withoutFlags = "Its pushLimits and terminalAnswers have no flags: postrider apply sets them."

// subscriptionFlags are the fields of a subscription as flags, with the names that Google's own command line gives them.
type subscriptionFlags struct {
	set *pflag.FlagSet

	topic       string
	push        pushFlags
	proof       proofFlags
	ackDeadline duration
	retention   duration
	retain      bool
	expiration  expiry
	minRetry    duration
	maxRetry    duration
	deadLetter  string
	attempts    int32
	labels      pairs
	ordered     bool
	filter      string
	routing     api.Routing
	exactlyOnce bool
	expired     string
}

func (f *subscriptionFlags) bind(set *pflag.FlagSet) {
	f.set = set
	f.push.bind(set)
	f.proof.bind(set)
	set.Var(&f.ackDeadline, "ack-deadline", "`TIME` that a delivery may take, 10s to 600s (default 10s)")
	set.Var(&f.retention, "message-retention-duration", "`TIME` that unacknowledged messages are kept, 10m to 31d (default 7d)")
	set.BoolVar(&f.retain, "retain-acked-messages", false, "keep acknowledged messages for as long, too, so that a seek can bring them back")
	set.Var(&f.expiration, "expiration-period", "`TIME` without use after which the subscription is deleted, 1d or more, or never (default what the server says, 31d)")
	set.Var(&f.minRetry, "min-retry-delay", "`TIME` before the first retry, up to 600s (default 10s if there is a --max-retry-delay)")
	set.Var(&f.maxRetry, "max-retry-delay", "`TIME` that retries are at most apart, up to 600s (default 600s if there is a --min-retry-delay)")
	set.StringVar(&f.deadLetter, "dead-letter-topic", "", "`TOPIC` that takes messages which failed too often")
	set.Int32Var(&f.attempts, "max-delivery-attempts", 0, "`NUMBER` of deliveries before that, 5 to 100 (default 5)")
	set.Var(&choice{&f.expired, []string{"drop", "dead-letter"}}, "expired-messages", "what becomes of messages whose --ttl is over: `drop` or dead-letter (default drop)")
	set.BoolVar(&f.exactlyOnce, "enable-exactly-once-delivery", false, "for pull: accept only acks in time, and never deliver again what was acked")
	set.Var(&f.labels, "label", "`KEY=VALUE` of a label; may be repeated; all labels together")
}

// bindFixed adds the flags of what cannot be changed later.
func (f *subscriptionFlags) bindFixed() {
	f.set.BoolVar(&f.ordered, "enable-message-ordering", false, "deliver the messages of an ordering key in the order of publication")
	f.set.StringVar(&f.filter, "message-filter", "", "`EXPRESSION` over attributes; other messages count as acknowledged")
	f.set.StringVar(&f.routing.Attribute, "routing-attribute", "", "`KEY` of the attribute that --routing-pattern is for")
	f.set.StringVar(&f.routing.Pattern, "routing-pattern", "", "`PATTERN` of words between dots, * for one and # for any number; other messages count as acknowledged")
}

// bindClear adds the flags that an update can take fields away with.
func (f *subscriptionFlags) bindClear(c *cobra.Command) {
	for name, what := range map[string]string{
		"retry-policy": "redeliver at once", "dead-letter-policy": "retry for ever", "labels": "remove all labels",
	} {
		f.set.Bool("clear-"+name, false, what)
	}
	c.MarkFlagsMutuallyExclusive("clear-retry-policy", "min-retry-delay")
	c.MarkFlagsMutuallyExclusive("clear-retry-policy", "max-retry-delay")
	c.MarkFlagsMutuallyExclusive("clear-dead-letter-policy", "dead-letter-topic")
	c.MarkFlagsMutuallyExclusive("clear-dead-letter-policy", "max-delivery-attempts")
	c.MarkFlagsMutuallyExclusive("clear-labels", "label")
}

// masks lists which field of the API each flag sets.
var masks = []struct{ flag, path string }{
	{"push-endpoint", "pushConfig.pushEndpoint"},
	{"push-no-wrapper", "pushConfig.noWrapper"},
	{"push-no-wrapper-write-metadata", "pushConfig.noWrapper.writeMetadata"},
	{"push-auth-service-account", "pushConfig.oidcToken.serviceAccountEmail"},
	{"push-auth-token-audience", "pushConfig.oidcToken.audience"},
	{"webhook-secret-file", "postrider.webhookSecrets"},
	{"client-certificate", "postrider.clientCertificate"},
	{"ack-deadline", "ackDeadlineSeconds"},
	{"message-retention-duration", "messageRetentionDuration"},
	{"retain-acked-messages", "retainAckedMessages"},
	{"expiration-period", "expirationPolicy"},
	{"min-retry-delay", "retryPolicy.minimumBackoff"},
	{"max-retry-delay", "retryPolicy.maximumBackoff"},
	{"clear-retry-policy", "retryPolicy"},
	{"dead-letter-topic", "deadLetterPolicy.deadLetterTopic"},
	{"max-delivery-attempts", "deadLetterPolicy.maxDeliveryAttempts"},
	{"clear-dead-letter-policy", "deadLetterPolicy"},
	{"expired-messages", "postrider.expiredMessages"},
	{"enable-exactly-once-delivery", "enableExactlyOnceDelivery"},
	{"label", "labels"},
	{"clear-labels", "labels"},
}

// mask names the fields that flags were given for.
func (f *subscriptionFlags) mask() wire.FieldMask {
	var paths []string
	for _, m := range masks {
		if f.set.Changed(m.flag) {
			paths = append(paths, m.path)
		}
	}
	return wire.FieldMask(strings.Join(paths, ","))
}

// subscription is what the flags say.
func (f *subscriptionFlags) subscription(s *session) (api.Subscription, error) {
	sub := api.Subscription{
		AckDeadlineSeconds:        wire.Int32(time.Duration(f.ackDeadline) / time.Second),
		RetainAckedMessages:       f.retain,
		Labels:                    f.labels,
		EnableMessageOrdering:     f.ordered,
		EnableExactlyOnceDelivery: f.exactlyOnce,
	}
	sub.Filter = f.filter
	if time.Duration(f.ackDeadline)%time.Second != 0 {
		return sub, usagef("--ack-deadline: %v is not a whole number of seconds", time.Duration(f.ackDeadline))
	}
	sub.PushConfig = f.push.config()
	sub.MessageRetentionDuration = f.duration("message-retention-duration", f.retention)
	if f.set.Changed("expiration-period") {
		sub.ExpirationPolicy = &api.ExpirationPolicy{}
		if !f.expiration.never {
			sub.ExpirationPolicy.TTL = wire.NewDuration(time.Duration(f.expiration.after))
		}
	}
	if f.set.Changed("min-retry-delay") || f.set.Changed("max-retry-delay") {
		sub.RetryPolicy = &api.RetryPolicy{
			MinimumBackoff: f.duration("min-retry-delay", f.minRetry),
			MaximumBackoff: f.duration("max-retry-delay", f.maxRetry),
		}
	}
	var err error
	if sub.Postrider, err = f.proof.extensions(); err != nil {
		return sub, err
	}
	if f.routing != (api.Routing{}) {
		sub.Postrider = cmp.Or(sub.Postrider, &api.SubscriptionExtensions{})
		sub.Postrider.Routing = &f.routing
	}
	if f.expired != "" {
		sub.Postrider = cmp.Or(sub.Postrider, &api.SubscriptionExtensions{})
		sub.Postrider.ExpiredMessages = map[string]api.SubscriptionExtensionsExpiredMessages{
			"drop": api.ExpiredMessagesDrop, "dead-letter": api.ExpiredMessagesDeadLetter,
		}[f.expired]
	}
	sub.DeadLetterPolicy, err = f.deadLetterPolicy(s)
	return sub, err
}

func (f *subscriptionFlags) deadLetterPolicy(s *session) (*api.DeadLetterPolicy, error) {
	if f.deadLetter == "" {
		if !f.set.Changed("max-delivery-attempts") {
			return nil, nil
		}
		return &api.DeadLetterPolicy{MaxDeliveryAttempts: wire.Int32(f.attempts)}, nil
	}
	topic, err := s.topic(f.deadLetter)
	return &api.DeadLetterPolicy{DeadLetterTopic: topic.String(), MaxDeliveryAttempts: wire.Int32(f.attempts)}, err
}

func (f *subscriptionFlags) duration(flag string, d duration) *wire.Duration {
	if !f.set.Changed(flag) {
		return nil
	}
	return wire.NewDuration(time.Duration(d))
}

// pushFlags are the fields of a push configuration.
type pushFlags struct {
	endpoint                 string
	noWrapper, writeMetadata bool
	account, audience        string
}

func (f *pushFlags) bind(set *pflag.FlagSet) {
	set.StringVar(&f.endpoint, "push-endpoint", "", "`URL` that messages are POSTed to; without it they are pulled")
	set.BoolVar(&f.noWrapper, "push-no-wrapper", false, "push the data alone, without the JSON envelope")
	set.BoolVar(&f.writeMetadata, "push-no-wrapper-write-metadata", false,
		"the same, with headers of the message's id, time and attributes")
	set.StringVar(&f.account, "push-auth-service-account", "", "`EMAIL` that the token of each push speaks for; without it pushes carry none")
	set.StringVar(&f.audience, "push-auth-token-audience", "", "`TEXT` that says whom the token is meant for; by default the URL")
}

// config is nil when nothing is set.
func (f *pushFlags) config() *api.PushConfig {
	if *f == (pushFlags{}) {
		return nil
	}
	p := &api.PushConfig{PushEndpoint: f.endpoint}
	if f.noWrapper || f.writeMetadata {
		p.NoWrapper = &api.NoWrapper{WriteMetadata: f.writeMetadata}
	}
	if f.account != "" || f.audience != "" {
		p.OidcToken = &api.OidcToken{ServiceAccountEmail: f.account, Audience: f.audience}
	}
	return p
}
