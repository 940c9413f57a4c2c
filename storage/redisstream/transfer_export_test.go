package redisstream

import (
	"bytes"

	"github.com/redis/go-redis/v9"
)

func init() { pageMessages = 8 }

// SetHook lets a test see every command of a transfer.
func (o *TransferOptions) SetHook(h redis.Hook) { o.hook = h }

// FrozenVersion is what tests look for.
const FrozenVersion = frozenVersion

// DecodeMessage reads an entry's d.
var DecodeMessage = decodeMessage

// SubscriptionKeys are the names of a subscription's keys, without what is theirs alone.
func SubscriptionKeys() []string {
	var parts []string
	for _, key := range (names{}).subscription("", "")[4:] {
		parts = append(parts, key[len("{:0}:"):])
	}
	return parts
}

// BackupOf is a backup with one record, whatever that is.
func BackupOf(kind byte, texts []string) ([]byte, error) {
	var file bytes.Buffer
	w, err := newBackupWriter(&file, "test")
	if err != nil {
		return nil, err
	}
	if err := w.record(kind, texts); err != nil {
		return nil, err
	}
	return file.Bytes(), w.end(tally{})
}
