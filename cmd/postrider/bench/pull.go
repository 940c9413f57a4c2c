package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// pulledAtMost is more than is pulled in a second.
const pulledAtMost = 60_000

// pulls takes what was published before by pulling and acknowledging, batch after batch.
func (b *bench) pulls(ctx context.Context) (figures, error) {
	p, err := b.place(ctx)
	if err != nil {
		return nil, err
	}
	defer p.remove(ctx)
	if err := b.fill(ctx, p, b.enough(pulledAtMost)); err != nil {
		return nil, err
	}
	return b.atServer("pulls").watch(ctx, pulls, cpuPull, b.pullAll(ctx, p.pull, p.ack))
}

// pullAll loads a subscription with pulls and acks.
func (b *bench) pullAll(ctx context.Context, pull, ack call) func() (done, error) {
	answers, bodies := make([]bytes.Buffer, publishers), make([][]byte, publishers)
	return func() (done, error) {
		return b.load(ctx, publishers, func(ctx context.Context, worker int) (int, error) {
			if err := pull.send(ctx, b.bodies.pull, &answers[worker]); err != nil {
				return 0, err
			}
			body, n := acknowledgement(bodies[worker][:0], answers[worker].Bytes())
			bodies[worker] = body
			if n == 0 {
				return 0, nil
			}
			return n, ack.send(ctx, body, nil)
		})
	}
}

// acknowledgement makes the request that acknowledges what a pull's answer holds, and tells how much that is. It looks for
// the ack ids alone: decoding would cost the load generator more than serving costs the server. None of our messages holds
// the name of the field, and no ack id a quote.
func acknowledgement(b, answer []byte) (request []byte, messages int) {
	b = append(b, `{"ackIds":[`...)
	for {
		_, rest, found := bytes.Cut(answer, []byte(`"ackId"`))
		if !found {
			return append(b, `]}`...), messages
		}
		_, rest, _ = bytes.Cut(rest, []byte(`"`))
		var id []byte
		id, answer, _ = bytes.Cut(rest, []byte(`"`))
		if messages++; messages > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), id...), '"')
	}
}

// pullBatch pulls once, and makes the request that acknowledges it.
func pullBatch(ctx context.Context, p *place, body []byte) (ack []byte, _ error) {
	var answer bytes.Buffer
	if err := p.pull.send(ctx, body, &answer); err != nil {
		return nil, err
	}
	ack, n := acknowledgement(nil, answer.Bytes())
	if n != batch {
		return nil, fmt.Errorf("pulled %d messages of %d", n, batch)
	}
	return ack, nil
}

// group is the consumer group of raw reads.
const group = "bench"

// barePulls reads and acknowledges by raw commands, and asks the bare router what the requests alone cost.
func (b *bench) barePulls(ctx context.Context) (figures, error) {
	sub := floorSubscription()
	f, err := b.atFloor().watch(ctx, pulls, cpuPull,
		b.pullAll(ctx, b.bare.call("POST", sub+":pull"), b.bare.call("POST", sub+":acknowledge")))
	if err != nil {
		return nil, err
	}
	delete(f, pulls)
	if b.Redis == nil {
		return f, nil
	}
	stream := newName()
	defer b.unlink(ctx, stream)
	if err := b.fillRaw(ctx, stream, b.enough(2*pulledAtMost)); err != nil {
		return nil, err
	}
	d, err := b.load(ctx, publishers, func(ctx context.Context, _ int) (int, error) {
		ids, err := b.readRaw(ctx, stream)
		if err != nil || len(ids) == 0 {
			return 0, err
		}
		return len(ids), b.Redis.XAck(ctx, stream, group, ids...).Err()
	})
	f[pulls] = d.perSecond()
	return f, err
}

// fillRaw makes a stream of so many messages, in whole batches, and a group that reads it from its beginning.
func (b *bench) fillRaw(ctx context.Context, stream string, messages int) error {
	for range messages / batch {
		if err := b.addRaw(ctx, stream, batch); err != nil {
			return err
		}
	}
	return b.Redis.XGroupCreateMkStream(ctx, stream, group, "0").Err()
}

// readRaw takes a batch and returns the ids, none at the end.
func (b *bench) readRaw(ctx context.Context, stream string) ([]string, error) {
	read, err := b.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: group, Streams: []string{stream, ">"}, Count: batch, Block: -1,
	}).Result()
	if errors.Is(err, redis.Nil) || err == nil && len(read) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(read[0].Messages))
	for i, m := range read[0].Messages {
		ids[i] = m.ID
	}
	return ids, nil
}
