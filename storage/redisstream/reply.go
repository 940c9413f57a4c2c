package redisstream

import (
	"fmt"
	"time"

	"postrider/subscriptions"
)

// The status every script's reply begins with. topic.lua has the same numbers.
const (
	statusOK      = 0
	statusStale   = 1
	statusGone    = 2
	statusUnknown = 3 // then: the key, the version that was found there
)

// unpack takes the status off a reply.
func unpack(name string, reply any) ([]any, error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) == 0 {
		return nil, fmt.Errorf("redisstream: %s gave %T", name, reply)
	}
	switch parts[0] {
	case int64(statusOK):
		return parts[1:], nil
	case int64(statusStale):
		return nil, subscriptions.ErrStale
	case int64(statusGone):
		return nil, subscriptions.ErrGone
	case int64(statusUnknown):
		if parts[2] == frozenVersion {
			return nil, errMoving()
		}
		return nil, fmt.Errorf("redisstream: %s: %v is of the unknown format %v: a newer Postrider wrote it", name, parts[1], parts[2])
	}
	return nil, fmt.Errorf("redisstream: %s gave status %v", name, parts[0])
}

// fields reads a reply's values in order. After one of the wrong type, all read as zero and err tells.
type fields struct {
	name string
	rest []any
	err  error
}

func (f *fields) next() any {
	if len(f.rest) == 0 {
		f.fail("is too short")
		return nil
	}
	v := f.rest[0]
	f.rest = f.rest[1:]
	return v
}

func (f *fields) fail(what string) {
	if f.err == nil {
		f.err = fmt.Errorf("redisstream: the reply of %s %s", f.name, what)
	}
	f.rest = nil
}

func (f *fields) int() int64 {
	v := f.next()
	n, ok := v.(int64)
	if !ok && f.err == nil {
		f.fail(fmt.Sprintf("holds %T where a number was expected", v))
	}
	return n
}

func (f *fields) text() string {
	v := f.next()
	s, ok := v.(string)
	if !ok && f.err == nil {
		f.fail(fmt.Sprintf("holds %T where text was expected", v))
	}
	return s
}

// delivery reads a message that was leased or taken: padded id, delivery number, attempt, d.
func (f *fields) delivery(epoch int64) subscriptions.Delivery {
	text, number, attempt, d := f.text(), f.int(), f.int(), f.text()
	if f.err != nil {
		return subscriptions.Delivery{}
	}
	id, key, err := parseMember(text)
	if err != nil {
		f.err = err
		return subscriptions.Delivery{}
	}
	m, err := decodeMessage(id, d)
	if err != nil {
		f.err = err
	}
	delivery := subscriptions.Delivery{Message: m, Number: number, Attempt: int(attempt), Epoch: epoch, Key: key}
	if m.ID != id {
		delivery.LogID = id
	}
	return delivery
}

// time reads a time that is shown.
func (f *fields) time() time.Time { return time.UnixMilli(f.int()).UTC() }

// deliveries reads messages up to the end of the reply.
func (f *fields) deliveries(epoch int64) []subscriptions.Delivery {
	if len(f.rest) == 0 {
		return nil
	}
	all := make([]subscriptions.Delivery, 0, (len(f.rest)+3)/4)
	for len(f.rest) > 0 {
		all = append(all, f.delivery(epoch))
	}
	return all
}
