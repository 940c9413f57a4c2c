package subscriptions

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// warningKind is what an operator is warned of before it happens, or while it
// lasts.
type warningKind int

const (
	expiresSoon warningKind = iota
	dropsSoon
	deadLetterTopicMissing
	warningKinds
)

var warningTexts = [warningKinds]string{
	expiresSoon:            "subscriptions that are not used, and so will be deleted",
	dropsSoon:              "subscriptions whose oldest messages will outlive the retention, and so be dropped",
	deadLetterTopicMissing: "subscriptions that keep exhausted messages, since their dead-letter topics do not exist",
}

const (
	// warningNames bounds how many subscriptions a warning names.
	warningNames = 10
	// warnAgain is how often a warning that lasts is logged, and warnAnew how soon
	// one that had passed is.
	warnAgain, warnAnew = 24 * time.Hour, time.Hour
	// warnEvery bounds how often warnings of one kind are logged.
	warnEvery = time.Minute
)

// warnings are what an operator should know of the subscriptions that this
// server owns. The sweeps find out.
type warnings struct {
	log *slog.Logger

	mu     sync.Mutex
	kinds  [warningKinds]map[string]*warning // by the subscription's UID
	logged [warningKinds]time.Time
}

// warning is of one kind and subscription.
type warning struct {
	name   SubscriptionName
	detail string
	lasts  bool
	logged time.Time // zero for never
	due    bool      // to be logged
}

func (w *warning) String() string { return w.name.String() + " (" + w.detail + ")" }

func newWarnings(log *slog.Logger) *warnings {
	w := &warnings{log: log}
	for k := range w.kinds {
		w.kinds[k] = map[string]*warning{}
	}
	return w
}

// set notes a warning, or with an empty detail that there is no reason for one.
func (w *warnings) set(ctx context.Context, kind warningKind, sub Subscription, detail string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	is := w.kinds[kind][sub.UID]
	if detail == "" {
		if is != nil {
			is.lasts, is.due = false, false
		}
		return
	}
	if is == nil {
		is = &warning{name: sub.Name}
		w.kinds[kind][sub.UID] = is
	}
	again := warnAgain
	if !is.lasts {
		again = warnAnew
	}
	is.detail, is.lasts = detail, true
	is.due = is.due || is.logged.IsZero() || time.Since(is.logged) >= again
	w.logDue(ctx, kind)
}

// logDue logs in one line what there is to be logged of a kind. The caller holds
// the mutex.
func (w *warnings) logDue(ctx context.Context, kind warningKind) {
	if time.Since(w.logged[kind]) < warnEvery {
		return // the next sweep brings it up again
	}
	due := w.those(kind, func(is *warning) bool { return is.due })
	if len(due) == 0 {
		return
	}
	w.logged[kind] = time.Now()
	for _, is := range due {
		is.due, is.logged = false, w.logged[kind]
	}
	w.log.WarnContext(ctx, warningTexts[kind], "subscriptions", named(due))
}

// those are the warnings of a kind for which is holds, by name. The caller holds the mutex.
func (w *warnings) those(kind warningKind, holds func(*warning) bool) []*warning {
	found := slices.DeleteFunc(slices.Collect(maps.Values(w.kinds[kind])), func(is *warning) bool { return !holds(is) })
	slices.SortFunc(found, func(a, b *warning) int { return cmp.Compare(a.name.String(), b.name.String()) })
	return found
}

// named lists some warnings, and counts the rest.
func named(all []*warning) string {
	var texts []string
	for _, is := range all[:min(len(all), warningNames)] {
		texts = append(texts, is.String())
	}
	text := strings.Join(texts, ", ")
	if more := len(all) - len(texts); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// keep forgets all but these subscriptions, by UID.
func (w *warnings) keep(uids map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, of := range w.kinds {
		maps.DeleteFunc(of, func(uid string, _ *warning) bool { return !uids[uid] })
	}
}

// lasts tells whether there is a warning.
func (w *warnings) lasts(kind warningKind, uid string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	is := w.kinds[kind][uid]
	return is != nil && is.lasts
}

// Warnings are what an operator should know of the subscriptions that this
// server owns, as of their last sweeps, each of bounded length: which expire
// soon, have messages that will be dropped soon, or keep dead letters that have
// nowhere to go.
func (s *Service) Warnings() []string {
	w := s.warnings
	w.mu.Lock()
	defer w.mu.Unlock()
	var texts []string
	for kind := range warningKinds {
		if lasting := w.those(kind, func(is *warning) bool { return is.lasts }); len(lasting) > 0 {
			texts = append(texts, warningTexts[kind]+": "+named(lasting))
		}
	}
	return texts
}
