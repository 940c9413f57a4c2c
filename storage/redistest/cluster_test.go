package redistest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestClusterServesEverySlot(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d nodes", nodes), func(t *testing.T) {
			t.Parallel()
			c := Cluster(t, nodes)
			client := c.Client(t)
			for i := range 200 {
				if err := client.Set(t.Context(), fmt.Sprint(i), i, 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
			var used atomic.Int32
			err := client.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
				if node.DBSize(ctx).Val() > 0 {
					used.Add(1)
				}
				return nil
			})
			if err != nil || int(used.Load()) != nodes {
				t.Errorf("%d of %d nodes hold keys (%v)", used.Load(), nodes, err)
			}
		})
	}
}
