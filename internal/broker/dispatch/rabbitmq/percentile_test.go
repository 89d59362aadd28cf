package rabbitmq_test

import (
	"slices"
	"time"
)

// percentile returns the smallest time that p percent of the times do not exceed.
func percentile(times []time.Duration, p int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max((len(sorted)*p+99)/100-1, 0)]
}
