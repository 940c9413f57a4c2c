package subscriptions

import (
	"context"
	"sync"
	"time"
)

// touched is a Store that notes which topics its steps changed, so that only
// those are surveyed. A step that leaves the counts as they were need not be
// here, nor one that makes what nobody has surveyed yet.
type touched struct {
	Store
	topics sync.Map // UID to *mark
	// holds tells whether a subscription is known to have a backlog, or a topic
	// delayed messages.
	holds func(uid string) bool
}

// mark is when a topic was last touched.
type mark struct {
	mu sync.Mutex
	at time.Time
}

func (t *touched) touch(topic string) {
	found, ok := t.topics.Load(topic)
	if !ok {
		found, _ = t.topics.LoadOrStore(topic, new(mark))
	}
	m := found.(*mark)
	m.mu.Lock()
	m.at = time.Now()
	m.mu.Unlock()
}

// on is touch after a step that did not fail, and gives its error back. A step
// that failed for the store may have been taken all the same.
func (t *touched) on(topic string, err error) error {
	if err == nil || CodeOf(err) == Unavailable {
		t.touch(topic)
	}
	return err
}

// take calls fn with the topics touched and not surveyed, as long as it wants
// them.
func (t *touched) take(fn func(topic string, at time.Time) (taken, more bool)) {
	t.topics.Range(func(k, v any) bool {
		m := v.(*mark)
		m.mu.Lock()
		at := m.at
		m.mu.Unlock()
		taken, more := fn(k.(string), at)
		if taken {
			// Who has found the mark already and notes itself in vain has taken its step
			// before: the survey that follows sees it.
			t.topics.CompareAndDelete(k, v)
		}
		return more
	})
}

func (t *touched) CloseTopic(ctx context.Context, uid string) error {
	return t.on(uid, t.Store.CloseTopic(ctx, uid))
}

func (t *touched) Publish(ctx context.Context, topic TopicRef, msgs []Message) ([]MessageID, error) {
	ids, err := t.Store.Publish(ctx, topic, msgs)
	return ids, t.on(topic.UID, err)
}

func (t *touched) AppendDead(ctx context.Context, topic TopicRef, source string, dead []Message, keep time.Duration) error {
	return t.on(topic.UID, t.Store.AppendDead(ctx, topic, source, dead, keep))
}

func (t *touched) SettleDead(ctx context.Context, ref Ref, receipts []Receipt) error {
	return t.on(ref.Topic, t.Store.SettleDead(ctx, ref, receipts))
}

func (t *touched) AppendDue(ctx context.Context, topicUID string) (time.Duration, error) {
	next, err := t.Store.AppendDue(ctx, topicUID)
	if err != nil || t.holds(topicUID) {
		err = t.on(topicUID, err)
	}
	return next, err
}

func (t *touched) CancelDelayed(ctx context.Context, topicUID string, ids []MessageID) ([]MessageID, error) {
	gone, err := t.Store.CancelDelayed(ctx, topicUID, ids)
	return gone, t.on(topicUID, err)
}

func (t *touched) Drop(ctx context.Context, topic, subscription string) error {
	return t.on(topic, t.Store.Drop(ctx, topic, subscription))
}

func (t *touched) Lease(ctx context.Context, r LeaseRequest) (LeaseResult, error) {
	res, err := t.Store.Lease(ctx, r)
	if err != nil || len(res.Deliveries) > 0 || res.More || t.holds(r.Subscription) {
		err = t.on(r.Topic, err)
	}
	return res, err
}

func (t *touched) Acknowledge(ctx context.Context, ref Ref, receipts []Receipt) error {
	return t.on(ref.Topic, t.Store.Acknowledge(ctx, ref, receipts))
}

func (t *touched) Confirm(ctx context.Context, ref Ref, receipts []Receipt) (Missed, error) {
	missed, err := t.Store.Confirm(ctx, ref, receipts)
	return missed, t.on(ref.Topic, err)
}

func (t *touched) Nack(ctx context.Context, r NackRequest) ([]Receipt, error) {
	missed, err := t.Store.Nack(ctx, r)
	return missed, t.on(r.Topic, err)
}

func (t *touched) Release(ctx context.Context, ref Ref, releases []Release) error {
	return t.on(ref.Topic, t.Store.Release(ctx, ref, releases))
}

func (t *touched) Sweep(ctx context.Context, r SweepRequest) (SweepResult, error) {
	res, err := t.Store.Sweep(ctx, r)
	if err != nil || len(res.Dead) > 0 || res.More || t.holds(r.Subscription) {
		err = t.on(r.Topic, err)
	}
	return res, err
}

func (t *touched) KeepBreaker(ctx context.Context, ref Ref, b Breaker) (bool, error) {
	kept, err := t.Store.KeepBreaker(ctx, ref, b)
	return kept, t.on(ref.Topic, err)
}

func (t *touched) CloseBreaker(ctx context.Context, ref Ref) (bool, error) {
	was, err := t.Store.CloseBreaker(ctx, ref)
	if was || err != nil {
		err = t.on(ref.Topic, err)
	}
	return was, err
}

func (t *touched) ReportPush(ctx context.Context, ref Ref, r PushReport, keep time.Duration) error {
	return t.on(ref.Topic, t.Store.ReportPush(ctx, ref, r, keep))
}

func (t *touched) Seek(ctx context.Context, r SeekRequest) (SeekResult, error) {
	res, err := t.Store.Seek(ctx, r)
	return res, t.on(r.Topic, err)
}

func (t *touched) Seize(ctx context.Context, ref Ref, r Receipt, hold time.Duration) (bool, error) {
	did, err := t.Store.Seize(ctx, ref, r, hold)
	return did, t.on(ref.Topic, err)
}

func (t *touched) Redrive(ctx context.Context, r RedriveRequest) ([]RedriveFate, error) {
	fates, err := t.Store.Redrive(ctx, r)
	return fates, t.on(r.Topic, err)
}

func (t *touched) Remove(ctx context.Context, r RemoveRequest) ([]RemoveFate, error) {
	fates, err := t.Store.Remove(ctx, r)
	return fates, t.on(r.Topic, err)
}

func (t *touched) Discard(ctx context.Context, topic string, ids []MessageID) ([]RemoveFate, error) {
	fates, err := t.Store.Discard(ctx, topic, ids)
	return fates, t.on(topic, err)
}
