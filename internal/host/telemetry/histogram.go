package telemetry

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Upper bounds of buckets.
var (
	// waits and runs, in seconds: 1 ms to 1 h.
	secondsBounds = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900,
		3600}
	// whole tasks, in seconds: 10 ms to a week.
	taskBounds = []float64{0.01, 0.05, 0.25, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600}
	// transactions of the store, in seconds.
	storeBounds = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5}
	// requests in seconds, including long polls.
	requestBounds = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 60}
	// detection cycles, in milliseconds.
	detectionBounds = []float64{1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000}
	// cases, in hours: 6 minutes to 30 days.
	caseBounds = []float64{0.1, 0.25, 0.5, 1, 2, 4, 8, 12, 24, 48, 72, 168, 336, 720}
)

// histogram counts durations by bucket. The lock of the tally protects it. The SDK's histogram would look up labels
// for each value.
type histogram struct {
	bounds []float64
	counts []uint64 // one more than bounds
	sum    float64
	count  uint64
}

// newHistogram keeps bounds, which must be sorted.
func newHistogram(bounds []float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// observe counts a negative duration, the difference of two clocks, as 0. For so few bounds a linear search is
// faster.
func (h *histogram) observe(d time.Duration) {
	v := max(d.Seconds(), 0)
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i]++
	h.sum += v
	h.count++
}

// point copies the histogram for a reader; it shares the immutable bounds.
func (h *histogram) point(set attribute.Set, since, now time.Time) metricdata.HistogramDataPoint[float64] {
	return metricdata.HistogramDataPoint[float64]{Attributes: set, StartTime: since, Time: now,
		Count: h.count, Sum: h.sum, Bounds: h.bounds, BucketCounts: slices.Clone(h.counts)}
}
