package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postrider/server/api"
)

// What a shell offers when one types the name of a topic, subscription or snapshot: those of the server.

const (
	// completionPatience is how long one waits for it while typing.
	completionPatience = time.Second
	// completionLimit is how many names are offered at most; more are no help.
	completionLimit = 2000
)

// named is a resource as a list answers it. Topics and snapshots have no topic or do not show it.
type named struct{ Name, Topic string }

// namePage is a page of a list of any kind.
type namePage struct {
	Topics, Subscriptions, Snapshots []named
	NextPageToken                    string
}

// lister asks for a page of resources of a project.
type lister func(ctx context.Context, c *api.Client, project, token string) (*http.Response, error)

func listTopics(ctx context.Context, c *api.Client, project, token string) (*http.Response, error) {
	return c.ListTopics(ctx, project, &api.ListTopicsParams{PageSize: completionLimit / 2, PageToken: token})
}

func listSubscriptions(ctx context.Context, c *api.Client, project, token string) (*http.Response, error) {
	return c.ListSubscriptions(ctx, project, &api.ListSubscriptionsParams{PageSize: completionLimit / 2, PageToken: token})
}

func listSnapshots(ctx context.Context, c *api.Client, project, token string) (*http.Response, error) {
	return c.ListSnapshots(ctx, project, &api.ListSnapshotsParams{PageSize: completionLimit / 2, PageToken: token})
}

// completeNames offers the ids of a client command's project, or full names to who began with one. Whatever goes wrong, it
// offers nothing and is quiet: somebody is typing.
func completeNames(p process, lists ...lister) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, typed string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		s, err := newSession(p, flagsOf(c))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionPatience)
		defer cancel()
		full := strings.Contains(typed, "/")
		if project, ok := projectOf(typed); ok {
			s.project = project
		}
		for _, list := range lists {
			for _, r := range s.namesOf(ctx, list) {
				name := r.Name
				if !full {
					name = shortName(name)
				}
				if !strings.HasPrefix(name, typed) {
					continue
				}
				if r.Topic != "" {
					name = cobra.CompletionWithDesc(name, "of "+printable(shortName(r.Topic)))
				}
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFirst offers names for the first argument alone.
func completeFirst(p process, lists ...lister) cobra.CompletionFunc {
	complete := completeNames(p, lists...)
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(c, args, typed)
	}
}

// completeFlag offers names for the value of a flag.
func completeFlag(p process, c *cobra.Command, flag string, lists ...lister) {
	_ = c.RegisterFlagCompletionFunc(flag, completeNames(p, lists...)) // fails only for a flag that does not exist
}

// namesOf reads a list as far as there is time.
func (s *session) namesOf(ctx context.Context, list lister) (names []named) {
	for token := ""; len(names) < completionLimit; {
		page, err := call[namePage](list(ctx, s.Client, s.project, token))
		if err != nil {
			return names
		}
		names = append(append(append(names, page.Topics...), page.Subscriptions...), page.Snapshots...)
		if token = page.NextPageToken; token == "" {
			return names
		}
	}
	return names
}

// flagsOf are the flags of a client command.
func flagsOf(c *cobra.Command) (f clientFlags) {
	for name, value := range map[string]*string{"server": &f.server, "project": &f.project, "ca-file": &f.caFile} {
		*value, _ = c.Flags().GetString(name) // every client command has them
	}
	return f
}

// projectOf is the project of a full name that was begun.
func projectOf(typed string) (string, bool) {
	parts := strings.Split(typed, "/")
	return parts[min(1, len(parts)-1)], len(parts) > 2 && parts[0] == "projects"
}

// shortName is the last part of a name.
func shortName(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// completeNoFiles keeps shells from offering files for arguments, where nothing else was said of a command.
func completeNoFiles(c *cobra.Command) {
	if c.Runnable() && c.ValidArgsFunction == nil {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range c.Commands() {
		completeNoFiles(sub)
	}
}
