package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"postrider/cmd/postrider/declared"
)

func newApply(p process) *cobra.Command {
	var files []string
	var prune pairs
	var validateOnly, exitCode, yes bool
	c := &cobra.Command{
		Use: "apply -f FILE", Short: "Make topics and subscriptions as files declare them", GroupID: groupResources, Args: noArgs,
		Long: `Make topics and subscriptions as files declare them: create what is not there, change what differs, and leave alone what is
not in the files (but see --prune). What a file does not say of a resource is as if it were created anew: a field that is left out gets its
default. What was changed, or would be with --validate-only, is printed field by field.

A file is YAML or JSON, with any number of documents, each with "topics:" and "subscriptions:", lists of what the API calls
Topic and Subscription; "postrider export" writes one. A name is an id in --project, or a full name.

Everything is checked, on a copy, before anything is done: all mistakes are told at once, with their lines, among them fields that
cannot be changed. Only the server itself knows where pushes may go and which client certificates it has. Topics come first. What
fails half way can be mended and applied again.

--prune KEY=VALUE deletes, after all else, the topics and subscriptions that have this label and that the files do not declare,
in the projects that the files declare something in. Everything in the files must have the label: so it marks what these files,
and no others, look after. A topic is not deleted while a subscription that stays uses it. The plan is printed first, and it needs
--yes: messages that a subscription has not acknowledged are lost with it.`,
		Example: `  postrider apply -f messaging.yaml --validate-only
  postrider apply -f messaging.yaml
  postrider export --project staging --short-names | postrider apply --project production -f -
  postrider apply -f messaging.yaml --prune managed-by=checkout --validate-only
  postrider apply -f messaging.yaml --prune managed-by=checkout --yes
  postrider apply -f messaging.yaml --validate-only --exit-code || echo "the server is not what the file says"`,
	}
	c.Flags().StringArrayVarP(&files, "file", "f", nil, "`FILE` to read, - for standard input; may be repeated (required)")
	_ = c.MarkFlagRequired("file") // fails only for a flag that does not exist
	c.Flags().BoolVar(&validateOnly, "validate-only", false, "change nothing, and print what would be done")
	c.Flags().BoolVar(&exitCode, "exit-code", false, "with --validate-only: exit with 3 if something would be done")
	c.Flags().Var(&prune, "prune", "`KEY=VALUE` of a label: delete what has it and is not in the files; repeated, of all these labels")
	c.Flags().BoolVar(&yes, "yes", false, "with --prune: delete it; without this nothing is done if there is something to delete")
	return clientCommand(p, c, func(ctx context.Context, s *session, _ []string) error {
		switch {
		case exitCode && !validateOnly:
			return usagef("--exit-code is for --validate-only")
		case yes && prune == nil:
			return usagef("--yes is for --prune")
		}
		d := readDeclared(p, files, s.project)
		if prune != nil && len(d.Resources) == 0 && len(d.Wrong) == 0 {
			return usageError{errNothingDeclared}
		}
		steps, err := s.plan(ctx, d, prune)
		if err != nil {
			return err
		}
		for _, step := range steps {
			for _, note := range step.notes {
				fmt.Fprintf(p.err, "postrider: %s\n", printable(note))
			}
		}
		a := &application{session: s, validateOnly: validateOnly, exitCode: exitCode, prunes: prune != nil}
		if what := doomed(steps); what != "" && !validateOnly && !yes {
			a.validateOnly = true
			return errors.Join(a.run(ctx, steps), unconfirmed(what))
		}
		return a.run(ctx, steps)
	})
}

// readDeclared reads what files declare.
func readDeclared(p process, files []string, project string) (d declared.Declarations) {
	for _, name := range files {
		if name == "-" {
			d.Read("standard input", p.in, project)
			continue
		}
		file, err := os.Open(name)
		if err != nil {
			d.Wrong, d.Partial = append(d.Wrong, err), true
			continue
		}
		d.Read(name, file, project)
		_ = file.Close() // it was only read
	}
	d.Unique()
	return d
}

