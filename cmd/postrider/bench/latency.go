package bench

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"time"
)

// percentiles are the latencies of one path, in milliseconds.
type percentiles struct{ p50, p99 float64 }

func percentilesOf(took []time.Duration) percentiles {
	millis := make([]float64, len(took))
	for i, t := range took {
		millis[i] = float64(t.Nanoseconds()) / 1e6
	}
	return percentiles{Percentile(millis, 50), Percentile(millis, 99)}
}

func (p percentiles) plus(other percentiles) percentiles {
	return percentiles{p.p50 + other.p50, p.p99 + other.p99}
}

func (p percentiles) figures() figures { return figures{median: p.p50, tail: p.p99} }

// answered measures a step that is over when it returns.
func (b *bench) answered(ctx context.Context, step func(ctx context.Context, i int) error) (percentiles, error) {
	took := make([]time.Duration, b.steps())
	n, err := b.paced(ctx, func(ctx context.Context, i int, due time.Time) error {
		err := step(ctx, i)
		took[i] = time.Since(due)
		return err
	})
	return percentilesOf(took[:n]), err
}

// arriving measures the way from when a step was due until the endpoint had the push with its number.
func (b *bench) arriving(ctx context.Context, path string, step func(ctx context.Context, i int) error) (percentiles, error) {
	dues := make([]time.Time, b.steps())
	n, err := b.paced(ctx, func(ctx context.Context, i int, due time.Time) error {
		dues[i] = due
		return step(ctx, i)
	})
	if err != nil {
		return percentiles{}, err
	}
	times, err := b.awaitStamps(ctx, path, n)
	if err != nil {
		return percentiles{}, err
	}
	took := make([]time.Duration, n)
	for i := range took {
		// Two processes of one machine share a clock, though not the monotonic reading of it.
		took[i] = times[i].Sub(dues[i].Round(0))
	}
	return percentilesOf(took), nil
}

// awaitStamps waits until the pushes of all numbers below n have come.
func (b *bench) awaitStamps(ctx context.Context, path string, n int) (map[int]time.Time, error) {
	for start := time.Now(); ; {
		times, err := b.arrived(ctx, path)
		if err != nil || len(times) >= n {
			return times, err
		}
		if time.Since(start) > pushPatience {
			return nil, fmt.Errorf("%d of %d messages were pushed within %v", len(times), n, pushPatience)
		}
		// What is late must come: asking for one push more than there is waits a moment.
		if _, err := b.awaitPushes(ctx, path, math.MaxInt, pushPoll); err != nil {
			return nil, err
		}
	}
}

// bareLatency is the sum of what a message must at least go through: a request, a write to Redis, a POST.
func (b *bench) bareLatency(ctx context.Context) (figures, error) {
	publish := b.bare.call(http.MethodPost, floorTopic(1)+":publish")
	sum, err := b.answered(ctx, func(ctx context.Context, _ int) error { return publish.send(ctx, b.bodies.one, nil) })
	if err != nil {
		return nil, err
	}
	if b.Redis != nil {
		stream := newName()
		defer b.unlink(ctx, stream)
		write, err := b.answered(ctx, func(ctx context.Context, _ int) error { return b.addRaw(ctx, stream, 1) })
		if err != nil {
			return nil, err
		}
		sum = sum.plus(write)
	}
	path := pushPath + newName()
	post := b.bare.call(http.MethodPost, path)
	bodies := b.stamped(func(data []byte) []byte { return b.envelope(data) })
	push, err := b.arriving(ctx, path, func(ctx context.Context, i int) error { return post.send(ctx, bodies[i], nil) })
	return sum.plus(push).figures(), err
}

// latency publishes at a steady pace to a topic whose messages are pushed, once it is known that they are.
func (b *bench) latency(ctx context.Context) (figures, error) {
	p, err := b.place(ctx)
	if err != nil {
		return nil, err
	}
	defer p.remove(ctx)
	path := pushPath + newName()
	if err := p.pushTo(ctx, b.bare.call("", path).url.String()); err != nil {
		return nil, err
	}
	if err := b.fill(ctx, p, batch); err != nil {
		return nil, err
	}
	if err := b.awaitFirst(ctx, path, batch); err != nil {
		return nil, err
	}
	bodies := b.stamped(func(data []byte) []byte {
		encoded := []byte(base64.StdEncoding.EncodeToString(data))
		return bytes.Replace(b.bodies.one, []byte(base64.StdEncoding.EncodeToString(b.bodies.payload)), encoded, 1)
	})
	got, err := b.arriving(ctx, path, func(ctx context.Context, i int) error { return p.publish.send(ctx, bodies[i], nil) })
	return got.figures(), err
}

// stamped makes the bodies of all steps of a paced measurement, each with its number in the data.
func (b *bench) stamped(body func(data []byte) []byte) [][]byte {
	all := make([][]byte, b.steps())
	for i := range all {
		all[i] = body(append(stamp(i), b.bodies.payload[stampDigits:]...))
	}
	return all
}
