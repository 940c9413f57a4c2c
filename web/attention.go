package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"postrider/subscriptions"
)

// notice is a sentence on what needs attention.
type notice struct {
	Severity severity
	// Subject begins the sentence, and Link leads to its page; both may be empty.
	Subject, Link string
	Words         []words
	// weight orders notices of one severity: how long it has been so.
	weight time.Duration
}

// words are a piece of a sentence; those about a time show it when the pointer rests on them, and those with a Link lead there.
type words struct {
	Text string
	At   time.Time
	Link string
}

// String is the sentence.
func (n notice) String() string {
	var b strings.Builder
	b.WriteString(n.Subject)
	for _, w := range n.Words {
		b.WriteString(w.Text)
	}
	return b.String()
}

// saying makes the words of a sentence: texts, links, and durations before now.
func saying(now time.Time, pieces ...any) []words {
	var all []words
	for _, p := range pieces {
		switch p := p.(type) {
		case string:
			all = append(all, words{Text: p})
		case words:
			all = append(all, p)
		case time.Duration:
			all = append(all, words{Text: span(p), At: now.Add(-p)})
		default:
			all = append(all, words{Text: fmt.Sprint(p)})
		}
	}
	return all
}

// serverNotices are what the server says of itself and its store: of first importance while it cannot serve.
func serverNotices(at time.Time, ready bool, warnings []string) (all []notice) {
	s := note
	if !ready {
		s = critical
	}
	for _, w := range warnings {
		all = append(all, notice{Severity: s, Words: saying(at, sentence(w))})
	}
	return all
}

// attention is what somebody should look at, the worst first. server is what the server says of itself, and expiring the
// subscriptions that are deleted soon.
func attention(o subscriptions.Overview, server []notice, expiring []subscriptions.Subscription) []notice {
	all := slices.Clone(server)
	a := &attending{o: o, topics: map[subscriptions.TopicName]*subscriptions.TopicReport{},
		oldest: map[subscriptions.TopicName]time.Duration{}, names: namesOf(o)}
	for i := range o.Topics {
		a.topics[o.Topics[i].Topic.Name] = &o.Topics[i]
	}
	for _, r := range o.Subscriptions {
		if !r.Subscription.TopicDeleted {
			a.oldest[r.Subscription.Topic] = max(a.oldest[r.Subscription.Topic], r.Stats.OldestAge)
		}
	}
	for _, n := range o.Store.Nodes {
		all = append(all, a.memory(n)...)
	}
	for _, t := range o.Topics {
		all = append(all, a.topic(t)...)
	}
	for _, r := range o.Subscriptions {
		all = append(all, a.subscription(r)...)
	}
	for _, sub := range expiring {
		all = append(all, a.expiry(sub))
	}
	slices.SortStableFunc(all, func(x, y notice) int {
		return cmp.Or(-cmp.Compare(x.Severity, y.Severity), -cmp.Compare(x.weight, y.weight))
	})
	return all
}

// attending judges the parts of an overview.
type attending struct {
	o      subscriptions.Overview
	topics map[subscriptions.TopicName]*subscriptions.TopicReport
	oldest map[subscriptions.TopicName]time.Duration // the oldest message that is not acked
	names  names
}

func (a *attending) memory(n subscriptions.NodeReport) []notice {
	if n.Max == 0 || float64(n.Used) < memoryShare*float64(n.Max) {
		return nil
	}
	s, then := warning, "publishes are refused when it is full"
	if float64(n.Used) >= 0.95*float64(n.Max) {
		s = critical
	}
	return []notice{{Severity: s, Words: saying(a.o.At, "The store at "+n.Address+" uses "+size(n.Used)+" of "+size(n.Max)+" of memory: "+then)}}
}

// topic judges a dead-letter topic.
func (a *attending) topic(t subscriptions.TopicReport) []notice {
	n := notice{Subject: a.names.Of(t.Topic.Name.Project, t.Topic.Name.ID), Link: topicPath(t.Topic.Name)}
	switch {
	case t.DeadLetters > 0:
		n.Severity, n.weight, n.Link = warning, a.oldest[t.Topic.Name], n.Link+"/dead-letters"
		pieces := []any{" holds ", plural(t.DeadLetters, "dead letter")}
		if t.Owner != "" {
			pieces = append(pieces, ", owner ", t.Owner)
		}
		if old := a.oldest[t.Topic.Name]; old > 0 {
			pieces = append(pieces, ", oldest ", old)
		}
		if len(t.Subscriptions) == 0 {
			pieces = append(pieces, "; it has no subscription, so they are dropped in the end")
		}
		n.Words = saying(a.o.At, pieces...)
	case len(t.Sources) > 0 && len(t.Subscriptions) == 0:
		n.Severity = note
		n.Words = saying(a.o.At, " is a dead-letter topic without a subscription: dead letters are dropped in the end, and nobody reads them")
	default:
		return nil
	}
	return []notice{n}
}

// subscription judges a subscription: the worst of how its messages go, and what will be lost or has nowhere to go.
func (a *attending) subscription(r subscriptions.SubscriptionReport) (all []notice) {
	if r.Subscription.Detached || r.Measured.IsZero() {
		return nil
	}
	owner := ""
	if r.Owner != "" {
		owner = ", owner " + r.Owner
	}
	for _, judge := range []func(subscriptions.SubscriptionReport, string) (severity, []words){a.flow, a.blocked, a.loss, a.burials} {
		n := notice{Subject: a.names.Of(r.Subscription.Name.Project, r.Subscription.Name.ID), Link: subscriptionPath(r.Subscription.Name)}
		if n.Severity, n.Words = judge(r, owner); n.Severity == fine {
			continue
		}
		if n.weight = r.Stats.OldestAge; r.Breaker.Open {
			n.weight = max(n.weight, r.Breaker.Since)
		}
		all = append(all, n)
	}
	return all
}

