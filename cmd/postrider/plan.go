package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"postrider/cmd/postrider/declared"
	"postrider/subscriptions"
)

// What is done to a resource that is declared, or with --prune is not.
const (
	actionCreate    = "create"
	actionUpdate    = "update"
	actionUnchanged = "unchanged"
	actionDelete    = "delete"
)

// planned is a resource that a file declares, and what is to be done so that the server has it.
type planned struct {
	declared.Resource
	action  string
	changes []declared.Change
	mask    []string // of an update
	notes   []string // what of the file has no effect
	loses   string   // what is lost when it is deleted
}

// planner finds out what is to be done, and touches nothing.
type planner struct {
	*session
	*rehearsal
	mistakes mistakes

	current map[string]declared.Resource // what the server has, by name
	partial bool                         // the files may declare more than could be read
}

// plan judges what is declared and compares it with what the server has. The answer is in the order in which to go on: topics
// first, and of them those that take dead letters; last what prune selects and is not declared. All mistakes that can be known are
// told at once, those of form first.
func (s *session) plan(ctx context.Context, d declared.Declarations, prune pairs) ([]planned, error) {
	rehearsal, err := newRehearsal()
	if err != nil {
		return nil, err
	}
	p := &planner{session: s, rehearsal: rehearsal, current: map[string]declared.Resource{}, partial: d.Partial, mistakes: d.Wrong}
	resources := slices.DeleteFunc(slices.Clone(d.Resources), func(r declared.Resource) bool {
		_, err := p.at(r)
		p.mistakes.add(r, err)
		return err != nil
	})
	steps, err := p.steps(ctx, resources, prune)
	if mistakes := p.mistakes.err(); mistakes != nil {
		return nil, errors.Join(mistakes, err) // without the server something is known, too
	}
	return steps, err
}

// steps is plan when the form was looked at.
func (p *planner) steps(ctx context.Context, resources []declared.Resource, prune pairs) ([]planned, error) {
	inOrder(resources)
	if err := p.fetch(ctx, resources); err != nil {
		return nil, err
	}
	if err := p.fetchReferences(ctx, resources); err != nil {
		return nil, err
	}
	steps, err := p.rehearse(ctx, resources)
	if err != nil || prune == nil {
		return steps, err
	}
	return p.prune(ctx, resources, steps, prune)
}

// at is the place of a resource at the real server.
func (p *planner) at(r declared.Resource) (at, error) {
	return locate(p.session.Client, r.Kind, r.Name)
}

// there is the place of a resource in the rehearsal. Its name was found right before.
func (p *planner) there(kind declared.Kind, name string) at {
	a, _ := locate(p.rehearsal.Client, kind, name)
	return a
}

func inOrder(resources []declared.Resource) {
	takesDeadLetters := map[string]bool{}
	for _, r := range resources {
		if policy, ok := r.Fields["deadLetterPolicy"].(map[string]any); ok {
			topic, _ := policy["deadLetterTopic"].(string)
			takesDeadLetters[topic] = true
		}
	}
	rank := func(r declared.Resource) int {
		if takesDeadLetters[r.Name] {
			return -1
		}
		return slices.Index(declared.Kinds, r.Kind)
	}
	slices.SortStableFunc(resources, func(a, b declared.Resource) int { return cmp.Compare(rank(a), rank(b)) })
}

// fetchers is how many resources are read at once.
const fetchers = 8

// fetch reads what the server has of these resources.
func (p *planner) fetch(ctx context.Context, resources []declared.Resource) error {
	var mu sync.Mutex
	parts, ctx := errgroup.WithContext(ctx)
	parts.SetLimit(fetchers)
	for _, r := range resources {
		parts.Go(func() error {
			a, err := p.at(r)
			if err != nil {
				return nil // whoever refers to it is told that it cannot be
			}
			current, there, err := a.read(ctx)
			mu.Lock()
			defer mu.Unlock()
			if there && err == nil {
				p.current[r.Name] = current
				p.secrets.know(current)
			}
			return err
		})
	}
	return parts.Wait()
}

// fetchReferences reads the topics that resources are about, before or after the change, but which are not declared.
func (p *planner) fetchReferences(ctx context.Context, resources []declared.Resource) error {
	known := map[string]bool{subscriptions.DeletedTopic: true}
	for _, r := range resources {
		known[r.Name] = true
	}
	var others []declared.Resource
	for _, r := range resources {
		for _, name := range append(r.References(), p.current[r.Name].References()...) {
			if !known[name] {
				known[name] = true
				others = append(others, declared.Resource{Kind: declared.Topic, Name: name})
			}
		}
	}
	if err := p.fetch(ctx, others); err != nil {
		return err
	}
	for _, o := range others {
		if topic, there := p.current[o.Name]; there {
			if _, err := p.put(ctx, p.there(o.Kind, o.Name), topic.Settable()); err != nil {
				return fmt.Errorf("copy %s: %w", o.Name, err)
			}
		}
	}
	return p.standIn(ctx, resources)
}

