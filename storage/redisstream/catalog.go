package redisstream

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

var (
	insertScript  = newScript("insert_record")
	replaceScript = newScript("replace_record")
	removeScript  = newScript("remove_record")
	listScript    = newScript("list_records")
)

// A kind of record in a project's catalog. Names are "t/ID", "s/ID", "n/ID" and "o/ID"; '0' is the character after '/'.
const (
	topics           = "t/"
	afterTopics      = "t0"
	subscribers      = "s/"
	afterSubscribers = "s0"
	snapshots        = "n/"
	afterSnapshots   = "n0"
	operations       = "o/"
	afterOperations  = "o0"
)

// write runs a script on a project's catalog and tells whether it changed anything. If so, all servers are told.
func (s *Store) write(ctx context.Context, sc *script, project, fullName string, args ...any) (bool, error) {
	reply, err := s.run(ctx, sc, s.keys.catalog(project), args...)
	if err != nil {
		return false, err
	}
	f := fields{name: sc.name, rest: reply}
	if f.int() != 1 {
		return false, f.err
	}
	s.noteChange(ctx, fullName)
	return true, f.err
}

// record reads one record's stored form.
func (s *Store) record(ctx context.Context, project, name string) (stored string, found bool, err error) {
	stored, err = s.client.HGet(ctx, s.keys.catalog(project)[0], name).Result()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	return stored, err == nil, failed(ctx, "read record", err)
}

// decodeList reads pairs of a name in the catalog and a record.
func decodeList[R any](reply []any, decode func(id, stored string) (R, error)) ([]R, error) {
	var records []R
	f := fields{name: listScript.name, rest: reply}
	for len(f.rest) > 0 {
		name, stored := f.text(), f.text()
		if f.err != nil {
			break
		}
		r, err := decode(name[len(topics):], stored)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, f.err
}
