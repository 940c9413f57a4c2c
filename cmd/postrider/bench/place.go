package bench

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"postrider/server/api"
	"postrider/server/wire"
)

// place is a topic with one subscription, for one measurement.
type place struct {
	server       *client
	topic, sub   string // paths of the API
	publish      call
	pull, ack    call
	modifyTarget call
}

// clearTime bounds removing a place, which is done also when the bench was stopped.
const clearTime = 10 * time.Second

// ackSeconds is the longest ack deadline there is: nothing is to be delivered twice.
const ackSeconds = 600

// newName is a name that nobody else uses.
func newName() string { return "bench-" + strings.ToLower(rand.Text()) }

// place makes a topic and a pull subscription.
func (b *bench) place(ctx context.Context) (*place, error) {
	name := newName()
	p := &place{
		server: b.server,
		topic:  "v1/projects/" + b.Project + "/topics/" + name,
		sub:    "v1/projects/" + b.Project + "/subscriptions/" + name,
	}
	p.publish = b.server.call(http.MethodPost, p.topic+":publish")
	p.pull = b.server.call(http.MethodPost, p.sub+":pull")
	p.ack = b.server.call(http.MethodPost, p.sub+":acknowledge")
	p.modifyTarget = b.server.call(http.MethodPost, p.sub+":modifyPushConfig")
	// A creation that is broken off may still take place after it was cleared away, so it is not.
	making, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearTime)
	defer cancel()
	if err := b.server.call(http.MethodPut, p.topic).sendMessage(making, api.Topic{}); err != nil {
		return nil, err
	}
	sub := api.Subscription{Topic: strings.TrimPrefix(p.topic, "v1/"), AckDeadlineSeconds: wire.Int32(ackSeconds)}
	err := b.server.call(http.MethodPut, p.sub).sendMessage(making, sub)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		p.remove(ctx)
		return nil, err
	}
	return p, nil
}

// remove deletes the place, also when ctx has ended. That it is there no more is all that matters, so errors do not.
func (p *place) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearTime)
	defer cancel()
	for _, path := range []string{p.sub, p.topic} {
		_ = p.server.call(http.MethodDelete, path).send(ctx, nil, nil)
	}
}

// enough is how many messages to have there before they are taken at a rate that is not known yet.
func (b *bench) enough(perSecond int) int {
	return max(min(int(b.Time.Seconds()*float64(perSecond)), b.Messages)/batch, 1) * batch
}

// fill publishes messages in batches, which is not measured.
func (b *bench) fill(ctx context.Context, p *place, messages int) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(publishers)
	for range messages / batch {
		all.Go(func() error { return p.publish.send(ctx, b.bodies.hundred, nil) })
	}
	return all.Wait()
}

// pushTo makes the server push what is published to a URL.
func (p *place) pushTo(ctx context.Context, url string) error {
	return p.modifyTarget.sendMessage(ctx, api.ModifyPushConfigRequest{PushConfig: &api.PushConfig{PushEndpoint: url}})
}
