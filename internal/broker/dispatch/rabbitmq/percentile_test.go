package rabbitmq_test

import (
	"slices"
	"time"
)

func percentile(times []time.Duration, p int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max((len(sorted)*p+99)/100-1, 0)]
}
