package subscriptions_test

import (
	"context"
	"testing"

	"postrider/subscriptions"
)

// hasty is a store on which somebody deletes each record while it is made.
type hasty struct {
	subscriptions.Store
	w *world
}

func (h hasty) ReplaceTopic(ctx context.Context, t subscriptions.Topic) error {
	h.w.must(h.w.DeleteTopic(ctx, t.Name))
	return h.Store.ReplaceTopic(ctx, t)
}

func (h hasty) ReplaceSubscription(ctx context.Context, s subscriptions.Subscription) error {
	h.w.must(h.w.DeleteSubscription(ctx, s.Name))
	return h.Store.ReplaceSubscription(ctx, s)
}

func (h hasty) ReplaceSnapshot(ctx context.Context, s subscriptions.Snapshot) error {
	h.w.must(h.w.DeleteSnapshot(ctx, s.Name))
	return h.Store.ReplaceSnapshot(ctx, s)
}

// What is deleted while it is made was made: to answer that it does not exist
// would read as if what it is made of did not.
func TestACreationThatRacesADeletion(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("orders")
		w.subscribe("orders", "billing")
		s := subscriptions.NewService(hasty{w.store, w}, subscriptions.Options{})
		_, err := s.CreateTopic(w.ctx, subscriptions.Topic{Name: topicName("new")})
		w.wantCode(err, subscriptions.Aborted)
		_, err = s.CreateSubscription(w.ctx, subscriptions.Subscription{Name: subName("new"), Topic: topicName("orders")})
		w.wantCode(err, subscriptions.Aborted)
		_, err = s.CreateSnapshot(w.ctx, subscriptions.Snapshot{Name: snapName("new"), Subscription: subName("billing")})
		w.wantCode(err, subscriptions.Aborted)
		_, err = s.GetSnapshot(w.ctx, snapName("new"))
		w.wantCode(err, subscriptions.NotFound)
		w.wholeCatalog()
	})
}
