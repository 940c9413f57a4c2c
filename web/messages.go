package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"postrider/subscriptions"
)

// messageView is a message as it is shown.
type messageView struct {
	subscriptions.Peeked
	Excerpt string
	Content content
	// Attributes are those of the publisher, and Added those that dead-lettering and redriving added.
	Attributes, Added []attribute
	// Standing is what becomes of it, in words; Due is when, if it waits for a time.
	Standing string
	Due      time.Time
}

// attribute is one of a message.
type attribute struct{ Name, Value string }

func newMessageView(m subscriptions.Peeked, as string, most int) messageView {
	v := messageView{Peeked: m, Excerpt: excerpt(m.Message.Data), Content: newContent(m.Message.Data, as, most), Due: m.Next}
	for _, name := range slices.Sorted(maps.Keys(m.Message.Attributes)) {
		a := attribute{name, m.Message.Attributes[name]}
		if strings.HasPrefix(name, "CloudPubSubDeadLetterSource") || strings.HasPrefix(name, "postrider-") {
			v.Added = append(v.Added, a)
		} else {
			v.Attributes = append(v.Attributes, a)
		}
	}
	v.Standing = map[subscriptions.PeekState]string{
		subscriptions.PeekNew: "not delivered yet", subscriptions.PeekLeased: "with a receiver, its lease ends",
		subscriptions.PeekWaiting: "waits for its next attempt", subscriptions.PeekParked: "behind another of its ordering key",
		subscriptions.PeekDead: "goes to the dead letters",
	}[m.State]
	return v
}

// held is the message where a breaker may be open: no time of its own counts then.
func (v messageView) held(b subscriptions.Breaker) messageView {
	if b.Open && v.State == subscriptions.PeekWaiting {
		v.Standing, v.Due = "waits for the circuit breaker to close", time.Time{}
	}
	return v
}

// messagesData is a page of what a subscription has not acked.
type messagesData struct {
	Name, Project, Path string
	Messages            []messageView
	As                  string
	Ways                []way
	Next                string // the address of the next page
	First               bool   // this is the first page
}

// way is a way to show data, and the address that does.
type way struct {
	Name, Address string
	Now           bool
}

// ways are all of them, at the address that is asked for.
func ways(u *url.URL) (all []way) {
	for _, w := range []struct{ as, name string }{{"", "automatic"}, {"text", "text"}, {"json", "JSON"}, {"hex", "hex"}} {
		q := u.Query()
		q.Set("as", w.as)
		if w.as == "" {
			q.Del("as")
		}
		all = append(all, way{Name: w.name, Address: u.EscapedPath() + "?" + q.Encode(), Now: u.Query().Get("as") == w.as})
	}
	return all
}

// Sizes of lists of messages.
const (
	messagesPerPage = 20
	peekedAtOnce    = 5 // on the page of a subscription
)

// messages is a page of what waits in a subscription.
func (s *Site) messages(r *http.Request) (page, error) {
	name, q := subscriptionIn(r), r.URL.Query()
	found, next, err := s.backend.Peek(r.Context(), name, subscriptions.Page{Size: messagesPerPage, Token: q.Get("page")})
	if err != nil {
		return page{}, err
	}
	sub, err := s.backend.GetSubscription(r.Context(), name)
	if err != nil {
		return page{}, err
	}
	o, err := s.backend.Overview(r.Context())
	if err != nil {
		return page{}, err
	}
	breaker := reportOf(o, sub).Breaker
	d := messagesData{
		Name: name.ID, Project: name.Project, Path: subscriptionPath(name), As: q.Get("as"), Ways: ways(r.URL),
		Next: nextPage(r.URL, next), First: q.Get("page") == "",
	}
	for _, m := range found {
		d.Messages = append(d.Messages, newMessageView(m, d.As, maxInList).held(breaker))
	}
	return page{title: "Messages of " + name.ID, name: "messages", data: d}, nil
}

// nextPage is the address of the page that a token stands for; empty without.
func nextPage(u *url.URL, token string) string {
	if token == "" {
		return ""
	}
	q := u.Query()
	q.Set("page", token)
	return u.EscapedPath() + "?" + q.Encode()
}
