package bench

import (
	"bytes"
	"context"

	"github.com/redis/go-redis/v9"

	"postrider/server/api"
	"postrider/server/wire"
)

// What is published: batches of this many messages of this many bytes, by this many at once. A server merges what arrives
// together, so several publishers are what it is made for.
const (
	batch      = 100
	size       = 256
	publishers = 8
)

// bodies are requests as they go over the wire.
type bodies struct {
	payload      []byte // the data of one message
	one, hundred []byte // publish requests
	pull         []byte
}

func newBodies() (bodies, error) {
	b := bodies{payload: bytes.Repeat([]byte("postride"), size/8)}
	messages := make([]api.PubsubMessage, batch)
	for i := range messages {
		messages[i].Data = b.payload
	}
	var err error
	if b.one, err = wire.Marshal(api.PublishRequest{Messages: messages[:1]}); err != nil {
		return b, err
	}
	if b.hundred, err = wire.Marshal(api.PublishRequest{Messages: messages}); err != nil {
		return b, err
	}
	b.pull, err = wire.Marshal(api.PullRequest{MaxMessages: batch, ReturnImmediately: true})
	return b, err
}

// publishAll loads a publish method with the same request over and over.
func (b *bench) publishAll(ctx context.Context, publish call, workers int, body []byte, messages int) func() (done, error) {
	return func() (done, error) {
		return b.load(ctx, workers, func(ctx context.Context, _ int) (int, error) {
			return messages, publish.send(ctx, body, nil)
		})
	}
}

func (b *bench) singles(ctx context.Context) (figures, error) {
	p, err := b.place(ctx)
	if err != nil {
		return nil, err
	}
	defer p.remove(ctx)
	return b.atServer("singles").watch(ctx, singles, cpuSingle, b.publishAll(ctx, p.publish, connections, b.bodies.one, 1))
}

func (b *bench) bareSingles(ctx context.Context) (figures, error) {
	publish := b.bare.call("POST", floorTopic(1)+":publish")
	return b.atFloor().watch(ctx, singles, cpuSingle, b.publishAll(ctx, publish, connections, b.bodies.one, 1))
}

func (b *bench) batches(ctx context.Context) (figures, error) {
	p, err := b.place(ctx)
	if err != nil {
		return nil, err
	}
	defer p.remove(ctx)
	return b.atServer("batches").watch(ctx, batches, cpuBatch, b.publishAll(ctx, p.publish, publishers, b.bodies.hundred, batch))
}

// bareBatches stores the same sizes by raw commands, and asks the bare router what the requests alone cost.
func (b *bench) bareBatches(ctx context.Context) (figures, error) {
	publish := b.bare.call("POST", floorTopic(batch)+":publish")
	f, err := b.atFloor().watch(ctx, batches, cpuBatch, b.publishAll(ctx, publish, publishers, b.bodies.hundred, batch))
	if err != nil {
		return nil, err
	}
	delete(f, batches)
	if b.Redis == nil {
		return f, nil
	}
	stream := newName()
	defer b.unlink(ctx, stream)
	d, err := b.load(ctx, publishers, func(ctx context.Context, _ int) (int, error) {
		return batch, b.addRaw(ctx, stream, batch)
	})
	f[batches] = d.perSecond()
	return f, err
}

// addRaw appends messages to a stream by pipelined commands.
func (b *bench) addRaw(ctx context.Context, stream string, messages int) error {
	_, err := b.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for range messages {
			p.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []any{"d", b.bodies.payload}})
		}
		return nil
	})
	return err
}

// unlink removes a stream, also when ctx has ended.
func (b *bench) unlink(ctx context.Context, stream string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearTime)
	defer cancel()
	_ = b.Redis.Unlink(ctx, stream).Err() // nothing depends on it
}