// application is one run of apply.
type application struct {
	*session
	validateOnly, exitCode, prunes bool

	told  []appliedStep
	count map[string]int
}

// appliedStep is what was done, or would be, for programs.
type appliedStep struct {
	Name    string          `json:"name"`
	Action  string          `json:"action"`
	Changes []appliedChange `json:"changes,omitempty"`
	Loses   string          `json:"loses,omitempty"`
}

type appliedChange struct {
	Field string `json:"field"`
	From  any    `json:"from,omitempty"`
	To    any    `json:"to,omitempty"`
}

// run does the steps, and tells of each when it is done.
func (a *application) run(ctx context.Context, steps []planned) error {
	a.told, a.count = []appliedStep{}, map[string]int{}
	err := a.steps(ctx, steps)
	return errors.Join(a.summary(), err)
}

func (a *application) steps(ctx context.Context, steps []planned) error {
	for _, step := range steps {
		if !a.validateOnly {
			if err := a.do(ctx, step); ctx.Err() != nil {
				return ctx.Err() // the summary says how far it came
			} else if err != nil {
				return fmt.Errorf("%w\n(%s of %d were done; mend it, and apply again)", atLine(step.Resource, err), count(len(a.told), "step"), len(steps))
			}
		}
		if err := a.tell(step); err != nil {
			return err
		}
	}
	if a.exitCode && a.count[actionUnchanged] < len(steps) {
		return silentStatus(exitChanges)
	}
	return nil
}

func (a *application) do(ctx context.Context, step planned) error {
	place, err := locate(a.Client, step.Kind, step.Name)
	if err != nil {
		return err
	}
	switch step.action {
	case actionCreate:
		_, err = place.put(ctx, step.Settable())
	case actionUpdate:
		_, err = place.change(ctx, step.Settable(), strings.Join(step.mask, ","))
	case actionDelete:
		if err = place.drop(ctx); notThere(err) {
			err = nil // somebody else was quicker
		}
	}
	return err
}

// tell says what was done, or would be.
func (a *application) tell(step planned) error {
	told := appliedStep{Name: step.Name, Action: step.action, Loses: step.loses}
	for _, c := range step.changes {
		told.Changes = append(told.Changes, appliedChange{c.Path, c.From, c.To})
	}
	a.told = append(a.told, told)
	a.count[step.action]++
	if !a.print.forPeople() {
		return nil
	}
	if err := a.print.line("%-9s  %s", a.word(step.action), step.Name); err != nil {
		return err
	}
	if step.loses != "" {
		if err := a.print.line("             %s", step.loses); err != nil {
			return err
		}
	}
	for _, c := range step.changes {
		text := declared.Text(c.To)
		if step.action == actionUpdate {
			text = declared.Text(c.From) + " -> " + text
		}
		if err := a.print.line("             %s: %s", printable(c.Path), printable(text)); err != nil {
			return err
		}
	}
	return nil
}

// word is what was done, or would be.
func (a *application) word(action string) string {
	if a.validateOnly || action == actionUnchanged {
		return action
	}
	return action + "d"
}

func (a *application) summary() error {
	if a.print.forPeople() {
		how, pruned := "%d created, %d updated, %d unchanged", ", %d deleted"
		if a.validateOnly {
			how, pruned = "%d to create, %d to update, %d unchanged", ", %d to delete"
		}
		text := fmt.Sprintf(how, a.count[actionCreate], a.count[actionUpdate], a.count[actionUnchanged])
		if a.prunes {
			text += fmt.Sprintf(pruned, a.count[actionDelete])
		}
		return a.print.line("%s", text)
	}
	b, err := json.Marshal(a.told)
	if err != nil {
		return err
	}
	return a.print.encoded(b)
}
