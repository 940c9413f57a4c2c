package redisstream

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"postrider/subscriptions"
)

var seizeScript = newScript("seize", with(onSubscription, "trim_log", "outstanding", "overflow", "order")...)

// Seize implements subscriptions.Blocks.
func (s *Store) Seize(ctx context.Context, ref subscriptions.Ref, r subscriptions.Receipt, hold time.Duration) (bool, error) {
	f, err := s.onState(ctx, seizeScript, ref, member(r.ID, r.Key), r.Epoch, wholeMillis(hold))
	if err != nil {
		return false, err
	}
	return f.int() == 1, f.err
}

var blockedScript = newScript("blocked", with(onSubscription, "trim_log", "outstanding", "overflow", "order")...)

// Blocked implements subscriptions.Blocks.
func (s *Store) Blocked(ctx context.Context, r subscriptions.BlocksRequest) (result subscriptions.BlocksResult, err error) {
	key, after := "", ""
	if r.Key != 0 {
		key = fmt.Sprintf("%016x", r.Key)
	}
	if r.After != (subscriptions.BlockPlace{}) {
		after = member(r.After.ID, r.After.Key)
	}
	f, err := s.onState(ctx, blockedScript, r.Ref, key, r.After.Milli, after, r.Max)
	if err != nil {
		return result, err
	}
	result.More = f.int() == 1
	result.Next = f.place()
	epoch := f.int()
	for len(f.rest) > 0 {
		b := subscriptions.Block{Head: f.delivery(epoch)}
		b.Head.Failed = f.attempts()
		b.Since, b.State, b.Next, b.Behind = f.time(), subscriptions.BlockState(f.int()), f.time(), f.int()
		result.Blocks = append(result.Blocks, b)
	}
	return result, f.err
}

// place reads where a page ended; empty texts are before the first one.
func (f *fields) place() (p subscriptions.BlockPlace) {
	ms, at := f.text(), f.text()
	if at == "" {
		return p
	}
	var err error
	if p.Milli, err = strconv.ParseInt(ms, 10, 64); err != nil {
		f.fail("has no time where one was expected")
		return subscriptions.BlockPlace{}
	}
	if p.ID, p.Key, err = parseMember(at); err != nil && f.err == nil {
		f.err = err
	}
	return p
}
