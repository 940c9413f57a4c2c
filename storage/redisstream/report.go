package redisstream

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"postrider/subscriptions"
)

// Report implements subscriptions.Surveys.
func (s *Store) Report(ctx context.Context) (subscriptions.StoreReport, error) {
	report := subscriptions.StoreReport{Kind: "redis"}
	var mu sync.Mutex
	err := s.eachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		start := time.Now()
		info, err := infoOf(ctx, node)
		if err != nil {
			return err
		}
		n := subscriptions.NodeReport{
			Address: node.Options().Addr, Latency: time.Since(start),
			Persistent: info["aof_enabled"] == "1" && info["aof_last_write_status"] != "err",
		}
		n.Used, _ = strconv.ParseInt(info["used_memory"], 10, 64) // zero where it does not tell
		n.Max, _ = strconv.ParseInt(info["maxmemory"], 10, 64)
		mu.Lock()
		defer mu.Unlock()
		report.Nodes = append(report.Nodes, n)
		return nil
	})
	return report, err
}
