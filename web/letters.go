package web

import (
	"net/http"
	"net/url"
	"strings"

	"postrider/subscriptions"
)

// letterView is a dead letter as it is shown.
type letterView struct {
	messageView
	Path   string
	Letter subscriptions.DeadLetter
	// From is the name of the subscription that it comes from, and FromPath its page.
	From, FromPath string
}

// lettersData is a page of dead letters.
type lettersData struct {
	Name, Project, Path string
	TopicPath           string
	Report              subscriptions.TopicReport
	Letters             []letterView
	Search              letterSearch
	Holders             []choice
	Sources             []choice
	Next                string
	First               bool
	Names               names
}

// letterSearch is what dead letters are looked for by, as it stands in the address.
type letterSearch struct {
	Text, From, Holder string
}

// Any tells whether anything is looked for.
func (l letterSearch) Any() bool { return l.Text != "" || l.From != "" }

// choice is one of several resources to choose from.
type choice struct {
	Name, Title string
	Chosen      bool
}

// Others are the subscriptions whose copies are not shown.
func (d lettersData) Others() (others []choice) {
	for _, c := range d.Holders {
		if !c.Chosen {
			others = append(others, c)
		}
	}
	return others
}

// HeldBy is the address of the same search among the copies of another holder.
func (d lettersData) HeldBy(holder string) string {
	v := url.Values{"holder": {holder}}
	if d.Search.Text != "" {
		v.Set("q", d.Search.Text)
	}
	if d.Search.From != "" {
		v.Set("from", d.Search.From)
	}
	return d.Path + "?" + v.Encode()
}

const lettersPerPage = 50

// query is what the address asks for: dead letters of a topic, that one subscription holds where there are several.
func (l letterSearch) query(topic subscriptions.TopicName) (subscriptions.DeadLetterQuery, error) {
	q := subscriptions.DeadLetterQuery{Topic: topic}
	q.Text = l.Text
	var err error
	if l.From != "" {
		if q.From, err = subscriptions.ParseSubscriptionName("from", l.From); err != nil {
			return q, err
		}
	}
	if l.Holder != "" {
		q.Holder, err = subscriptions.ParseSubscriptionName("holder", l.Holder)
	}
	return q, err
}

func readLetterSearch(v url.Values) letterSearch {
	return letterSearch{Text: strings.TrimSpace(v.Get("q")), From: v.Get("from"), Holder: v.Get("holder")}
}

// deadLetters lists the dead letters of a topic.
func (s *Site) deadLetters(r *http.Request) (page, error) {
	name, v := topicIn(r), r.URL.Query()
	d, err := s.lettersOf(r, name)
	if err != nil {
		return page{}, err
	}
	q, err := d.Search.query(name)
	if err != nil {
		return page{}, err
	}
	found, next, err := s.backend.DeadLetters(r.Context(), q, subscriptions.Page{Size: lettersPerPage, Token: v.Get("page")})
	if err != nil {
		return page{}, err
	}
	d.Next, d.First = nextPage(r.URL, next), v.Get("page") == ""
	for _, l := range found {
		d.Letters = append(d.Letters, newLetterView(l, d.Names, "", maxInList))
	}
	return page{title: "Dead letters of " + name.ID, name: "letters", parts: []string{"letters-state"}, data: d}, nil
}

// lettersOf is what every page of a topic's dead letters has. Where several subscriptions hold them, each has its own copies, and
// the first one's are shown.
func (s *Site) lettersOf(r *http.Request, name subscriptions.TopicName) (lettersData, error) {
	t, err := s.backend.GetTopic(r.Context(), name)
	if err != nil {
		return lettersData{}, err
	}
	o, err := s.backend.Overview(r.Context())
	if err != nil {
		return lettersData{}, err
	}
	d := lettersData{
		Name: name.ID, Project: name.Project, Path: topicPath(name) + "/dead-letters", TopicPath: topicPath(name),
		Report: topicReportOf(o, t), Search: readLetterSearch(r.URL.Query()), Names: namesOf(o),
	}
	if holders := d.Report.Subscriptions; len(holders) > 1 {
		if d.Search.Holder == "" {
			d.Search.Holder = holders[0].String()
		}
		d.Holders = d.choices(holders, d.Search.Holder)
	}
	d.Sources = d.choices(d.Report.Sources, d.Search.From)
	return d, nil
}

func (d lettersData) choices(all []subscriptions.SubscriptionName, chosen string) (to []choice) {
	for _, n := range all {
		to = append(to, choice{n.String(), d.Names.Of(n.Project, n.ID), n.String() == chosen})
	}
	return to
}

func newLetterView(l subscriptions.DeadLetter, n names, as string, most int) letterView {
	v := letterView{
		messageView: newMessageView(l.Peeked, as, most), Letter: l,
		Path: topicPath(l.Topic) + "/dead-letters/" + l.Message.ID.String(),
	}
	if l.Holder != (subscriptions.SubscriptionName{}) {
		v.Path += "?" + url.Values{"holder": {l.Holder.String()}}.Encode()
	}
	from := l.Origin.Subscription
	v.From, v.FromPath = n.Of(from.Project, from.ID), subscriptionPath(from)
	return v
}

// letterData is the page of one dead letter.
type letterData struct {
	lettersData
	Letter letterView
	Ways   []way
}

// deadLetter shows a dead letter in full.
func (s *Site) deadLetter(r *http.Request) (page, error) {
	name := topicIn(r)
	d, err := s.lettersOf(r, name)
	if err != nil {
		return page{}, err
	}
	id, err := subscriptions.ParseMessageID(r.PathValue("letter"))
	if err != nil {
		return page{}, err
	}
	q, err := letterSearch{Holder: d.Search.Holder}.query(name)
	if err != nil {
		return page{}, err
	}
	q.IDs = []subscriptions.MessageID{id}
	found, _, err := s.backend.DeadLetters(r.Context(), q, subscriptions.Page{Size: 1})
	if err != nil {
		return page{}, err
	}
	if len(found) == 0 {
		return page{}, subscriptions.Errorf(subscriptions.NotFound, "%s has no dead letter %s (any more)", name, id)
	}
	l := newLetterView(found[0], d.Names, r.URL.Query().Get("as"), maxShown)
	return page{title: "Dead letter " + id.String(), name: "letter", data: letterData{d, l, ways(r.URL)}}, nil
}

func topicReportOf(o subscriptions.Overview, t subscriptions.Topic) subscriptions.TopicReport {
	for _, report := range o.Topics {
		if report.Topic.UID == t.UID && report.Topic.Name == t.Name {
			return report
		}
	}
	return subscriptions.TopicReport{Topic: t}
}
