package server

import (
	"context"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// ListSubscriptionDeadLetters reads a page of the dead letters that came from a subscription.
func (h *handler) ListSubscriptionDeadLetters(
	ctx context.Context, r api.ListSubscriptionDeadLettersRequestObject,
) (api.ListSubscriptionDeadLettersResponseObject, error) {
	name := subscriptionName(r.Project, r.Subscription)
	q, err := queryOf(r.Body.Filter, r.Body.DeadLetterSubscription)
	if err != nil {
		return nil, h.unlessSubscriptionMissing(ctx, name, err)
	}
	q.Subscription = name
	page, err := h.deadLetters(ctx, q, pageOf(r.Body.PageSize, r.Body.PageToken))
	return api.ListSubscriptionDeadLetters200JSONResponse(page), err
}

// ListTopicDeadLetters reads a page of the dead letters of a dead-letter topic.
func (h *handler) ListTopicDeadLetters(ctx context.Context, r api.ListTopicDeadLettersRequestObject) (api.ListTopicDeadLettersResponseObject, error) {
	name := topicName(r.Project, r.Topic)
	q, err := queryOf(r.Body.Filter, r.Body.DeadLetterSubscription)
	if err != nil {
		return nil, h.unlessTopicMissing(ctx, name, err)
	}
	q.Topic = name
	page, err := h.deadLetters(ctx, q, pageOf(r.Body.PageSize, r.Body.PageToken))
	return api.ListTopicDeadLetters200JSONResponse(page), err
}

func (h *handler) deadLetters(ctx context.Context, q subscriptions.DeadLetterQuery, p subscriptions.Page) (out api.ListDeadLettersResponse, err error) {
	page, next, err := h.backend.DeadLetters(ctx, q, p)
	out.NextPageToken = next
	for _, d := range page {
		out.DeadLetters = append(out.DeadLetters, apiDeadLetter(d))
	}
	return out, err
}

// queryOf reads what selects dead letters, but for whose they are.
func queryOf(f *api.DeadLetterFilter, holder string) (q subscriptions.DeadLetterQuery, err error) {
	if holder != "" {
		if q.Holder, err = subscriptions.ParseSubscriptionName("deadLetterSubscription", holder); err != nil {
			return q, err
		}
	}
	if f == nil {
		return q, nil
	}
	for i, id := range f.MessageIDs {
		parsed, err := subscriptions.ParseMessageID(id)
		if err != nil {
			return q, subscriptions.WrapError(err, subscriptions.InvalidArgument, "filter.messageIds[%d]: %q is not the id of a message", i, clip(id))
		}
		q.IDs = append(q.IDs, parsed)
	}
	if f.Subscription != "" {
		if q.From, err = subscriptions.ParseSubscriptionName("filter.subscription", f.Subscription); err != nil {
			return q, err
		}
	}
	if f.SinceTime != nil {
		q.Since = f.SinceTime.Time
	}
	if f.BeforeTime != nil {
		q.Before = f.BeforeTime.Time
	}
	q.Text = f.Text
	return q, nil
}

func apiDeadLetter(d subscriptions.DeadLetter) api.DeadLetter {
	message, origin := apiMessage(d.Message), apiOrigin(d.Origin)
	out := api.DeadLetter{
		Message: &message, DeadLetterTopic: d.Topic.String(), Owner: d.Owner,
		State: api.DeadLetterState(peekStates[d.State]), Attempts: wire.Int32(d.Attempt), Origin: &origin,
	}
	if d.Holder != (subscriptions.SubscriptionName{}) {
		out.DeadLetterSubscription = d.Holder.String()
	}
	if first, ok := d.Origin.First(); ok {
		origin := apiOrigin(first)
		out.FirstOrigin = &origin
	}
	return out
}

func apiOrigin(o subscriptions.Origin) api.DeadLetterOrigin {
	out := api.DeadLetterOrigin{
		Subscription: o.Subscription.String(), Attempts: wire.Int32(o.Attempts), LastError: o.Reason, FailedAttempts: apiAttempts(o.Failed),
		RedrivenCount: wire.Int32(o.Redriven), FormerAttempts: wire.Int32(o.FormerAttempts),
	}
	if !o.PublishTime.IsZero() {
		out.PublishTime = wire.NewTimestamp(o.PublishTime)
	}
	if o.Topic != (subscriptions.TopicName{}) {
		out.Topic = o.Topic.String()
	}
	if !o.MessageID.IsZero() {
		out.MessageID = o.MessageID.String()
	}
	return out
}