// flow judges how messages go.
func (a *attending) flow(r subscriptions.SubscriptionReport, owner string) (severity, []words) {
	sub, now, age, backlog := r.Subscription, a.o.At, r.Stats.OldestAge, r.Stats.Backlog()
	switch {
	case r.Breaker.Open:
		return critical, saying(now, ": the endpoint ", a.endpoint(sub), " has refused everything for ", r.Breaker.Since, lastRefusal(r),
			", breaker open, ", nextProbe(r), backlogWords(backlog), owner)
	case nearRetention(r): // loss says it
		return fine, nil
	case pressing(r):
		return warning, saying(now, ": the endpoint ", a.endpoint(sub), " asks by Retry-After to be left alone for "+span(alone(r))+" more",
			lastRefusal(r), backlogWords(backlog), owner)
	case growing(r):
		return warning, a.slow(r, ": backlog grows "+rate(r.In-r.Out)+"/s, oldest ", age, ", never drains at this rate", owner)
	case standing(r) && age >= still && blockedFor(now, r) == 0 && !a.isDeadLetters(sub):
		return warning, a.slow(r, ": "+waiting(backlog)+" and nothing is taken, oldest ", age, owner)
	default:
		return fine, nil
	}
}

// slow is a sentence on pushes that do not keep up, with what is known of the reason. Pulled subscriptions have none.
func (a *attending) slow(r subscriptions.SubscriptionReport, pieces ...any) []words {
	if r.Subscription.IsPush() {
		pieces = append(append(pieces, refusedLately(r)...), words{Text: ": see why", Link: subscriptionPath(r.Subscription.Name)})
	}
	return saying(a.o.At, pieces...)
}

// loss judges whether messages will be dropped unacked.
func (a *attending) loss(r subscriptions.SubscriptionReport, owner string) (severity, []words) {
	if !nearRetention(r) {
		return fine, nil
	}
	age := r.Stats.OldestAge
	return critical, saying(a.o.At, ": the oldest message is ", age, " old and is dropped in "+span(max(0, retention(r)-age))+
		": messages are kept for "+span(retention(r)), owner)
}

// burials judges what became dead letters, and what cannot.
func (a *attending) burials(r subscriptions.SubscriptionReport, owner string) (severity, []words) {
	switch sub := r.Subscription; {
	case a.deadLetterTopicMissing(sub):
		return warning, saying(a.o.At, ": its dead-letter topic "+a.names.Of(sub.DeadLetter.Topic.Project, sub.DeadLetter.Topic.ID)+
			" does not exist; messages that had all their attempts stay", owner)
	case r.Buried > 0:
		return warning, saying(a.o.At, ": ", buriedWords(r), " in the last minutes", owner)
	default:
		return fine, nil
	}
}

// buriedWords say how many messages became dead letters lately, and lead to them.
func buriedWords(r subscriptions.SubscriptionReport) words {
	w := words{Text: "1 message became a dead letter"}
	if r.Buried != 1 {
		w.Text = plural(r.Buried, "message") + " became dead letters"
	}
	if r.Subscription.DeadLetter != nil {
		w.Link = lettersFrom(r.Subscription)
	}
	return w
}

// lettersFrom is the address of a subscription's dead letters.
func lettersFrom(sub subscriptions.Subscription) string {
	return topicPath(sub.DeadLetter.Topic) + "/dead-letters?" + url.Values{"from": {sub.Name.String()}}.Encode()
}

// expiry tells of a subscription that nobody uses.
func (a *attending) expiry(sub subscriptions.Subscription) notice {
	left := sub.Expires.Sub(a.o.At)
	n := notice{Severity: note, Subject: a.names.Of(sub.Name.Project, sub.Name.ID), Link: subscriptionPath(sub.Name)}
	if left < 24*time.Hour {
		n.Severity = warning
	}
	n.Words = []words{{Text: " is not used, and will be deleted in "}, {Text: span(left), At: sub.Expires}, {Text: " unless it is"}}
	return n
}

// isDeadLetters tells whether the subscription's messages are dead letters, of which the topic's notice speaks.
func (a *attending) isDeadLetters(sub subscriptions.Subscription) bool {
	t := a.topics[sub.Topic]
	return t != nil && !sub.TopicDeleted && len(t.Sources) > 0
}

func (a *attending) deadLetterTopicMissing(sub subscriptions.Subscription) bool {
	return sub.DeadLetter != nil && a.topics[sub.DeadLetter.Topic] == nil
}

func (a *attending) endpoint(sub subscriptions.Subscription) string {
	if sub.Push == nil {
		return ""
	}
	return hostOf(sub.Push.Endpoint)
}

func backlogWords(backlog int64) string {
	if backlog == 0 {
		return ""
	}
	return ", " + waiting(backlog)
}

// names writes the names of resources: the id alone, unless there are several projects.
type names struct{ several bool }

func namesOf(o subscriptions.Overview) names {
	var first string
	for _, t := range o.Topics {
		first = cmp.Or(first, t.Topic.Name.Project)
		if t.Topic.Name.Project != first {
			return names{several: true}
		}
	}
	for _, r := range o.Subscriptions {
		first = cmp.Or(first, r.Subscription.Name.Project)
		if r.Subscription.Name.Project != first {
			return names{several: true}
		}
	}
	return names{}
}

// Of is how a resource of a project is called.
func (n names) Of(project, id string) string {
	if n.several {
		return project + "/" + id
	}
	return id
}

// sentence begins a text with a capital letter.
func sentence(text string) string {
	first, width := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[width:]
}
