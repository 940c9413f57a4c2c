package redisstream_test

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// cpu is what a server's main thread has used, with the system calls.
func cpu(b testing.TB, server *redistest.Server) time.Duration {
	b.Helper()
	info := server.Info(b, "cpu")
	var total float64
	for _, name := range []string{"used_cpu_sys_main_thread", "used_cpu_user_main_thread"} {
		seconds, err := strconv.ParseFloat(info[name], 64)
		if err != nil {
			b.Fatal(err)
		}
		total += seconds
	}
	return time.Duration(total * float64(time.Second))
}

// report divides what the server's main thread used since then by the messages handled.
func report(b *testing.B, server *redistest.Server, since time.Duration, messages int) {
	b.Helper()
	used := cpu(b, server) - since
	b.ReportMetric(float64(used.Nanoseconds())/1000/float64(messages), "redis-µs/msg")
	b.ReportMetric(0, "ns/op")
}

const benchmarkSize = 256

func benchmarkMessages(n int) []subscriptions.Message {
	msgs := make([]subscriptions.Message, n)
	for i := range msgs {
		msgs[i].Data = make([]byte, benchmarkSize)
	}
	return msgs
}

// BenchmarkRedis shows what a message costs Redis, at batches of several sizes, beside a bare XADD.
func BenchmarkRedis(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("xadd/%d", n), func(b *testing.B) { benchmarkXADD(b, n) })
		b.Run(fmt.Sprintf("publish/%d", n), func(b *testing.B) { benchmarkPublish(b, n) })
		b.Run(fmt.Sprintf("lease/%d", n), func(b *testing.B) { benchmarkLease(b, n) })
		b.Run(fmt.Sprintf("ack/%d", n), func(b *testing.B) { benchmarkAck(b, n) })
		b.Run(fmt.Sprintf("all/%d", n), func(b *testing.B) { benchmarkAll(b, n, false) })
		b.Run(fmt.Sprintf("ordered/%d", n), func(b *testing.B) { benchmarkAll(b, n, true) })
	}
}

func benchmarkStore(b testing.TB) (*redistest.Server, *sub) {
	b.Helper()
	server := redistest.Start(b)
	x := attach(b, open(b, server.URL(), redisstream.Options{}), "topic")
	x.rules.Outstanding = 1 << 40
	return server, x
}

func benchmarkXADD(b *testing.B, n int) {
	server := redistest.Start(b)
	client := server.Client(b)
	value := make([]byte, benchmarkSize)
	since := cpu(b, server)
	for b.Loop() {
		_, err := client.Pipelined(b.Context(), func(p redis.Pipeliner) error {
			for range n {
				p.XAdd(b.Context(), &redis.XAddArgs{Stream: "log", ID: "*", Values: []any{"d", value}})
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	report(b, server, since, b.N*n)
}

func benchmarkPublish(b *testing.B, n int) {
	server, x := benchmarkStore(b)
	msgs := benchmarkMessages(n)
	since := cpu(b, server)
	for b.Loop() {
		if _, err := x.store.Publish(b.Context(), x.topic, msgs); err != nil {
			b.Fatal(err)
		}
	}
	report(b, server, since, b.N*n)
}

// fill publishes enough for a benchmark that takes n messages a round; it is not measured.
func (x *sub) fill(messages int) {
	x.Helper()
	for ; messages > 0; messages -= 1000 {
		_, err := x.store.Publish(x.Context(), x.topic, benchmarkMessages(min(messages, 1000)))
		x.ok(err)
	}
}

func benchmarkLease(b *testing.B, n int) {
	server, x := benchmarkStore(b)
	x.fill(b.N * n)
	since := cpu(b, server)
	b.ResetTimer()
	for range b.N {
		if got := len(x.lease(n)); got != n {
			b.Fatalf("leased %d of %d", got, n)
		}
	}
	report(b, server, since, b.N*n)
}

func benchmarkAck(b *testing.B, n int) {
	server, x := benchmarkStore(b)
	x.fill(b.N * n)
	leased := make([][]subscriptions.Delivery, b.N)
	for i := range leased {
		leased[i] = x.lease(n)
	}
	since := cpu(b, server)
	b.ResetTimer()
	for _, ds := range leased {
		x.ack(ds...)
	}
	report(b, server, since, b.N*n)
}

// benchmarkAll is a message's whole way; in order, under one of 100,000 keys.
func benchmarkAll(b *testing.B, n int, ordered bool) {
	server, x := benchmarkStore(b)
	x.rules.Ordered = ordered
	msgs := benchmarkMessages(n)
	since, key := cpu(b, server), 0
	for b.Loop() {
		for i := range msgs {
			key = (key + 1) % 100_000
			msgs[i].OrderingKey = fmt.Sprintf("key-%05d", key)
		}
		if _, err := x.store.Publish(b.Context(), x.topic, msgs); err != nil {
			b.Fatal(err)
		}
		x.ack(x.lease(n)...)
	}
	report(b, server, since, b.N*n)
}

// BenchmarkPublishers has 128 callers publish one message each at a time: what they wait for is merged.
func BenchmarkPublishers(b *testing.B) {
	server, x := benchmarkStore(b)
	msgs := benchmarkMessages(1)
	b.SetParallelism(128 / runtime.GOMAXPROCS(0))
	since := cpu(b, server)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := x.store.Publish(b.Context(), x.topic, msgs); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
	used := cpu(b, server) - since
	b.ReportMetric(float64(used.Nanoseconds())/1000/float64(b.N), "redis-µs/msg")
}
