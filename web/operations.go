package web

import (
	"net/http"
	"slices"
	"time"

	"postrider/subscriptions"
)

// operationView is an operation in words.
type operationView struct {
	subscriptions.Operation
	Path, TopicPath, Topic string
	What                   string // Redrive or Purge
	State                  string // in a word
	Sentence               string
	Done                   int64 // of Total, as far as a bar shows
	Bar                    int64
}

func newOperationView(op subscriptions.Operation, n names) operationView {
	v := operationView{
		Operation: op, Path: operationPath(op.Name), TopicPath: topicPath(op.Topic), Topic: n.Of(op.Topic.Project, op.Topic.ID),
		What: "Redrive", State: "running", Done: op.Progress.Moved + op.Progress.Gone + op.Progress.Failed,
	}
	moved := "redriven"
	if op.Kind == subscriptions.PurgeKind {
		v.What, moved = "Purge", "purged"
	}
	v.Bar = max(op.Progress.Total, v.Done, 1)
	if op.Done && op.Failure == nil {
		v.Bar = max(v.Done, 1)
		v.Done = v.Bar
	}
	total := count(op.Progress.Total)
	if op.Progress.AtLeast {
		total = "more than " + total
	}
	v.Sentence = count(op.Progress.Moved) + " of " + total + " " + moved
	if op.Progress.Gone > 0 {
		v.Sentence += ", " + count(op.Progress.Gone) + " had been taken by somebody else"
	}
	if op.Progress.Failed > 0 {
		v.Sentence += ", " + count(op.Progress.Failed) + " could not be and stay"
	}
	if n := len(op.NotFound); n > 0 {
		v.Sentence += ", " + count(n) + " not found"
	}
	switch {
	case op.Done && op.Failure == nil:
		v.State, v.Sentence = "done", "Done: "+v.Sentence+"."
	case op.Done && op.Failure.Code == subscriptions.Canceled:
		v.State, v.Sentence = "stopped", "Stopped: "+v.Sentence+"."
	case op.Done:
		v.State, v.Sentence = "failed", "Failed: "+op.Failure.Message+". "+v.Sentence+"."
	case op.CancelRequested:
		v.State, v.Sentence = "stopping", "Stopping: "+v.Sentence+"."
	case op.Progress.Waiting != "":
		v.State, v.Sentence = "waiting", "Waiting: "+op.Progress.Waiting+". "+v.Sentence+"."
	default:
		v.Sentence += " so far."
	}
	return v
}

// longestLeft bounds how long something is said to take, at a rate near 0.
const longestLeft = 100 * 365 * 24 * time.Hour

// Left is how long it takes at the rate that was asked for; 0 if that is not known.
func (v operationView) Left() time.Duration {
	if v.Operation.Done || v.PerSecond <= 0 {
		return 0
	}
	left := float64(max(0, v.Progress.Total-v.Progress.Moved-v.Progress.Gone-v.Progress.Failed)) / v.PerSecond
	return time.Duration(min(left, longestLeft.Seconds()) * float64(time.Second))
}

// operationData is the page of one operation.
type operationData struct {
	Project, ID string
	Operation   operationView
}

func operationIn(r *http.Request) subscriptions.OperationName {
	return subscriptions.OperationName{Project: r.PathValue("project"), ID: r.PathValue("operation")}
}

// operation shows how far one has come.
func (s *Site) operation(r *http.Request) (page, error) {
	name := operationIn(r)
	op, err := s.backend.GetOperation(r.Context(), name)
	if err != nil {
		return page{}, err
	}
	d := operationData{name.Project, name.ID, newOperationView(op, names{several: op.Topic.Project != name.Project})}
	return page{
		title: d.Operation.What + " of " + op.Topic.ID, section: "operations", name: "operation", parts: []string{"operation-state"}, data: d,
	}, nil
}

// stopOperation asks one to end.
func (s *Site) stopOperation(w http.ResponseWriter, r *http.Request) {
	name := operationIn(r)
	if _, err := s.backend.CancelOperation(r.Context(), name); err != nil {
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, operationPath(name)+"?done=stop", http.StatusSeeOther)
}

// operationsData is the list of operations.
type operationsData struct {
	Operations []operationView
	More       bool // there are more than are shown
}

// operationsShown bounds the list, of each project.
const operationsShown = 200

// operations lists what runs and what has run lately, in all projects, the newest first.
func (s *Site) operations(r *http.Request) (page, error) {
	o, err := s.backend.Overview(r.Context())
	if err != nil {
		return page{}, err
	}
	var d operationsData
	for _, project := range projectsOf(o) {
		ops, next, err := s.backend.ListOperations(r.Context(), project, subscriptions.Page{Size: operationsShown})
		if err != nil {
			return page{}, err
		}
		d.More = d.More || next != ""
		for _, op := range ops {
			d.Operations = append(d.Operations, newOperationView(op, namesOf(o)))
		}
	}
	slices.SortFunc(d.Operations, func(a, b operationView) int { return b.Created.Compare(a.Created) })
	return page{title: "Operations", section: "operations", name: "operations", parts: []string{"operations-table"}, data: d}, nil
}

// projectsOf are the projects that have a topic or a subscription.
func projectsOf(o subscriptions.Overview) []string {
	var all []string
	for _, t := range o.Topics {
		all = append(all, t.Topic.Name.Project)
	}
	for _, r := range o.Subscriptions {
		all = append(all, r.Subscription.Name.Project)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
