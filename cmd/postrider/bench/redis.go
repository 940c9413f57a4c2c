package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// commands is what Redis has run, by name.
type commands map[string]command

type command struct {
	calls  int64
	micros float64
}

// scripts are the commands that run scripts. Their time includes that of the commands within.
var scripts = []string{"evalsha", "eval", "fcall"}

// commandStats asks Redis what it has run so far.
func (b *bench) commandStats(ctx context.Context) (commands, error) {
	text, err := b.Redis.Info(ctx, "commandstats").Result()
	if err != nil {
		return nil, err
	}
	return parseCommandStats(text)
}

// parseCommandStats reads lines such as "cmdstat_xadd:calls=5,usec=31,usec_per_call=6.20,…". INFO itself is left out: it is
// we who ask.
func parseCommandStats(text string) (commands, error) {
	all := commands{}
	for line := range strings.Lines(text) {
		name, values, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "cmdstat_"), ":calls=")
		if !found || name == "info" {
			continue
		}
		calls, rest, _ := strings.Cut(values, ",usec=")
		micros, _, _ := strings.Cut(rest, ",")
		c, err := strconv.ParseInt(calls, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("INFO commandstats has %q: %w", line, err)
		}
		m, err := strconv.ParseFloat(micros, 64)
		if err != nil {
			return nil, fmt.Errorf("INFO commandstats has %q: %w", line, err)
		}
		all[name] = command{c, m}
	}
	return all, nil
}

// since is what came on top of an earlier state: all calls, those within scripts too, and the time of the commands named.
func (c commands) since(before commands, timed ...string) (calls int64, micros float64) {
	for name, now := range c {
		calls += now.calls - before[name].calls
	}
	for _, name := range timed {
		micros += c[name].micros - before[name].micros
	}
	return calls, micros
}

// redisMessages is for how many messages Redis's work is counted, in batches of a hundred, one after the other: so that no
// two batches are merged, and calls can be compared. A subscription may not have many more outstanding.
func (b *bench) redisMessages() int { return min(b.enough(20_000), 20_000) }

// mainThread is the CPU time that Redis's main thread has used so far, in microseconds: what it can do is bounded by that,
// and it holds what commandstats leave out, as reading the commands.
func (b *bench) mainThread(ctx context.Context) (float64, error) {
	text, err := b.Redis.Info(ctx, "cpu").Result()
	if err != nil {
		return 0, err
	}
	var total float64
	for _, name := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		seconds, err := strconv.ParseFloat(infoField(text, name), 64)
		if err != nil {
			return 0, fmt.Errorf("%s in INFO cpu: %w", name, err)
		}
		total += seconds
	}
	return total * 1e6, nil
}

// published notes in f what publishing batches costs Redis.
func (b *bench) published(ctx context.Context, f figures, timed []string, publish func(int) error) error {
	before, err := b.mainThread(ctx)
	if err != nil {
		return err
	}
	if err := b.counted(ctx, f, redisPublish, callsPublish, timed, times(b.redisMessages()/batch, publish)); err != nil {
		return err
	}
	after, err := b.mainThread(ctx)
	f[redisCPU] = (after - before) / float64(b.redisMessages())
	return err
}

// counted notes in f what Redis did for a message while do ran, which returns their number.
func (b *bench) counted(ctx context.Context, f figures, micros, calls key, timed []string, do func() (int, error)) error {
	before, err := b.commandStats(ctx)
	if err != nil {
		return err
	}
	messages, err := do()
	if err != nil || messages == 0 {
		return err
	}
	after, err := b.commandStats(ctx)
	if err != nil {
		return err
	}
	n, took := after.since(before, timed...)
	f[micros], f[calls] = took/float64(messages), float64(n)/float64(messages)
	return nil
}

// redis publishes, leases and acknowledges, one after the other, and asks Redis what each took it.
func (b *bench) redis(ctx context.Context) (figures, error) {
	p, err := b.place(ctx)
	if err != nil {
		return nil, err
	}
	defer p.remove(ctx)
	rounds := b.redisMessages() / batch
	acks := make([][]byte, rounds)
	f := figures{}
	if err := b.published(ctx, f, scripts, func(int) error { return p.publish.send(ctx, b.bodies.hundred, nil) }); err != nil {
		return nil, err
	}
	if err := b.counted(ctx, f, redisLease, callsLease, scripts, times(rounds, func(i int) error {
		var err error
		acks[i], err = pullBatch(ctx, p, b.bodies.pull)
		return err
	})); err != nil {
		return nil, err
	}
	return f, b.counted(ctx, f, redisAck, callsAck, scripts, times(rounds, func(i int) error {
		return p.ack.send(ctx, acks[i], nil)
	}))
}

// rawRedis does the same with Redis's own commands.
func (b *bench) rawRedis(ctx context.Context) (figures, error) {
	stream := newName()
	defer b.unlink(ctx, stream)
	rounds := b.redisMessages() / batch
	ids := make([][]string, rounds)
	f := figures{}
	if err := b.published(ctx, f, []string{"xadd"}, func(int) error { return b.addRaw(ctx, stream, batch) }); err != nil {
		return nil, err
	}
	if err := b.Redis.XGroupCreateMkStream(ctx, stream, group, "0").Err(); err != nil {
		return nil, err
	}
	if err := b.counted(ctx, f, redisLease, callsLease, []string{"xreadgroup"}, times(rounds, func(i int) error {
		var err error
		ids[i], err = b.readRaw(ctx, stream)
		return err
	})); err != nil {
		return nil, err
	}
	return f, b.counted(ctx, f, redisAck, callsAck, []string{"xack"}, times(rounds, func(i int) error {
		return b.Redis.XAck(ctx, stream, group, ids[i]...).Err()
	}))
}

// times makes one function of several calls, each of which deals with a batch.
func times(n int, do func(i int) error) func() (messages int, err error) {
	return func() (int, error) {
		for i := range n {
			if err := do(i); err != nil {
				return 0, err
			}
		}
		return n * batch, nil
	}
}

// configure sets when Redis writes to the disk, and has it write its file anew, so that every run finds it short.
func (b *bench) configure(ctx context.Context, fsync string) error {
	if fsync == "" {
		return nil
	}
	if err := b.Redis.ConfigSet(ctx, "appendfsync", fsync).Err(); err != nil {
		return fmt.Errorf("set appendfsync: %w", err)
	}
	if err := b.awaitRewrite(ctx); err != nil {
		return err
	}
	if err := b.Redis.BgRewriteAOF(ctx).Err(); err != nil {
		return fmt.Errorf("rewrite the append-only file: %w", err)
	}
	return b.awaitRewrite(ctx)
}

// awaitRewrite waits until Redis does not rewrite its file. It tells nobody when it is done.
func (b *bench) awaitRewrite(ctx context.Context) error {
	tick := time.NewTicker(rewritePoll)
	defer tick.Stop()
	for {
		text, err := b.Redis.Info(ctx, "persistence").Result()
		if err != nil {
			return err
		}
		if infoField(text, "aof_rewrite_in_progress") == "0" && infoField(text, "aof_rewrite_scheduled") == "0" {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

const rewritePoll = 10 * time.Millisecond

// redisVersion is empty where it is not known.
func (b *bench) redisVersion(ctx context.Context) string {
	if b.Redis == nil {
		return ""
	}
	text, err := b.Redis.Info(ctx, "server").Result()
	if err != nil {
		return ""
	}
	return infoField(text, "redis_version")
}

// infoField is a field of what INFO answered, empty if it is not there.
func infoField(text, name string) string {
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+":"); found {
			return value
		}
	}
	return ""
}
