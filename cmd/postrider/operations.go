package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"postrider/server/api"
	"postrider/storage/redisstream"
	"postrider/subscriptions"
)

func newOperations(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "operations", Short: "List, watch and cancel long work", GroupID: groupClient, Args: noArgs,
		Long: "List, watch and cancel long work, such as what dead-letters redrive begins.",
	}
	c.AddCommand(newOperationsList(p), newOperationsWait(p), newOperationsCancel(p))
	return c
}

func newOperationsList(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List operations, also those that ended in the last 7 days, the newest first", Args: noArgs,
		Example: "  postrider operations list",
	}
	return clientCommand(p, c, func(ctx context.Context, s *session, _ []string) error {
		ops, err := everyPage(func(token string) ([]api.Operation, string, error) {
			page, err := call[api.ListOperationsResponse](s.ListOperations(ctx, s.project, &api.ListOperationsParams{PageToken: token}))
			return page.Operations, page.NextPageToken, err
		})
		if err != nil {
			return err
		}
		header := []string{"OPERATION", "KIND", "DEAD-LETTER TOPIC", "BEGAN", "MOVED", "OF", "STATE"}
		return list(s.print, ops, header, func(op api.Operation) []string {
			m := op.Metadata
			return []string{
				s.short(op.Name), strings.ToLower(string(m.Kind)), s.short(m.DeadLetterTopic), agoText(m.CreateTime),
				fmt.Sprint(m.MovedMessages), totalText(op), stateText(op),
			}
		})
	})
}

func newOperationsWait(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "wait OPERATION", Short: "Show how far an operation is until it ends", Args: nArgs(1, 1),
		Example: "  postrider operations wait redrive-0f6c2d1a90b44e07",
	}
	return onOperation(p, c, func(ctx context.Context, s *session, name subscriptions.OperationName) error {
		op, err := call[api.Operation](s.GetOperation(ctx, name.Project, name.ID))
		if err != nil {
			return err
		}
		return s.follow(ctx, p, op, false)
	})
}

func newOperationsCancel(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "cancel OPERATION", Short: "Ask an operation to end", Args: nArgs(1, 1),
		Long:    "Ask an operation to end. What it did until then stays done.",
		Example: "  postrider operations cancel redrive-0f6c2d1a90b44e07",
	}
	return onOperation(p, c, func(ctx context.Context, s *session, name subscriptions.OperationName) error {
		op, err := call[api.Operation](s.CancelOperation(ctx, name.Project, name.ID, api.Empty{}))
		if err != nil {
			return err
		}
		state := "is to end"
		if op.Done {
			state = "had ended already"
		}
		return s.print.result(op, func() error { return s.print.line("%s %s", s.short(op.Name), state) })
	})
}

// onOperation makes a command on one operation.
func onOperation(p process, c *cobra.Command, do func(context.Context, *session, subscriptions.OperationName) error) *cobra.Command {
	return clientCommand(p, c, func(ctx context.Context, s *session, args []string) error {
		name := subscriptions.OperationName{Project: s.project, ID: args[0]}
		if parts := strings.Split(args[0], "/"); len(parts) == 4 && parts[0] == "projects" && parts[2] == "operations" {
			name = subscriptions.OperationName{Project: parts[1], ID: parts[3]}
		}
		if err := name.Validate(); err != nil {
			return refusal(err)
		}
		return do(ctx, s, name)
	})
}

func totalText(op api.Operation) string {
	text := count(int(op.Metadata.TotalMessages), "dead letter")
	if op.Metadata.TotalIsLowerBound {
		text = "more than " + text
	}
	return text
}

func stateText(op api.Operation) string {
	m := op.Metadata
	switch {
	case op.Error != nil:
		return "ended: " + op.Error.Message
	case op.Done && m.FailedMessages > 0:
		return fmt.Sprintf("ended, %d could not be moved: %s", m.FailedMessages, m.FailureReason)
	case op.Done:
		return "ended"
	case m.CancelRequested:
		return "is to end"
	case m.WaitingReason != "":
		return "waits: " + m.WaitingReason
	}
	return "goes on"
}

// followEvery is how often an operation is looked at that is waited for.
const followEvery = 500 * time.Millisecond

// follow shows how far an operation is until it ends, and what came of it. The answer to a dry run is only shown.
func (s *session) follow(ctx context.Context, p process, op api.Operation, async bool) error {
	if op.Name == "" || async {
		return s.print.result(op, func() error {
			if op.Name == "" {
				return s.print.line("%s", totalText(op))
			}
			return s.print.line("%s goes on in the background, with %s", s.short(op.Name), totalText(op))
		})
	}
	op, err := s.untilDone(ctx, p.err, op)
	if err != nil {
		return err
	}
	if op.Error != nil {
		return fmt.Errorf("%s ended after %s: %s", s.short(op.Name), count(int(op.Metadata.MovedMessages), "message"), op.Error.Message)
	}
	return s.print.result(op, func() error {
		m, done := op.Metadata, "redrove"
		if m.Kind == api.OperationKindPurge {
			done = "dropped"
		}
		text := done + " " + count(int(m.MovedMessages), "dead letter")
		if m.GoneMessages > 0 {
			text += fmt.Sprintf("; %d had been taken by somebody else", m.GoneMessages)
		}
		if m.FailedMessages > 0 {
			text += fmt.Sprintf("; %d could not be moved: %s", m.FailedMessages, m.FailureReason)
		}
		return s.print.line("%s", text)
	})
}

// untilDone waits for the end of an operation with a bar on w. When it is interrupted it says how to go on.
func (s *session) untilDone(ctx context.Context, w io.Writer, op api.Operation) (api.Operation, error) {
	var now atomic.Pointer[redisstream.ProgressNow]
	show := func() {
		m := op.Metadata
		stage := strings.ToLower(string(m.Kind)) + " " + s.short(op.Name)
		if m.WaitingReason != "" {
			stage += " waits: " + m.WaitingReason
		}
		now.Store(&redisstream.ProgressNow{Stage: stage, Messages: int64(m.TotalMessages), MessagesDone: int64(m.MovedMessages + m.GoneMessages + m.FailedMessages)})
	}
	show()
	bar := newProgressBar(w, func() redisstream.ProgressNow { return *now.Load() })
	stop := bar.start(ctx)
	defer stop()
	name, err := parseOperation(op.Name)
	for err == nil && !op.Done {
		select {
		case <-time.After(followEvery):
			op, err = call[api.Operation](s.GetOperation(ctx, name.Project, name.ID))
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err == nil {
			show()
		}
	}
	if ctx.Err() != nil {
		stop()
		fmt.Fprintf(w, "%s goes on in the background. Watch it with: postrider operations wait %s\nEnd it with: postrider operations cancel %s\n",
			s.short(op.Name), s.short(name.String()), s.short(name.String()))
		return op, context.Cause(ctx)
	}
	return op, err
}

func parseOperation(text string) (subscriptions.OperationName, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 4 {
		return subscriptions.OperationName{}, fmt.Errorf("the server names an operation %q", text)
	}
	return subscriptions.OperationName{Project: parts[1], ID: parts[3]}, nil
}
