package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options say what is measured, and for how long.
type Options struct {
	// Server is the URL of the server.
	Server string
	// Project is where the bench makes topics and subscriptions of its own. It removes them again.
	Project string
	// Floor is the URL of a process that serves NewFloor. The server must be able to reach it, too: it is the push endpoint.
	Floor string
	// Redis is where the server keeps its messages. Without it, what needs it is left out.
	Redis redis.UniversalClient
	// Fsync are the values of Redis's appendfsync to measure at, in turns. They are set by CONFIG SET, and Redis's file is
	// rewritten between the runs, so this is for a Redis that serves nobody else. Empty leaves Redis alone.
	Fsync []string
	// ServerCPU and FloorCPU are what their processes have used so far; nil if that is not known.
	ServerCPU, FloorCPU func() (time.Duration, error)
	// Profile begins a profile of the server under a name, and returns what ends it; nil if none is wanted.
	Profile func(ctx context.Context, name string) (end func() error, err error)
	// Runs is how often everything is measured.
	Runs int
	// Time bounds one measurement, and so does Messages.
	Time     time.Duration
	Messages int
	// Progress is told what is being measured; nil if nobody wants to know.
	Progress func(string)
}

// Run measures. When ctx ends early, or something fails, the report holds what was measured until then.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	b, err := newBench(o)
	if err != nil {
		return Report{}, err
	}
	defer b.close()
	report := Report{Of: o.Runs, Redis: b.redisVersion(ctx)}
	settings := o.Fsync
	if len(settings) == 0 {
		settings = []string{""}
	}
	for _, fsync := range settings {
		for _, row := range layout() {
			row.Fsync = fsync
			if fsync == fsyncAlways {
				row.Target = Target{by: row.Target.by}
			}
			report.Rows = append(report.Rows, row)
		}
	}
	for run := range o.Runs {
		for _, fsync := range settings {
			if err := b.configure(ctx, fsync); err != nil {
				return report, err
			}
			if err := b.run(ctx, run, fsync, report.Rows); err != nil {
				return report, err
			}
		}
		report.Runs++
	}
	return report, nil
}

// fsyncAlways is the setting at which nothing is demanded: a bare router does not wait for the disk.
const fsyncAlways = "always"

// measurement fills some rows: once with what the floor does, once with what the server does.
type measurement struct {
	name          string
	floor, server func(context.Context) (figures, error)
}

// bench is a bench under way.
type bench struct {
	Options
	server, bare *client
	bodies       bodies
}

func newBench(o Options) (*bench, error) {
	bodies, err := newBodies()
	if err != nil {
		return nil, err
	}
	b := &bench{Options: o, bodies: bodies}
	if b.server, err = newClient(o.Server); err != nil {
		return nil, err
	}
	if b.bare, err = newClient(o.Floor); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *bench) close() {
	b.server.http.CloseIdleConnections()
	b.bare.http.CloseIdleConnections()
}

// measurements are all that can be taken with what is known of the server.
func (b *bench) measurements() []measurement {
	all := []measurement{
		{"single publishes", b.bareSingles, b.singles},
		{"batches", b.bareBatches, b.batches},
		{"pulls", b.barePulls, b.pulls},
		{"pushes", b.barePushes, b.pushes},
		{"latency", b.bareLatency, b.latency},
	}
	if b.Redis != nil {
		all = append(all, measurement{"Redis", b.rawRedis, b.redis})
	}
	return all
}

// run measures everything once and adds a pair to each row of this setting. Who comes first changes from run to run, so that
// neither side always meets the machine as the other left it.
func (b *bench) run(ctx context.Context, run int, fsync string, rows []Row) error {
	for _, m := range b.measurements() {
		sides := []func(context.Context) (figures, error){m.floor, m.server}
		var got [2]figures
		for i := range sides {
			side := (i + run) % 2
			b.Progress(b.describe(run, fsync, m.name, side == 0))
			var err error
			if got[side], err = sides[side](ctx); err != nil {
				return errors.Join(context.Cause(ctx), fmt.Errorf("measure %s: %w", m.name, err))
			}
		}
		for i := range rows {
			if row := &rows[i]; row.Fsync == fsync {
				row.add(got[0], got[1])
			}
		}
	}
	return nil
}

func (b *bench) describe(run int, fsync, name string, floor bool) string {
	text := fmt.Sprintf("run %d of %d: %s", run+1, b.Runs, name)
	if fsync != "" {
		text += ", fsync " + fsync
	}
	if floor {
		text += ", the floor"
	}
	return text
}

// add appends a pair if the server's figure is there.
func (r *Row) add(floor, server figures) {
	value, ok := server[r.key]
	if !ok || math.IsNaN(value) {
		return
	}
	pair := Pair{Server: value, Floor: math.NaN()}
	if least, ok := floor[r.key]; ok {
		pair.Floor = least
	}
	r.Pairs = append(r.Pairs, pair)
}
