package bench

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"
)

const (
	// pushers is how many POSTs the bare loop has under way: more make it no faster.
	pushers = 100
	// pushedAtMost is more than is pushed in a second.
	pushedAtMost = 30_000
	// pushPatience bounds the wait for what should come at once.
	pushPatience = 30 * time.Second
	pushPoll     = 5 * time.Millisecond
)

// barePushes POSTs the same body to the receiver as fast as a plain client can. What Redis must do for it is to hand out
// messages and to take their acks, at best in batches.
func (b *bench) barePushes(ctx context.Context) (figures, error) {
	post := b.bare.call(http.MethodPost, pushPath+newName())
	body := b.envelope(b.bodies.payload)
	f, err := meter{used: ownCPU}.watch(ctx, pushes, cpuPush, func() (done, error) {
		return b.load(ctx, pushers, func(ctx context.Context, _ int) (int, error) { return 1, post.send(ctx, body, nil) })
	})
	if err != nil || b.Redis == nil {
		return f, err
	}
	stream := newName()
	defer b.unlink(ctx, stream)
	if err := b.fillRaw(ctx, stream, b.redisMessages()); err != nil {
		return nil, err
	}
	return f, b.counted(ctx, f, redisPush, callsPush, []string{"xreadgroup", "xack"}, times(b.redisMessages()/batch, func(int) error {
		ids, err := b.readRaw(ctx, stream)
		if err != nil {
			return err
		}
		return b.Redis.XAck(ctx, stream, group, ids...).Err()
	}))
}

// envelope is the body of a push of the usual size.
func (b *bench) envelope(data []byte) []byte {
	return fmt.Appendf(nil, `{"message":{"data":"%s","messageId":"1735689600123-10001","message_id":"1735689600123-10001",`+
		`"publishTime":"2025-01-01T00:00:00.123Z","publish_time":"2025-01-01T00:00:00.123Z"},"subscription":"projects/%s/subscriptions/%s"}`,
		base64.StdEncoding.EncodeToString(data), b.Project, newName())
}

// pushes has the server push what was published before, all to one endpoint. The time counts from the first push: how long
// it takes until a server begins is not what this is about.
func (b *bench) pushes(ctx context.Context) (figures, error) {
	p, err := b.place(ctx)
	if err != nil {
		return nil, err
	}
	defer p.remove(ctx)
	want := b.enough(pushedAtMost)
	if err := b.fill(ctx, p, want); err != nil {
		return nil, err
	}
	push := func() (done, error) { return b.pushAll(ctx, p, want) }
	if b.Redis == nil {
		return b.atServer("pushes").watch(ctx, pushes, cpuPush, push)
	}
	work := figures{}
	f, err := b.atServer("pushes").watch(ctx, pushes, cpuPush, func() (done, error) {
		var d done
		err := b.counted(ctx, work, redisPush, callsPush, scripts, func() (_ int, err error) {
			d, err = push()
			return d.messages, err
		})
		return d, err
	})
	maps.Copy(f, work)
	return f, err
}

// pushAll turns a subscription with a backlog to push, and returns when that is pushed, or its time is over.
func (b *bench) pushAll(ctx context.Context, p *place, want int) (done, error) {
	path := pushPath + newName()
	if err := p.pushTo(ctx, b.bare.call("", path).url.String()); err != nil {
		return done{}, err
	}
	if err := b.awaitFirst(ctx, path, 1); err != nil {
		return done{}, err
	}
	came, err := b.awaitPushes(ctx, path, want, b.Time)
	return done{came.count, max(came.last.Sub(came.first), time.Microsecond)}, err
}

// pushed is what the endpoint has seen.
type pushed struct {
	count       int
	first, last time.Time
}

// awaitFirst waits until so many pushes have come, which shows that the server pushes at all.
func (b *bench) awaitFirst(ctx context.Context, path string, want int) error {
	came, err := b.awaitPushes(ctx, path, want, pushPatience)
	if err == nil && came.count < want {
		err = fmt.Errorf("%d of %d messages were pushed within %v: the server must be able to reach %s", came.count, want, pushPatience, b.Floor)
	}
	return err
}

// awaitPushes returns what has come as soon as there are so many, or after so long.
func (b *bench) awaitPushes(ctx context.Context, path string, want int, patience time.Duration) (pushed, error) {
	ask := b.bare.call(http.MethodGet, path)
	ask.url.RawQuery = "count"
	tick := time.NewTicker(pushPoll)
	defer tick.Stop()
	for start := time.Now(); ; {
		var answer bytes.Buffer
		if err := ask.send(ctx, nil, &answer); err != nil {
			return pushed{}, err
		}
		var count int
		var first, last int64
		if _, err := fmt.Sscan(answer.String(), &count, &first, &last); err != nil {
			return pushed{}, fmt.Errorf("the floor told %q: %w", &answer, err)
		}
		if count >= want || time.Since(start) >= patience {
			return pushed{count, time.Unix(0, first), time.Unix(0, last)}, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return pushed{}, ctx.Err()
		}
	}
}

// arrived are the times at which stamped pushes came.
func (b *bench) arrived(ctx context.Context, path string) (map[int]time.Time, error) {
	var answer bytes.Buffer
	if err := b.bare.call(http.MethodGet, path).send(ctx, nil, &answer); err != nil {
		return nil, err
	}
	times := map[int]time.Time{}
	_, lines, _ := strings.Cut(answer.String(), "\n")
	for line := range strings.Lines(lines) {
		var n int
		var nanos int64
		if _, err := fmt.Sscan(line, &n, &nanos); err != nil {
			return nil, fmt.Errorf("the floor told %q: %w", line, err)
		}
		times[n] = time.Unix(0, nanos)
	}
	return times, nil
}
