package web

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

// works notes which operations are begun and stopped.
type works struct {
	redriven, purged []subscriptions.DeadLetterWork
	stopped          []subscriptions.OperationName
	operations       []subscriptions.Operation
}

var operationName = subscriptions.OperationName{Project: "demo", ID: "redrive-1"}

func (d *desk) Redrive(_ context.Context, w subscriptions.DeadLetterWork) (subscriptions.Operation, error) {
	d.redriven = append(d.redriven, w)
	return begunOperation(w), nil
}

func (d *desk) Purge(_ context.Context, w subscriptions.DeadLetterWork) (subscriptions.Operation, error) {
	d.purged = append(d.purged, w)
	return begunOperation(w), nil
}

func begunOperation(w subscriptions.DeadLetterWork) subscriptions.Operation {
	op := subscriptions.Operation{Progress: subscriptions.OperationProgress{Total: 1234}}
	if len(w.IDs) > 0 {
		op.Progress.Total = int64(len(w.IDs))
	}
	if !w.ValidateOnly {
		op.Name = operationName
	}
	return op
}

func (d *desk) GetOperation(_ context.Context, n subscriptions.OperationName) (subscriptions.Operation, error) {
	for _, op := range d.operations {
		if op.Name == n {
			return op, nil
		}
	}
	return subscriptions.Operation{}, subscriptions.Errorf(subscriptions.NotFound, "%s does not exist", n)
}

func (d *desk) ListOperations(_ context.Context, project string, _ subscriptions.Page) ([]subscriptions.Operation, string, error) {
	if project != "demo" {
		return nil, "", nil
	}
	return d.operations, "", nil
}

func (d *desk) CancelOperation(_ context.Context, n subscriptions.OperationName) (subscriptions.Operation, error) {
	d.stopped = append(d.stopped, n)
	return subscriptions.Operation{}, nil
}

// answerTo posts a form, and returns the status, where it leads, and its text.
func answerTo(t *testing.T, s *Site, path string, form url.Values) (status int, location, text string) {
	t.Helper()
	answer := visit(t, s, "POST", path, form.Encode())
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	checkSafe(t, string(body))
	return answer.StatusCode, answer.Header.Get("Location"), shown(t, string(body))
}

func TestRedriveIsReviewedFirst(t *testing.T) {
	d := deadDesk()
	s := New(d, Options{Explain: explained})
	_, _, text := answerTo(t, s, lettersPath+"/review", url.Values{"what": {"redrive"}, "id": {letterID.String()}, "q": {"left over"}})
	wants(t, text, "Redrive 1 dead letter?", "Each goes back to the subscription it came from, and to no other", "At most so many a second", "Redrive 1 dead letter", "Cancel")
	if len(d.redriven) != 1 || !d.redriven[0].ValidateOnly || len(d.redriven[0].IDs) != 1 || d.redriven[0].Text != "" {
		t.Errorf("asked for %+v", d.redriven)
	}
	_, _, text = answerTo(t, s, lettersPath+"/review", url.Values{"what": {"purge-all"}, "q": {"<b>"}, "holder": {"projects/demo/subscriptions/watch"}})
	wants(t, text, "Purge 1,234 dead letters?", "They are dropped for good", "Those with “<b>” in them", "The copies that projects/demo/subscriptions/watch holds",
		"I want 1,234 dead letters to be gone")
	if w := d.purged[0]; !w.ValidateOnly || w.Text != "<b>" || w.Holder != subscriptionOf("watch") {
		t.Errorf("asked for %+v", w)
	}
	_, _, text = answerTo(t, s, lettersPath+"/review", url.Values{"what": {"purge"}})
	wants(t, text, "Purge nothing?", "None is selected")
	if status, _, _ := answerTo(t, s, lettersPath+"/review", url.Values{"what": {"drop"}}); status != http.StatusBadRequest {
		t.Errorf("an unknown deed is answered %d", status)
	}
}

func TestReviewTellsOfOtherCopies(t *testing.T) {
	s := New(deadDesk(), Options{Explain: explained})
	form := url.Values{"id": {letterID.String()}, "holder": {"projects/demo/subscriptions/watch"}}
	for what, want := range map[string]string{
		"redrive": "The copies of orders-dead stay: redriving those, too, would send the same messages a second time.",
		"purge":   "The copies of orders-dead stay.",
	} {
		form.Set("what", what)
		_, _, text := answerTo(t, s, lettersPath+"/review", form)
		wants(t, text, want)
	}
}

func TestRedriveBeginsAnOperation(t *testing.T) {
	d := deadDesk()
	s := New(d, Options{Explain: explained})
	status, location, _ := answerTo(t, s, lettersPath+"/redrive", url.Values{"id": {letterID.String(), "5-1"}, "rate": {" 2.5 "}})
	if status != http.StatusSeeOther || location != "/projects/demo/operations/redrive-1" {
		t.Errorf("answered %d %s", status, location)
	}
	if w := d.redriven[0]; w.ValidateOnly || len(w.IDs) != 2 || w.PerSecond != 2.5 || w.Topic != topicOf("orders") {
		t.Errorf("asked for %+v", w)
	}
	answerTo(t, s, lettersPath+"/redrive", url.Values{"all": {"yes"}, "q": {"eu"}, "from": {"projects/demo/subscriptions/billing"}})
	if w := d.redriven[1]; len(w.IDs) != 0 || w.Text != "eu" || w.From != subscriptionOf("billing") || w.PerSecond != 0 {
		t.Errorf("asked for %+v", w)
	}
}

