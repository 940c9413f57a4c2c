package pusher

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"postrider/storage/memory"
	"postrider/subscriptions"
)

// bareLoops is how many bare POSTs are under way at once.
const bareLoops = 100

// receiver accepts everything and tells when it has had so many requests.
type receiver struct {
	*httptest.Server
	left atomic.Int64
	done chan struct{}
}

func newReceiver(tb testing.TB) *receiver {
	r := &receiver{done: make(chan struct{}, 1)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		w.WriteHeader(http.StatusNoContent)
		if r.left.Add(-1) == 0 {
			r.done <- struct{}{}
		}
	}))
	tb.Cleanup(r.Close)
	return r
}

// BenchmarkPush measures pushes a second from a full store in memory to a
// receiver on loopback, and sets them against bare POSTs of the same body by a
// hundred goroutines, in the same run.
func BenchmarkPush(b *testing.B) {
	for _, size := range []int{256, 4096} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			r := newReceiver(b)
			data := []byte(strings.Repeat("x", size))
			b.ReportAllocs()
			var bare, pushed spent
			for range 3 { // interleaved, since the machine is not ours alone
				bare.add(benchBare(b, r, data, b.N))
				pushed.add(benchPushed(b, r, data, b.N))
			}
			b.ReportMetric(3*float64(b.N)/bare.wall.Seconds(), "bare/s")
			b.ReportMetric(3*float64(b.N)/pushed.wall.Seconds(), "pushes/s")
			b.ReportMetric(bare.wall.Seconds()/pushed.wall.Seconds(), "ratio")
			b.ReportMetric(bare.cpu.Seconds()/pushed.cpu.Seconds(), "cpu-ratio")
		})
	}
}

// spent is what something took. The processor's time counts beside the clock's,
// since it tells more on a machine that others use too.
type spent struct{ wall, cpu time.Duration }

func (s *spent) add(o spent) { s.wall, s.cpu = s.wall+o.wall, s.cpu+o.cpu }

// clock starts to measure; what it returns tells what was spent.
func clock() func() spent {
	used := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	wall, cpu := time.Now(), used()
	return func() spent { return spent{time.Since(wall), used() - cpu} }
}

func benchBare(b *testing.B, r *receiver, data []byte, n int) spent {
	client := &http.Client{Transport: NewTransport(TransportOptions{})}
	defer client.CloseIdleConnections()
	body := envelope(&subscriptions.Subscription{}, &subscriptions.Delivery{Message: subscriptions.Message{Data: data}})
	var next atomic.Int64
	var all sync.WaitGroup
	r.left.Store(int64(n))
	elapsed := clock()
	for range bareLoops {
		all.Go(func() {
			for next.Add(1) <= int64(n) {
				resp, err := client.Post(r.URL, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	all.Wait()
	<-r.done
	return elapsed()
}

func benchPushed(b *testing.B, r *receiver, data []byte, n int) spent {
	service := subscriptions.NewService(memory.New(memory.Options{}), subscriptions.Options{})
	name := subscriptions.SubscriptionName{Project: "p", ID: "sub"}
	if _, err := service.CreateTopic(b.Context(), subscriptions.Topic{Name: testTopic}); err != nil {
		b.Fatal(err)
	}
	sub, err := service.CreateSubscription(b.Context(), subscriptions.Subscription{
		Name: name, Topic: testTopic, Push: &subscriptions.PushConfig{Endpoint: r.URL},
	})
	if err != nil {
		b.Fatal(err)
	}
	for left := n; left > 0; left -= min(left, 1000) {
		msgs := make([]subscriptions.Message, min(left, 1000))
		for i := range msgs {
			msgs[i].Data = data
		}
		if _, err := service.Publish(b.Context(), testTopic, msgs); err != nil {
			b.Fatal(err)
		}
	}
	fetch, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	manager := New(&ownership{Service: service, owned: []subscriptions.Subscription{sub}}, Options{})
	r.left.Store(int64(n))
	elapsed := clock()
	running.Go(func() { _ = manager.Run(fetch, context.Background()) })
	<-r.done
	took := elapsed()
	stop()
	running.Wait()
	return took
}
