package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"postrider/cmd/postrider/declared"
	"postrider/server/api"
)

// pruning is what --prune is about: in these projects, what has the labels and is not declared is deleted, and all else stays.
type pruning struct {
	labels        pairs
	projects      map[string]bool
	doomed, stays map[string]declared.Resource // that are not declared, by name
}

// prune adds to the steps the deletion of what has the labels and is not declared, in the projects in which something is. Only
// what the labels mark as these files' own can be meant, so everything declared must have them; and a topic that something
// needs which stays is a mistake.
func (p *planner) prune(ctx context.Context, resources []declared.Resource, steps []planned, labels pairs) ([]planned, error) {
	all := pruning{labels, map[string]bool{}, map[string]declared.Resource{}, map[string]declared.Resource{}}
	known := map[string]bool{}
	for _, r := range resources {
		a, err := p.at(r)
		if err != nil {
			return nil, err
		}
		all.projects[a.project], known[r.Name] = true, true
		if !all.marks(r) && !r.Broken && !r.Doubted("labels") {
			p.mistakes.add(r, fmt.Errorf("labels: %s is missing: --prune goes by it, so all that the files declare must have it", &labels))
		}
	}
	if p.partial { // what is not declared is not known
		return steps, nil
	}
	for _, project := range slices.Sorted(maps.Keys(all.projects)) {
		there, err := p.resources(ctx, project)
		if err != nil {
			return nil, err
		}
		for _, r := range there {
			if all.marks(r) && !known[r.Name] {
				all.doomed[r.Name] = r
			} else if !known[r.Name] && !isTail(r) { // a tail ends when its topic does
				all.stays[r.Name] = r
			}
		}
	}
	if err := p.neededTopics(ctx, steps, all); err != nil || len(p.mistakes) > 0 {
		return nil, err
	}
	return p.deletions(ctx, steps, all)
}

// marks tells whether a resource has all of the labels.
func (p pruning) marks(r declared.Resource) bool {
	own, _ := r.Fields["labels"].(map[string]any)
	for key, value := range p.labels {
		if text, ok := own[key].(string); !ok || text != value {
			return false
		}
	}
	return true
}

// neededTopics adds a mistake for each topic that would be deleted and that something needs which stays.
func (p *planner) neededTopics(ctx context.Context, steps []planned, all pruning) error {
	for _, step := range steps {
		for _, topic := range step.References() {
			if _, doomed := all.doomed[topic]; doomed {
				p.mistakes.add(step.Resource, fmt.Errorf("it needs %s, which --prune would delete: declare that too", topic))
			}
		}
	}
	users := map[string][]string{} // of each topic
	for _, name := range slices.Sorted(maps.Keys(all.stays)) {
		for _, topic := range all.stays[name].References() {
			users[topic] = append(users[topic], name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all.doomed)) {
		topic := all.doomed[name]
		if topic.Kind != declared.Topic {
			continue
		}
		others, err := p.subscribersElsewhere(ctx, topic, all.projects)
		if err != nil {
			return err
		}
		if stay := append(users[name], others...); len(stay) > 0 {
			p.mistakes = append(p.mistakes, fmt.Errorf("%s has the label %s and is not declared, but is needed by what stays, %s: declare it, or take the label off",
				name, &all.labels, strings.Join(stay, ", ")))
		}
	}
	return nil
}

// subscribersElsewhere are the subscriptions of a topic that belong to projects of which no file tells.
func (p *planner) subscribersElsewhere(ctx context.Context, topic declared.Resource, projects map[string]bool) ([]string, error) {
	a, err := p.at(topic)
	if err != nil {
		return nil, err
	}
	names, err := everyPage(func(token string) ([]string, string, error) {
		params := &api.ListTopicSubscriptionsParams{PageToken: token}
		page, err := call[api.ListTopicSubscriptionsResponse](p.session.ListTopicSubscriptions(ctx, a.project, a.id, params))
		return page.Subscriptions, page.NextPageToken, err
	})
	return slices.DeleteFunc(names, func(name string) bool {
		project, _ := projectOf(name)
		return projects[project]
	}), err
}

// deletions adds a step for all that is doomed, subscriptions before topics: what fails half way leaves no subscription without
// its topic.
func (p *planner) deletions(ctx context.Context, steps []planned, all pruning) ([]planned, error) {
	for _, kind := range []declared.Kind{declared.Subscription, declared.Topic} {
		for _, name := range slices.Sorted(maps.Keys(all.doomed)) {
			r := all.doomed[name]
			if r.Kind != kind {
				continue
			}
			loses, err := p.loses(ctx, r)
			if err != nil {
				return nil, err
			}
			steps = append(steps, planned{Resource: r, action: actionDelete, loses: loses})
		}
	}
	return steps, nil
}

// loses says which messages are lost with a resource, if some are.
func (p *planner) loses(ctx context.Context, r declared.Resource) (string, error) {
	a, err := p.at(r)
	if err != nil {
		return "", err
	}
	if r.Kind == declared.Topic {
		delayed, err := call[api.ListDelayedResponse](p.session.ListDelayed(ctx, a.project, a.id, api.ListDelayedRequest{PageSize: 1}))
		if err != nil || delayed.TotalMessages == 0 {
			return "", err
		}
		return fmt.Sprintf("with %s that will be due later", count(int(delayed.TotalMessages), "message")), nil
	}
	e, err := call[api.ExplainResponse](p.session.Explain(ctx, a.project, a.id, api.Empty{}))
	n := int(e.Undelivered) + int(e.Outstanding)
	if err != nil || n == 0 {
		return "", err
	}
	most := ""
	if e.UpperBound {
		most = "at most "
	}
	return fmt.Sprintf("with %s%s that it has not acknowledged", most, count(n, "message")), nil
}

// doomed counts what the steps delete, in words; "" is nothing.
func doomed(steps []planned) string {
	var subs, topics int
	for _, step := range steps {
		switch {
		case step.action != actionDelete:
		case step.Kind == declared.Topic:
			topics++
		default:
			subs++
		}
	}
	var parts []string
	if subs > 0 {
		parts = append(parts, count(subs, "subscription"))
	}
	if topics > 0 {
		parts = append(parts, count(topics, "topic"))
	}
	return strings.Join(parts, " and ")
}

// unconfirmed is the mistake of pruning without --yes.
func unconfirmed(what string) error {
	return usagef("nothing was done: this would delete %s for good: say --yes to do it", what)
}

var errNothingDeclared = errors.New("the files declare nothing, so that --prune would delete all that has its label: that is not done")
