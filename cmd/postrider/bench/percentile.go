package bench

import (
	"math"
	"slices"
)

// Percentile is the least value that p percent of the values do not exceed, 50 being the median of an odd number of them;
// NaN without values.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