// rehearse creates and changes everything in the rehearsal. Subscriptions come when the topics are as they will be.
func (p *planner) rehearse(ctx context.Context, resources []declared.Resource) (steps []planned, err error) {
	for _, r := range resources {
		if r.Broken {
			continue
		}
		step, err := p.step(ctx, r)
		if errors.As(err, new(serverError)) {
			p.mistakes.add(r, err)
		} else if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// step finds out what is to be done about one resource.
func (p *planner) step(ctx context.Context, r declared.Resource) (planned, error) {
	before := len(p.mistakes)
	there := p.there(r.Kind, r.Name)
	wanted, judged, err := p.judge(ctx, there, &r)
	step := planned{Resource: r}
	if err != nil || !judged {
		return step, err
	}
	step.notes = withoutEffect(r, wanted)
	current, exists := p.current[r.Name]
	if !exists {
		step.action = actionCreate
		step.changes = slices.DeleteFunc(declared.Changes(declared.Resource{Kind: r.Kind}, wanted), func(c declared.Change) bool {
			field, _, _ := strings.Cut(c.Path, ".")
			return field == "name" || !r.Given(field) // what the server fills in goes without saying
		})
		return step, nil
	}
	if err := there.drop(ctx); err != nil {
		return step, err
	}
	if problem := beyondChange(current); problem != "" {
		p.mistakes.add(r, errors.New(problem))
		return step, nil
	}
	if step, err = p.compare(ctx, step, current, wanted); err != nil || len(p.mistakes) > before {
		return step, err
	}
	return p.update(ctx, step, current)
}

// withoutEffect says which fields of a file the server sets itself, or drops.
func withoutEffect(r, wanted declared.Resource) (notes []string) {
	answered := wanted.Settable()
	for field, value := range r.Fields {
		if inner, object := value.(map[string]any); object && len(inner) == 0 {
			continue
		}
		if _, kept := answered[field]; !kept {
			notes = append(notes, fmt.Sprintf("%s: %s: %s has no effect: the server sets it, or has no use for it", r.At(field), r.Name, field))
		}
	}
	slices.Sort(notes)
	return notes
}

// beyondChange says why a subscription cannot become what a file declares, whatever that is.
func beyondChange(current declared.Resource) string {
	switch {
	case current.Fields["detached"] == true:
		return "is detached from its topic, for good: delete it first, or leave it out"
	case current.Fields["topic"] == subscriptions.DeletedTopic:
		return "its topic was deleted: delete it first, or leave it out"
	}
	return ""
}

// compare puts a copy of what the server has into the rehearsal, and finds out what differs and cannot be changed.
func (p *planner) compare(ctx context.Context, step planned, current, wanted declared.Resource) (planned, error) {
	there := p.there(step.Kind, step.Name)
	if err := p.copy(ctx, there, current); err != nil {
		return step, err
	}
	step.action = actionUnchanged
	step.mask = slices.DeleteFunc(declared.Mask(current, wanted), step.Doubted)
	for _, path := range step.mask {
		// Its own value would do, if any could be set.
		if _, err := p.change(ctx, there, current.Settable(), path); err != nil {
			p.mistakes = append(p.mistakes, fmt.Errorf("%s: %s: %s (it is %s there, and %s here): declare it by another name (postrider subscriptions update --help tells how to lose no message)",
				step.At(path), step.Name, words(err), declared.Text(current.Value(path)), declared.Text(wanted.Value(path))))
		}
	}
	return step, nil
}

// update changes the copy, and finds out what that changes in the end.
func (p *planner) update(ctx context.Context, step planned, current declared.Resource) (planned, error) {
	if len(step.mask) == 0 {
		return step, nil
	}
	changed, err := p.change(ctx, p.there(step.Kind, step.Name), step.Settable(), strings.Join(step.mask, ","))
	if err != nil {
		return step, err
	}
	if step.changes, step.mask = declared.Changes(current, changed), declared.Mask(current, changed); len(step.changes) > 0 {
		step.action = actionUpdate
	}
	return step, nil
}

// copy puts what the server has into the rehearsal. A topic that is about may be gone there.
func (p *planner) copy(ctx context.Context, there at, current declared.Resource) error {
	for _, topic := range current.References() {
		if _, known := p.current[topic]; known {
			continue
		}
		_, err := p.put(ctx, p.there(declared.Topic, topic), declared.Fields{})
		if err != nil && !alreadyThere(err) {
			return err
		}
	}
	_, err := p.put(ctx, there, current.Settable())
	if err != nil {
		return fmt.Errorf("copy %s: %w", current.Name, err)
	}
	return nil
}
