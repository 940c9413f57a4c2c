package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"postrider/cmd/postrider/declared"
)

// What is wrong with what files declare: all that can be known is told in one run, and nothing that is wrong only because something
// else is.

// mistakes are errors of files, each with its line.
type mistakes []error

func (m *mistakes) add(r declared.Resource, err error) {
	if err != nil {
		*m = append(*m, atLine(r, err))
	}
}

// err is nil when there are none.
func (m mistakes) err() error {
	if len(m) == 0 {
		return nil
	}
	return usageError{errors.Join(m...)}
}

// atLine says where in its file the field stands that an error of the server begins with; a text that begins otherwise leads
// to the resource.
func atLine(r declared.Resource, err error) error {
	text := words(err)
	field, _, _ := strings.Cut(text, ":")
	return fmt.Errorf("%s: %s: %s", r.At(field), r.Name, text)
}

// words are what a server says, without the code, and without naming the mask, of which files know nothing.
func words(err error) string {
	var e serverError
	if errors.As(err, &e) {
		return strings.TrimPrefix(e.Message, "updateMask: ")
	}
	return err.Error()
}

// judge creates a resource in the rehearsal. What the server says of a property is a mistake, and then it is asked about the rest.
// It tells whether the resource could be created in the end.
func (p *planner) judge(ctx context.Context, there at, r *declared.Resource) (wanted declared.Resource, judged bool, err error) {
	for {
		if err := p.lend(ctx, r); err != nil {
			return wanted, false, err
		}
		wanted, err := p.put(ctx, there, r.Settable())
		if !errors.As(err, new(serverError)) {
			return wanted, err == nil, err
		}
		field, _, _ := strings.Cut(words(err), ":")
		if r.Doubted(field) {
			return wanted, false, nil // of what is lent the server should say nothing
		}
		p.mistakes.add(*r, err)
		if given := r.Doubt(field); !given && field != "topic" {
			return wanted, false, nil
		}
	}
}

// lentTopic is in the rehearsal alone.
const lentTopic = "projects/rehearsal/topics/lent"

// lend puts what other properties need in the place of what is wrong: a topic, which must be, and a dead-letter policy, without
// which there are neither terminal answers nor dead letters of expired messages.
func (p *planner) lend(ctx context.Context, r *declared.Resource) error {
	if r.Kind != declared.Subscription {
		return nil
	}
	for property, value := range map[string]any{"topic": lentTopic, "deadLetterPolicy": map[string]any{"deadLetterTopic": lentTopic}} {
		if !r.Doubted(property) || r.Value(property) != nil {
			continue
		}
		r.Fields = r.Clone()
		r.Fields[property] = value
		if _, err := p.put(ctx, p.there(declared.Topic, lentTopic), declared.Fields{}); err != nil && !alreadyThere(err) {
			return err
		}
	}
	return nil
}

// standIn puts topics into the rehearsal that are not there but that resources need, so that all else of these can be judged. It
// is a mistake, told once of each that needs it, unless the topic may be declared where the files cannot be read.
func (p *planner) standIn(ctx context.Context, resources []declared.Resource) error {
	declaredToo := map[string]bool{}
	for _, r := range resources {
		declaredToo[r.Name] = true
		if r.Broken && r.Kind == declared.Topic {
			if _, err := p.put(ctx, p.there(r.Kind, r.Name), declared.Fields{}); err != nil {
				return fmt.Errorf("stand in for %s: %w", r.Name, err)
			}
		}
	}
	for i, r := range resources {
		for path, topic := range r.Uses() {
			_, there := p.current[topic]
			a, err := locate(p.rehearsal.Client, declared.Topic, topic)
			if there || declaredToo[topic] || err != nil { // the server has its say on what cannot be a name
				continue
			}
			if !p.partial {
				p.mistakes.add(r, fmt.Errorf("%s: %s does not exist, and is not declared", path, topic))
				if path == "topic" {
					resources[i].Doubt(path) // that it cannot be changed is no news then
				}
			}
			if _, err := p.put(ctx, a, declared.Fields{}); err != nil && !alreadyThere(err) {
				return fmt.Errorf("stand in for %s: %w", topic, err)
			}
		}
	}
	return nil
}
