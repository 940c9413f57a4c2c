package bench

import (
	"fmt"
	"math"
	"strconv"
)

// Row is one line of the table: what the server did beside its floor.
type Row struct {
	Name  string // what was measured
	Floor string // what the floor is
	Unit  Unit
	// Target is what should hold; the zero value if nothing is demanded.
	Target Target
	// Fsync is the setting of Redis's appendfsync, empty if it is not known.
	Fsync string
	// Pairs are the figures, one pair a run.
	Pairs []Pair

	key key
}

// Pair is what one run measured.
type Pair struct{ Server, Floor float64 }

// Unit is what the figures of a row are.
type Unit string

// The units. Of the first more is better, of the others less.
const (
	PerSecond Unit = "/s"
	Micros    Unit = "µs"
	Millis    Unit = "ms"
	Calls     Unit = "calls"
)

// Target is a bound on how a row compares with its floor. The zero value demands nothing.
type Target struct {
	sign  string
	bound float64
	by    comparison
}

// comparison makes one number of a pair.
type comparison int

const (
	byRatio comparison = iota
	byDifference
)

// RatioAtLeast demands so large a part of what the floor does.
func RatioAtLeast(bound float64) Target { return Target{">=", bound, byRatio} }

// RatioAtMost allows so many times what the floor takes.
func RatioAtMost(bound float64) Target { return Target{"<=", bound, byRatio} }

// MoreAtMost allows so much on top of what the floor takes, in the unit of the row.
func MoreAtMost(bound float64) Target { return Target{"<=", bound, byDifference} }

// of compares one pair.
func (c comparison) of(p Pair) float64 {
	if c == byDifference {
		return p.Server - p.Floor
	}
	return p.Server / p.Floor
}

func (c comparison) format(v float64) string {
	if c == byDifference {
		return fmt.Sprintf("%+.2f", v)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// text is the target for people, "-" without one.
func (t Target) text() string {
	if t.sign == "" {
		return "-"
	}
	return t.sign + " " + t.by.format(t.bound)
}

// holds tells whether a comparison is within the target, as text: "-" without one.
func (t Target) holds(v float64) string {
	switch {
	case t.sign == "" || math.IsNaN(v):
		return "-"
	case t.sign == ">=" && v >= t.bound, t.sign == "<=" && v <= t.bound:
		return "yes"
	}
	return "no"
}

// Compared is the median of the comparisons of the single runs, with the least and the greatest of them: a ratio, or a
// difference if that is what the target is about. All are NaN without figures.
func (r Row) Compared() (middle, least, most float64) {
	all := make([]float64, len(r.Pairs))
	for i, p := range r.Pairs {
		all[i] = r.Target.by.of(p)
	}
	return Percentile(all, 50), Percentile(all, 0), Percentile(all, 100)
}

// Medians are those of both sides, each by itself.
func (r Row) Medians() Pair {
	server, floor := make([]float64, len(r.Pairs)), make([]float64, len(r.Pairs))
	for i, p := range r.Pairs {
		server[i], floor[i] = p.Server, p.Floor
	}
	return Pair{Percentile(server, 50), Percentile(floor, 50)}
}

// key names a row within its measurement.
type key string

// figures are what one side of a measurement gives for the rows that it feeds.
type figures map[key]float64

const (
	singles      key = "singles"
	batches      key = "batches"
	pulls        key = "pulls"
	pushes       key = "pushes"
	median       key = "latency p50"
	tail         key = "latency p99"
	redisPublish key = "redis publish"
	redisLease   key = "redis lease"
	redisAck     key = "redis ack"
	redisCPU     key = "redis cpu"
	redisPush    key = "redis push"
	callsPublish key = "calls publish"
	callsLease   key = "calls lease"
	callsAck     key = "calls ack"
	callsPush    key = "calls push"
	cpuSingle    key = "cpu single"
	cpuBatch     key = "cpu batch"
	cpuPull      key = "cpu pull"
	cpuPush      key = "cpu push"
)

// layout is the table, without figures.
func layout() []Row {
	latency := fmt.Sprintf("publish to push at %d/s, ", pace)
	return []Row{
		{key: singles, Name: "single publishes, 64 connections", Floor: "bare router", Unit: PerSecond, Target: RatioAtLeast(0.6)},
		{key: batches, Name: "messages in batches of 100", Floor: "raw XADD, pipelined", Unit: PerSecond, Target: RatioAtLeast(0.4)},
		{key: pulls, Name: "pull + ack in batches of 100", Floor: "raw XREADGROUP + XACK", Unit: PerSecond},
		{key: pushes, Name: "pushes to one endpoint", Floor: "bare POST loop", Unit: PerSecond, Target: RatioAtLeast(0.6)},
		{key: median, Name: latency + "p50", Floor: "sum of floors' p50", Unit: Millis, Target: Target{by: byDifference}},
		{key: tail, Name: latency + "p99", Floor: "sum of floors' p99", Unit: Millis, Target: MoreAtMost(3)},
		{key: redisPublish, Name: "Redis time a message, publish", Floor: "XADD", Unit: Micros, Target: RatioAtMost(2.5)},
		{key: redisCPU, Name: "Redis CPU a message, publish", Floor: "XADD, pipelined", Unit: Micros, Target: RatioAtMost(2.5)},
		{key: redisLease, Name: "Redis time a message, lease", Floor: "XREADGROUP", Unit: Micros},
		{key: redisAck, Name: "Redis time a message, ack", Floor: "XACK", Unit: Micros},
		{key: redisPush, Name: "Redis time a push: lease, ack", Floor: "XREADGROUP + XACK", Unit: Micros},
		{key: callsPublish, Name: "Redis calls a message, publish", Floor: "XADD", Unit: Calls},
		{key: callsLease, Name: "Redis calls a message, lease", Floor: "XREADGROUP", Unit: Calls},
		{key: callsAck, Name: "Redis calls a message, ack", Floor: "XACK", Unit: Calls},
		{key: callsPush, Name: "Redis calls a push", Floor: "XREADGROUP + XACK", Unit: Calls},
		{key: cpuSingle, Name: "server CPU, single publish", Floor: "bare router", Unit: Micros},
		{key: cpuBatch, Name: "server CPU a message, batches", Floor: "bare router", Unit: Micros},
		{key: cpuPull, Name: "server CPU a message, pull + ack", Floor: "bare router", Unit: Micros},
		{key: cpuPush, Name: "server CPU a push", Floor: "bare POST loop", Unit: Micros},
	}
}
