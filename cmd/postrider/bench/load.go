package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// done is what a load got through.
type done struct {
	messages int
	elapsed  time.Duration
}

func (d done) perSecond() float64 { return float64(d.messages) / d.elapsed.Seconds() }

// micros is a time a message.
func (d done) micros(t time.Duration) float64 {
	return float64(t.Nanoseconds()) / 1000 / float64(max(d.messages, 1))
}

// load calls step from so many goroutines, each time after the last call returned, until the bounds of a measurement are
// reached or a step has nothing left to do. A step returns how many messages it dealt with.
func (b *bench) load(ctx context.Context, workers int, step func(ctx context.Context, worker int) (int, error)) (done, error) {
	var messages atomic.Int64
	start := time.Now()
	all, ctx := errgroup.WithContext(ctx)
	for worker := range workers {
		all.Go(func() error {
			for time.Since(start) < b.Time && messages.Load() < int64(b.Messages) {
				n, err := step(ctx, worker)
				if n == 0 || err != nil {
					return err
				}
				messages.Add(int64(n))
			}
			return nil
		})
	}
	err := all.Wait()
	return done{int(messages.Load()), time.Since(start)}, err
}

// pace is how many messages a second are published when latency is measured.
const pace = 1000

// steps is how many a paced measurement has.
func (b *bench) steps() int { return max(min(int(b.Time.Seconds()*pace), b.Messages), 1) }

// paced calls step pace times a second, whether or not earlier calls have returned, as clients that know nothing of each
// other do. A step gets its number and the time at which it was due: what is late counts from there.
func (b *bench) paced(ctx context.Context, step func(ctx context.Context, i int, due time.Time) error) (steps int, _ error) {
	steps = b.steps()
	type turn struct {
		i   int
		due time.Time
	}
	turns := make(chan turn, steps)
	all, ctx := errgroup.WithContext(ctx)
	for range connections {
		all.Go(func() error {
			for t := range turns {
				if err := step(ctx, t.i, t.due); err != nil {
					return err
				}
			}
			return nil
		})
	}
	start := time.Now()
	for i := range steps {
		due := start.Add(time.Duration(i) * time.Second / pace)
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
		}
		turns <- turn{i, due}
	}
	close(turns)
	return steps, all.Wait()
}

// meter tells what a process uses. The zero value knows nothing.
type meter struct {
	// used is the CPU time so far; nil if it is not known.
	used func() (time.Duration, error)
	// profile begins a profile, which the function that it returns ends; nil for none.
	profile func(context.Context) (end func() error, err error)
}

// watch runs a load and gives its figures: how many messages a second, and what the process used for one.
func (m meter) watch(ctx context.Context, rate, cpu key, load func() (done, error)) (_ figures, err error) {
	if m.profile != nil {
		end, err := m.profile(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	used := m.used
	if used == nil {
		used = func() (time.Duration, error) { return 0, nil }
	}
	before, err := used()
	if err != nil {
		return nil, err
	}
	d, err := load()
	if err != nil {
		return nil, err
	}
	after, err := used()
	if err != nil {
		return nil, err
	}
	f := figures{rate: d.perSecond()}
	if m.used != nil {
		f[cpu] = d.micros(after - before)
	}
	return f, nil
}

// atServer and atFloor are the meters of the two sides.
func (b *bench) atServer(name string) meter {
	m := meter{used: b.ServerCPU}
	if b.Profile != nil {
		m.profile = func(ctx context.Context) (func() error, error) { return b.Profile(ctx, name) }
	}
	return m
}

func (b *bench) atFloor() meter { return meter{used: b.FloorCPU} }
