package server

import (
	"context"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// Operations are long work in the background. Each method may also return UNAVAILABLE.
type Operations interface {
	// Redrive and Purge: NOT_FOUND, INVALID_ARGUMENT, FAILED_PRECONDITION.
	Redrive(context.Context, subscriptions.DeadLetterWork) (subscriptions.Operation, error)
	Purge(context.Context, subscriptions.DeadLetterWork) (subscriptions.Operation, error)
	// GetOperation and CancelOperation: NOT_FOUND, INVALID_ARGUMENT.
	GetOperation(context.Context, subscriptions.OperationName) (subscriptions.Operation, error)
	CancelOperation(context.Context, subscriptions.OperationName) (subscriptions.Operation, error)
	// ListOperations lists the newest first. INVALID_ARGUMENT.
	ListOperations(ctx context.Context, project string, p subscriptions.Page) (page []subscriptions.Operation, next string, err error)
}

// RedriveSubscriptionDeadLetters begins to move dead letters of a subscription back.
func (h *handler) RedriveSubscriptionDeadLetters(
	ctx context.Context, r api.RedriveSubscriptionDeadLettersRequestObject,
) (api.RedriveSubscriptionDeadLettersResponseObject, error) {
	name := subscriptionName(r.Project, r.Subscription)
	q, err := queryOf(r.Body.Filter, r.Body.DeadLetterSubscription)
	if err != nil {
		return nil, h.unlessSubscriptionMissing(ctx, name, err)
	}
	q.Subscription = name
	op, err := h.backend.Redrive(ctx, subscriptions.DeadLetterWork{
		DeadLetterQuery: q, PerSecond: r.Body.MessagesPerSecond, ToFirst: r.Body.ToFirstOrigin, ValidateOnly: r.Body.ValidateOnly,
	})
	return api.RedriveSubscriptionDeadLetters200JSONResponse(apiOperation(op)), err
}

// RedriveTopicDeadLetters begins to move dead letters of a topic back.
func (h *handler) RedriveTopicDeadLetters(
	ctx context.Context, r api.RedriveTopicDeadLettersRequestObject,
) (api.RedriveTopicDeadLettersResponseObject, error) {
	name := topicName(r.Project, r.Topic)
	q, err := queryOf(r.Body.Filter, r.Body.DeadLetterSubscription)
	if err != nil {
		return nil, h.unlessTopicMissing(ctx, name, err)
	}
	q.Topic = name
	op, err := h.backend.Redrive(ctx, subscriptions.DeadLetterWork{
		DeadLetterQuery: q, PerSecond: r.Body.MessagesPerSecond, ToFirst: r.Body.ToFirstOrigin, ValidateOnly: r.Body.ValidateOnly,
	})
	return api.RedriveTopicDeadLetters200JSONResponse(apiOperation(op)), err
}

// PurgeSubscriptionDeadLetters begins to drop dead letters of a subscription.
func (h *handler) PurgeSubscriptionDeadLetters(
	ctx context.Context, r api.PurgeSubscriptionDeadLettersRequestObject,
) (api.PurgeSubscriptionDeadLettersResponseObject, error) {
	name := subscriptionName(r.Project, r.Subscription)
	q, err := queryOf(r.Body.Filter, r.Body.DeadLetterSubscription)
	if err != nil {
		return nil, h.unlessSubscriptionMissing(ctx, name, err)
	}
	q.Subscription = name
	op, err := h.backend.Purge(ctx, subscriptions.DeadLetterWork{DeadLetterQuery: q, ValidateOnly: r.Body.ValidateOnly})
	return api.PurgeSubscriptionDeadLetters200JSONResponse(apiOperation(op)), err
}

// PurgeTopicDeadLetters begins to drop dead letters of a topic.
func (h *handler) PurgeTopicDeadLetters(ctx context.Context, r api.PurgeTopicDeadLettersRequestObject) (api.PurgeTopicDeadLettersResponseObject, error) {
	name := topicName(r.Project, r.Topic)
	q, err := queryOf(r.Body.Filter, r.Body.DeadLetterSubscription)
	if err != nil {
		return nil, h.unlessTopicMissing(ctx, name, err)
	}
	q.Topic = name
	op, err := h.backend.Purge(ctx, subscriptions.DeadLetterWork{DeadLetterQuery: q, ValidateOnly: r.Body.ValidateOnly})
	return api.PurgeTopicDeadLetters200JSONResponse(apiOperation(op)), err
}

func operationName(project api.ProjectID, id api.OperationID) subscriptions.OperationName {
	return subscriptions.OperationName{Project: project, ID: id}
}

// GetOperation reads an operation.
func (h *handler) GetOperation(ctx context.Context, r api.GetOperationRequestObject) (api.GetOperationResponseObject, error) {
	op, err := h.backend.GetOperation(ctx, operationName(r.Project, r.Operation))
	return api.GetOperation200JSONResponse(apiOperation(op)), err
}

// CancelOperation asks an operation to end.
func (h *handler) CancelOperation(ctx context.Context, r api.CancelOperationRequestObject) (api.CancelOperationResponseObject, error) {
	op, err := h.backend.CancelOperation(ctx, operationName(r.Project, r.Operation))
	return api.CancelOperation200JSONResponse(apiOperation(op)), err
}

// ListOperations reads a page of a project's operations.
func (h *handler) ListOperations(ctx context.Context, r api.ListOperationsRequestObject) (api.ListOperationsResponseObject, error) {
	page, next, err := h.backend.ListOperations(ctx, r.Project, pageOf(r.Params.PageSize, r.Params.PageToken))
	out := api.ListOperations200JSONResponse{NextPageToken: next}
	for _, op := range page {
		out.Operations = append(out.Operations, apiOperation(op))
	}
	return out, err
}

func apiOperation(op subscriptions.Operation) api.Operation {
	p, q := op.Progress, op.Query
	m := api.OperationMetadata{
		Kind: api.OperationMetadataKind(op.Kind), DeadLetterTopic: op.Topic.String(), MessagesPerSecond: op.PerSecond, ToFirstOrigin: op.ToFirst, Filter: apiFilter(q.DeadLetterFilter),
		TotalMessages: wire.Int64(p.Total), TotalIsLowerBound: p.AtLeast, MovedMessages: wire.Int64(p.Moved), GoneMessages: wire.Int64(p.Gone), FailedMessages: wire.Int64(p.Failed),
		FailureReason: p.Reason, WaitingReason: p.Waiting, CancelRequested: op.CancelRequested,
	}
	for _, id := range op.NotFound {
		m.NotFoundMessageIDs = append(m.NotFoundMessageIDs, id.String())
	}
	if q.Subscription.ID != "" {
		m.Subscription = q.Subscription.String()
	}
	if q.Holder.ID != "" {
		m.DeadLetterSubscription = q.Holder.String()
	}
	if !op.Created.IsZero() {
		m.CreateTime = wire.NewTimestamp(op.Created)
	}
	if !op.Ended.IsZero() {
		m.EndTime = wire.NewTimestamp(op.Ended)
	}
	out := api.Operation{Done: op.Done, Metadata: &m}
	if op.Name.ID != "" {
		out.Name = op.Name.String()
	}
	if f := op.Failure; f != nil {
		out.Error = &api.OperationError{Code: wire.Int32(statuses[f.Code]), Message: f.Message, Status: string(f.Code)}
	}
	return out
}

func apiFilter(f subscriptions.DeadLetterFilter) *api.DeadLetterFilter {
	out := api.DeadLetterFilter{Text: f.Text}
	for _, id := range f.IDs {
		out.MessageIDs = append(out.MessageIDs, id.String())
	}
	if f.From.ID != "" {
		out.Subscription = f.From.String()
	}
	if !f.Since.IsZero() {
		out.SinceTime = wire.NewTimestamp(f.Since)
	}
	if !f.Before.IsZero() {
		out.BeforeTime = wire.NewTimestamp(f.Before)
	}
	if len(f.IDs) == 0 && f.Text == "" && f.From.ID == "" && f.Since.IsZero() && f.Before.IsZero() {
		return nil
	}
	return &out
}
