package redisstream_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"postrider/subscriptions"
)

// puller is one of a subscription's. It goes from server to server.
type puller struct {
	*tormented
	ctx     context.Context
	sub     subscriptions.Subscription
	checker *orderChecker
	late    []subscriptions.Delivery // held beyond their leases
}

// pull takes and settles messages, or does not, until all are settled.
func (w *tormented) pull(ctx context.Context, i int) error {
	p := &puller{tormented: w, ctx: context.WithoutCancel(ctx), sub: w.subs[i], checker: w.checkers[i]}
	for {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: not through in time", p.sub.Name.ID)
		}
		m := w.anyServer()
		life := 0
		var ds []subscriptions.Delivery
		err := m.use(func(m *mortal) (err error) {
			life = m.life
			ds, err = p.lease(m)
			return err
		})
		if err != nil {
			return err
		}
		if len(ds) == 0 {
			through, err := p.through(m)
			if err != nil || through {
				return err
			}
			time.Sleep(2 * time.Millisecond)
			continue
		}
		if rand.N(10) == 0 {
			time.Sleep(rand.N(w.deadline / 8))
		}
		err = m.use(func(m *mortal) error {
			if m.life != life {
				return nil // the server died, and what it held with it
			}
			return p.treat(m, ds)
		})
		if err != nil {
			return err
		}
	}
}

func (p *puller) through(m *mortal) (bool, error) {
	var stats subscriptions.Stats
	err := m.use(func(m *mortal) (err error) {
		stats, err = m.store.Stats(p.ctx, p.sub.Ref())
		return err
	})
	return stats.Acked+stats.DeadLettered+stats.Dropped+stats.Lost >= int64(p.messages), err
}

func (p *puller) lease(m *mortal) ([]subscriptions.Delivery, error) {
	p.checker.mu.Lock()
	defer p.checker.mu.Unlock()
	run := []int{1, 3, 100, 100}[rand.N(4)]
	if p.sub.ExactlyOnce {
		run = 1
	}
	start := time.Now()
	result, err := m.store.Lease(p.ctx, subscriptions.LeaseRequest{
		Ref: p.sub.Ref(), Rules: p.sub.Rules(p.outstanding), Max: 1 + rand.N(200), MaxBytes: 1 << 20,
		Run: run, Deadline: p.deadline, Use: true, Jitter: rand.Float64(),
	})
	p.checker.delivered(result.Deliveries, start, time.Now(), p.deadline)
	return result.Deliveries, err
}

// treat does with an answer what receivers do, at their best and at their worst.
func (p *puller) treat(m *mortal, ds []subscriptions.Delivery) error {
	good, bad := split(ds, func(d subscriptions.Delivery) bool {
		return p.checker.max == 0 || !strings.HasSuffix(string(d.Message.Data), "poison")
	})
	switch rand.N(20) {
	case 0: // the puller crashes, or lets all run out
		return nil
	case 1: // the leases run out, and it acks all the same, some time
		p.late = append(p.late, good...)
		return nil
	case 2:
		return p.end(m, ds, true)
	case 3, 4:
		some, more := split(good, func(subscriptions.Delivery) bool { return rand.N(8) == 0 })
		good, bad = more, append(bad, some...)
	case 5: // the last ones first
		rand.Shuffle(len(good), func(i, j int) { good[i], good[j] = good[j], good[i] })
	case 6: // the first ones never
		good, _ = split(good, func(subscriptions.Delivery) bool { return rand.N(4) > 0 })
	case 7:
		if err := p.extend(m, ds); err != nil {
			return err
		}
	}
	if rand.N(2) == 0 {
		if err := p.end(m, bad, false); err != nil {
			return err
		}
		bad = nil
	}
	half := rand.N(len(good) + 1)
	for _, part := range [][]subscriptions.Delivery{good[:half], good[half:]} {
		if err := p.ack(m, part); err != nil {
			return err
		}
	}
	if rand.N(4) == 0 {
		if err := p.ack(m, p.late[:min(200, len(p.late))]); err != nil {
			return err
		}
		p.late = nil
	}
	return p.end(m, bad, false)
}

func split(ds []subscriptions.Delivery, which func(subscriptions.Delivery) bool) (yes, no []subscriptions.Delivery) {
	for _, d := range ds {
		if which(d) {
			yes = append(yes, d)
		} else {
			no = append(no, d)
		}
	}
	return yes, no
}

func (p *puller) ack(m *mortal, ds []subscriptions.Delivery) error {
	p.checker.mu.Lock()
	defer p.checker.mu.Unlock()
	if p.sub.ExactlyOnce {
		return p.confirm(m, ds)
	}
	err := m.store.Acknowledge(p.ctx, p.sub.Ref(), receipts(ds))
	p.checker.ack(ds, time.Now())
	return err
}

// confirm acks with exactly-once delivery, at times twice, as who got no answer would.
func (p *puller) confirm(m *mortal, ds []subscriptions.Delivery) error {
	ds = slices.Clone(ds)
	slices.SortFunc(ds, func(a, b subscriptions.Delivery) int {
		return cmp.Or(a.Message.ID.Compare(b.Message.ID), cmp.Compare(b.Number, a.Number))
	})
	ds = slices.CompactFunc(ds, func(a, b subscriptions.Delivery) bool { return a.Message.ID == b.Message.ID })
	for again := true; again; again = rand.N(10) == 0 {
		missed, err := m.store.Confirm(p.ctx, p.sub.Ref(), receipts(ds))
		if err != nil {
			return err
		}
		p.checker.confirm(ds, missed, time.Now())
	}
	return nil
}

// end nacks or releases.
func (p *puller) end(m *mortal, ds []subscriptions.Delivery, release bool) error {
	p.checker.mu.Lock()
	defer p.checker.mu.Unlock()
	var err error
	if release {
		err = m.store.Release(p.ctx, p.sub.Ref(), releases(receipts(ds)))
	} else {
		nack := subscriptions.NackRequest{Ref: p.sub.Ref(), Rules: p.sub.Rules(p.outstanding), Jitter: rand.Float64()}
		for _, r := range receipts(ds) {
			nack.Nacks = append(nack.Nacks, subscriptions.Nack{Receipt: r})
		}
		_, err = m.store.Nack(p.ctx, nack)
	}
	p.checker.ended(ds, release, time.Now())
	return err
}

func (p *puller) extend(m *mortal, ds []subscriptions.Delivery) error {
	p.checker.mu.Lock()
	defer p.checker.mu.Unlock()
	start := time.Now()
	_, err := m.store.Extend(p.ctx, p.sub.Ref(), receipts(ds), p.deadline*2)
	p.checker.extended(ds, start, time.Now(), p.deadline*2)
	return err
}
