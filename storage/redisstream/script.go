package redisstream

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var sources embed.FS

// script is one Lua script: the file of its verb, with pieces that several scripts share put in after its first line,
// which must stay the first.
type script struct {
	name, source, sha string
}

// newScript reads name.lua and the shared pieces, in the order in which they build on each other.
func newScript(name string, pieces ...string) *script {
	first, rest, _ := strings.Cut(file(name), "\n")
	var b strings.Builder
	b.WriteString(first + "\n")
	for _, piece := range pieces {
		b.WriteString(file(piece))
	}
	b.WriteString(rest)
	sum := sha1.Sum([]byte(b.String()))
	return &script{name: name, source: b.String(), sha: hex.EncodeToString(sum[:])}
}

func file(name string) string {
	text, err := sources.ReadFile(name + ".lua")
	if err != nil {
		panic(err) // a script that is not embedded: cannot happen in a binary that ever started
	}
	return string(text)
}

// Pieces that most scripts share.
var (
	onTopic        = []string{"clock", "topic"}
	onSubscription = with(onTopic, "subscription", "messages")
	onRules        = with(onSubscription, "trim_log", "outstanding", "overflow", "order", "failures", "rules")
)

func with(pieces []string, more ...string) []string { return slices.Concat(pieces, more) }

// once is a command that must not be sent a second time: when a connection breaks, go-redis cannot know whether Redis has
// run it, and a repeated publish or lease is not the same as one.
type once struct{ *redis.Cmd }

// NoRetry is asked by go-redis, also by its cluster client, which otherwise retries even with MaxRetries -1.
func (once) NoRetry() bool { return true }

// run runs a script and returns its reply without the status. Redis knows scripts by their hash; one that has not seen it
// yet, or forgot it in a restart or a failover, gets the text.
func (s *Store) run(ctx context.Context, sc *script, keys []string, args ...any) ([]any, error) {
	reply, err := s.eval(ctx, "evalsha", sc.sha, keys, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = s.eval(ctx, "eval", sc.source, keys, args)
	}
	if err != nil {
		return nil, failed(ctx, sc.name, err)
	}
	return unpack(sc.name, reply)
}

func (s *Store) eval(ctx context.Context, command, text string, keys []string, args []any) (any, error) {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, command, text, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	_ = s.client.Process(ctx, once{cmd})
	return cmd.Result()
}

// now is the first argument of every script that asks for the time: empty, so that Redis's clock counts, unless a test
// has put in another.
func (s *Store) now() any {
	if s.options.Now == nil {
		return ""
	}
	return s.options.Now().UnixMilli()
}
