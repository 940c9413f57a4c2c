package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"postrider/cmd/postrider/declared"
	"postrider/server/api"
)

func newExport(p process) *cobra.Command {
	var shortNames bool
	c := &cobra.Command{
		Use: "export", Short: "Write the project's topics and subscriptions as a file for apply", GroupID: groupResources, Args: noArgs,
		Long: `Write the project's topics and subscriptions as a file that "postrider apply" takes, in order of their names. What only the
server sets is left out, as are subscriptions that are detached or whose topic was deleted, which cannot be created again, and
those of "postrider tail". Secrets of webhooks are never shown: of them the file has fingerprints, by which an existing
subscription keeps them.`,
		Example: `  postrider export >messaging.yaml
  postrider export --project staging --short-names | postrider apply --project production -f -`,
	}
	c.Flags().BoolVar(&shortNames, "short-names", false, "write ids for names of the project, so that the file can be applied to another")
	return clientCommandIn(p, c, []string{outputYAML, outputJSON}, func(ctx context.Context, s *session, _ []string) error {
		resources, err := s.everything(ctx, p.err)
		if err != nil {
			return err
		}
		if shortNames {
			for _, r := range resources {
				r.Shorten(s.project)
			}
		}
		var b bytes.Buffer
		if err := declared.Write(&b, resources); err != nil {
			return err
		}
		return s.print.encoded(b.Bytes())
	})
}

// everything is all of the session's project that can be declared. What is left out is told to notes.
func (s *session) everything(ctx context.Context, notes io.Writer) (all []declared.Resource, err error) {
	there, err := s.resources(ctx, s.project)
	for _, r := range there {
		if isTail(r) {
			continue
		}
		if problem := beyondChange(r); problem != "" {
			fmt.Fprintf(notes, "postrider: %s is left out: it cannot be created again\n", r.Name)
			continue
		}
		all = append(all, r)
	}
	return all, err
}

// isTail tells of a subscription that "postrider tail" made for itself.
func isTail(r declared.Resource) bool {
	labels, _ := r.Fields["labels"].(map[string]any)
	_, temporary := labels[tailLabel]
	return temporary
}

// resources are all topics and subscriptions of a project, in this order.
func (s *session) resources(ctx context.Context, project string) (all []declared.Resource, err error) {
	topics, err := everyPage(func(token string) ([]json.RawMessage, string, error) {
		page, err := call[struct {
			Topics        []json.RawMessage
			NextPageToken string
		}](s.ListTopics(ctx, project, &api.ListTopicsParams{PageSize: exportPage, PageToken: token}))
		return page.Topics, page.NextPageToken, err
	})
	if err != nil {
		return nil, err
	}
	subs, err := everyPage(func(token string) ([]json.RawMessage, string, error) {
		page, err := call[struct {
			Subscriptions []json.RawMessage
			NextPageToken string
		}](s.ListSubscriptions(ctx, project, &api.ListSubscriptionsParams{PageSize: exportPage, PageToken: token}))
		return page.Subscriptions, page.NextPageToken, err
	})
	if err != nil {
		return nil, err
	}
	for i, answer := range slices.Concat(topics, subs) {
		kind := declared.Topic
		if i >= len(topics) {
			kind = declared.Subscription
		}
		r, err := declared.FromServer(kind, answer)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// exportPage is how many resources are asked for at a time.
const exportPage = 1000
