package memory

import (
	"testing"
	"time"

	"postrider/subscriptions"
)

// BenchmarkRound publishes, leases and acks a batch, behind as many outstanding messages as a subscription may have.
func BenchmarkRound(b *testing.B) {
	for load, outstanding := range map[string]int{"idle": 0, "full": subscriptions.DefaultOutstanding - batch} {
		b.Run(load, func(b *testing.B) {
			s := New(Options{})
			check(b, s.OpenTopic(b.Context(), topic))
			check(b, s.Attach(b.Context(), ref, name))
			for range outstanding / batch {
				publishAndLease(b, s)
			}
			for b.Loop() {
				check(b, s.Acknowledge(b.Context(), ref, publishAndLease(b, s)))
			}
			b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "msgs/s")
		})
	}
}

const batch = 100

func publishAndLease(b *testing.B, s *Store) []subscriptions.Receipt {
	b.Helper()
	msgs := make([]subscriptions.Message, batch)
	for i := range msgs {
		msgs[i].Data = make([]byte, 256)
	}
	_, err := s.Publish(b.Context(), topic, msgs)
	check(b, err)
	result, err := s.Lease(b.Context(), subscriptions.LeaseRequest{
		Ref: ref, Max: batch, MaxBytes: 1 << 20, Deadline: time.Hour,
		Rules: subscriptions.Rules{Retention: time.Hour, Outstanding: subscriptions.DefaultOutstanding},
	})
	check(b, err)
	var receipts []subscriptions.Receipt
	for _, d := range result.Deliveries {
		receipts = append(receipts, d.Receipt())
	}
	return receipts
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
