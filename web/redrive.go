package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"postrider/subscriptions"
)

// reviewData is what is asked before dead letters are redriven or purged: the outcome of a dry run.
type reviewData struct {
	Topic, Project, Path string
	TopicPath            string
	Purge                bool
	Search               letterSearch
	IDs                  []subscriptions.MessageID // those selected one by one; none for all that match
	Total                int64
	Number               string // how many, in words
	// Others are subscriptions that have copies of their own, which stay.
	Others []choice
}

// readWork reads which dead letters a form is about. all are those that match, else only what is ticked.
func readWork(r *http.Request, all bool) (search letterSearch, w subscriptions.DeadLetterWork, err error) {
	f := r.PostForm
	if search = readLetterSearch(f); !all {
		search = letterSearch{Holder: search.Holder} // what is ticked is meant, whatever was looked for
	}
	if w.DeadLetterQuery, err = search.query(topicIn(r)); err != nil || all {
		return search, w, err
	}
	for _, text := range f["id"] {
		id, err := subscriptions.ParseMessageID(text)
		if err != nil {
			return search, w, err
		}
		w.IDs = append(w.IDs, id)
	}
	return search, w, nil
}

// review shows what would be redriven or purged, and asks.
func (s *Site) review(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, unreadable(err))
		return
	}
	what, all := strings.CutSuffix(r.PostForm.Get("what"), "-all")
	if what != "redrive" && what != "purge" {
		s.fail(w, r, subscriptions.Errorf(subscriptions.InvalidArgument, "what is to become of the dead letters: redrive, or purge?"))
		return
	}
	name := topicIn(r)
	search, work, err := readWork(r, all)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	d := reviewData{
		Topic: name.ID, Project: name.Project, Path: topicPath(name) + "/dead-letters", TopicPath: topicPath(name),
		Purge: what == "purge", Search: search, IDs: work.IDs, Number: "nothing",
	}
	letters, err := s.lettersOf(r, name)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	for _, c := range letters.Holders {
		if c.Name != search.Holder && search.Holder != "" {
			d.Others = append(d.Others, c)
		}
	}
	if all || len(work.IDs) > 0 { // without ids, a query is about all there are
		work.ValidateOnly = true
		op, err := s.work(r, d.Purge, work)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if d.Total = op.Progress.Total; d.Total > 0 {
			d.Number = plural(d.Total, "dead letter")
		}
		if op.Progress.AtLeast {
			d.Number = "more than " + d.Number
		}
	}
	s.render(w, r, page{title: "Are you sure?", name: "review", data: d})
}

func (s *Site) work(r *http.Request, purge bool, w subscriptions.DeadLetterWork) (subscriptions.Operation, error) {
	if purge {
		return s.backend.Purge(r.Context(), w)
	}
	return s.backend.Redrive(r.Context(), w)
}

// beginWork begins what was reviewed, and goes on to the page of the operation.
func (s *Site) beginWork(w http.ResponseWriter, r *http.Request) {
	op, err := s.begun(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, operationPath(op.Name), http.StatusSeeOther)
}

func (s *Site) begun(r *http.Request) (op subscriptions.Operation, err error) {
	if err := r.ParseForm(); err != nil {
		return op, unreadable(err)
	}
	purge := strings.HasSuffix(r.URL.Path, "/purge")
	if purge && r.PostForm.Get("sure") != "yes" {
		return op, subscriptions.Errorf(subscriptions.InvalidArgument, "nothing is purged without being sure: tick the box")
	}
	all := r.PostForm.Get("all") == "yes"
	_, work, err := readWork(r, all)
	if err == nil && !all && len(work.IDs) == 0 {
		err = subscriptions.Errorf(subscriptions.InvalidArgument, "no dead letter is selected")
	}
	if err != nil {
		return op, err
	}
	if work.PerSecond, err = readRate(r.PostForm); err != nil {
		return op, err
	}
	return s.work(r, purge, work)
}

// readRate reads how many a second; empty is no limit.
func readRate(f url.Values) (float64, error) {
	text := strings.TrimSpace(f.Get("rate"))
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) {
		return 0, subscriptions.Errorf(subscriptions.InvalidArgument, "so many a second: %q is not a number above 0", text)
	}
	return v, nil
}
