package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/taskerhq/tasker/internal/engine"
)

// caseMetrics are the metrics of cases and staleness detection. The counters of alert rules have no labels: a rule
// compares each series separately, and parts of a rate would never reach its threshold. The registry reads last and
// failures, gauges of the last cycle.
type caseMetrics struct {
	opened       metric.Int64Counter
	occurred     metric.Int64Counter
	inQueue      metric.Float64Histogram
	found        metric.Int64Counter
	transitioned metric.Int64Counter
	runs         metric.Int64Counter
	failed       metric.Int64Counter
	took         metric.Float64Histogram
	last         *lastCycle
	failures     *lastAnalysis
}

func newCaseMetrics(b *builder, registry *prometheus.Registry) *caseMetrics {
	c := &caseMetrics{
		opened: b.counter("tasker.dlq.entries_created.total", "{entry}", "Cases opened."),
		occurred: b.counter("tasker.dlq.occurrences.total", "{occurrence}",
			"Findings of stuck tasks: a new case, or a further occurrence in a pending one."),
		inQueue: b.histogram("tasker.dlq.time_in_queue", "h", "Time from the opening of a case to its resolution.",
			caseBounds),
		found:        b.counter("tasker.staleness.tasks_detected.total", "{task}", "Stale tasks found."),
		transitioned: b.counter("tasker.staleness.tasks_transitioned_to_error.total", "{task}", "Stale tasks set to error."),
		runs:         b.counter("tasker.staleness.detection_runs.total", "{run}", "Detection cycles."),
		failed:       b.counter("tasker.staleness.detection_failures.total", "{run}", "Detection cycles that failed."),
		took: b.histogram("tasker.staleness.detection.duration", "ms", "Duration of detection cycles.",
			detectionBounds),
		last:     &lastCycle{},
		failures: &lastAnalysis{},
	}
	for _, counter := range []metric.Int64Counter{c.found, c.transitioned, c.runs, c.failed} {
		add(counter, 0)
	}
	for _, reason := range engine.CaseReasons {
		add(c.opened, 0, reasonKey.String(reason))
	}
	b.note(registry.Register(c.failures))
	b.note(registry.Register(c.last))
	return c
}

const (
	reasonKey     = attribute.Key("dlq_reason")
	causeKey      = attribute.Key("cause")
	resolutionKey = attribute.Key("resolution_status")
)

// add runs for every transaction; most change no case.
func (c *caseMetrics) add(commit *engine.Commit) {
	if n := int64(commit.Expired); n > 0 { // stale as a whole, which no cycle finds
		add(c.found, n)
		add(c.transitioned, n)
	}
	for _, o := range commit.Opened {
		add(c.opened, 1, reasonKey.String(o.Reason))
	}
	for _, list := range [][]engine.CaseOpened{commit.Opened, commit.Recurred} {
		for _, o := range list {
			add(c.occurred, 1, reasonKey.String(o.Reason), causeKey.String(string(o.Cause)), classKey.String(string(o.Class)))
		}
	}
	for _, r := range commit.Resolved {
		c.inQueue.Record(context.Background(), max(commit.At.Sub(r.OpenedAt), 0).Hours(),
			metric.WithAttributes(reasonKey.String(r.Reason), resolutionKey.String(r.Status)))
	}
}

// detected records every cycle, also failed ones and dry runs, which find tasks.
func (c *caseMetrics) detected(d engine.Detection) {
	add(c.runs, 1)
	if d.Err != nil {
		add(c.failed, 1)
	}
	add(c.found, int64(d.Detected))
	add(c.transitioned, int64(d.Transitioned))
	ms := float64(d.Took) / float64(time.Millisecond)
	c.took.Record(context.Background(), ms)
	c.last.set(ms, time.Now().Add(2*d.Interval+time.Minute))
}

// lastCycle is the duration of the last cycle in milliseconds, under the plain name of the alert rule: the
// histogram of that name has only buckets, sum and count in Prometheus. It expires after two intervals and a
// minute, because another process may run the cycles.
type lastCycle struct {
	mu      sync.Mutex
	ms      float64
	expires time.Time
}

var lastCycleDesc = prometheus.NewDesc("tasker_staleness_detection_duration",
	"Duration of the last detection cycle of this process, in milliseconds; absent if it runs none.", nil, nil)

func (l *lastCycle) set(ms float64, expires time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ms, l.expires = ms, expires
}

func (l *lastCycle) Describe(ch chan<- *prometheus.Desc) { ch <- lastCycleDesc }

func (l *lastCycle) Collect(ch chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.expires) {
		ch <- prometheus.MustNewConstMetric(lastCycleDesc, prometheus.GaugeValue, l.ms)
	}
}