// What is left out by mistake must not read as "all".
func TestNothingIsPurgedByMistake(t *testing.T) {
	d := deadDesk()
	s := New(d, Options{Explain: explained})
	id := letterID.String()
	for _, form := range []url.Values{
		{}, {"sure": {"yes"}}, {"id": {id}}, {"all": {"yes"}}, {"id": {"x"}, "sure": {"yes"}}, {"sure": {"no"}, "all": {"yes"}}, {"all": {"no"}, "sure": {"yes"}},
		{"id": {id}, "sure": {"yes"}, "rate": {"-1"}}, {"id": {id}, "sure": {"yes"}, "rate": {"NaN"}}, {"all": {"yes"}, "sure": {"yes"}, "from": {"nobody"}},
	} {
		if status, _, _ := answerTo(t, s, lettersPath+"/purge", form); status != http.StatusBadRequest {
			t.Errorf("%v is answered %d", form, status)
		}
	}
	if answer := visit(t, s, "POST", lettersPath+"/purge", "all=yes&sure=yes", "Sec-Fetch-Site", "cross-site"); answer.StatusCode != http.StatusForbidden {
		t.Errorf("another page is answered %d", answer.StatusCode)
	}
	if len(d.purged) != 0 {
		t.Errorf("purged is %+v", d.purged)
	}
	if status, _, _ := answerTo(t, s, lettersPath+"/purge", url.Values{"all": {"yes"}, "sure": {"yes"}}); status != http.StatusSeeOther || len(d.purged) != 1 {
		t.Errorf("what is meant is answered %d", status)
	}
}

func TestOperationsTellHowFarTheyAre(t *testing.T) {
	progress := subscriptions.OperationProgress{Total: 100, Moved: 45}
	for want, change := range map[string]func(*subscriptions.Operation){
		"45 of 100 redriven so far. Stop":           func(*subscriptions.Operation) {},
		"45 of more than 100 redriven so far. Stop": func(o *subscriptions.Operation) { o.Progress.AtLeast = true },
		"At its rate it takes about 55 s more.":     func(o *subscriptions.Operation) { o.PerSecond = 1 },
		"45 of 100 redriven, 3 could not be and stay so far.": func(o *subscriptions.Operation) {
			o.Progress.Failed = 3
		},
		"45 of 100 redriven, 4 had been taken by somebody else so far.": func(o *subscriptions.Operation) {
			o.Progress.Gone = 4
		},
		"45 of 100 redriven, 2 not found so far.": func(o *subscriptions.Operation) {
			o.NotFound = make([]subscriptions.MessageID, 2)
		},
		"Waiting: as many are outstanding as may be. 45 of 100 redriven.": func(o *subscriptions.Operation) {
			o.Progress.Waiting = "as many are outstanding as may be"
		},
		"Stopping: 45 of 100 redriven.": func(o *subscriptions.Operation) { o.CancelRequested = true },
		"Stopped: 45 of 100 redriven.": func(o *subscriptions.Operation) {
			o.Done, o.Failure = true, subscriptions.Errorf(subscriptions.Canceled, "stopped")
		},
		"Failed: the subscription is gone. 45 of 100 redriven.": func(o *subscriptions.Operation) {
			o.Done, o.Failure = true, subscriptions.Errorf(subscriptions.NotFound, "the subscription is gone")
		},
		"Done: 45 of 100 purged.": func(o *subscriptions.Operation) { o.Done, o.Kind = true, subscriptions.PurgeKind },
	} {
		d := deadDesk()
		op := subscriptions.Operation{Name: operationName, Kind: subscriptions.RedriveKind, Topic: topicOf("orders"), Progress: progress, Created: now}
		change(&op)
		d.operations = []subscriptions.Operation{op}
		text := shown(t, read(t, New(d, Options{Explain: explained}), operationPath(operationName)))
		wants(t, text, "dead letters of", want)
		if strings.Contains(text, " Stop ") == op.Done {
			t.Errorf("%s: stopping it is not as it should be", want)
		}
	}
}

func TestOperationsAreListedAndStopped(t *testing.T) {
	d := deadDesk()
	s := New(d, Options{Explain: explained})
	wants(t, shown(t, read(t, s, "/operations")), "Nothing runs, and nothing has run lately")
	for i, id := range []string{"redrive-1", "redrive-2", "redrive-3"} {
		d.operations = append(d.operations, subscriptions.Operation{
			Name: subscriptions.OperationName{Project: "demo", ID: id}, Topic: topicOf("orders"), Created: now.Add(time.Duration(i) * time.Minute),
		})
	}
	page := read(t, s, "/operations")
	if !slices.IsSorted([]int{strings.Index(page, "redrive-3"), strings.Index(page, "redrive-2"), strings.Index(page, "redrive-1")}) {
		t.Error("the newest is not the first")
	}
	status, location, _ := answerTo(t, s, operationPath(operationName)+"/stop", nil)
	if status != http.StatusSeeOther || location != operationPath(operationName)+"?done=stop" || len(d.stopped) != 1 {
		t.Errorf("answered %d %s", status, location)
	}
	wants(t, shown(t, read(t, s, location)), "The operation has been asked to stop")
}

// A rate near 0 takes very long: the time left does not overflow.
func TestTimeLeftOfAnOperation(t *testing.T) {
	for rate, want := range map[float64]time.Duration{0: 0, 2: 50 * time.Second, 1e-300: longestLeft} {
		op := subscriptions.Operation{PerSecond: rate, Progress: subscriptions.OperationProgress{Total: 110, Moved: 9, Failed: 1}}
		if got := newOperationView(op, names{}).Left(); got != want {
			t.Errorf("at %v a second %v are left, want %v", rate, got, want)
		}
	}
}
