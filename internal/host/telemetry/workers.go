package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/metric"

	"github.com/taskerhq/tasker/internal/engine"
)

// workerMetrics count health probes and circuit breakers on the node that ran the probe or recorded the attempt, so
// a sum over all nodes is correct.
type workerMetrics struct {
	probes metric.Int64Counter
	opened metric.Int64Counter
}

func newWorkerMetrics(b *builder) *workerMetrics {
	w := &workerMetrics{
		probes: b.counter("tasker.worker.probes", "{probe}", "Health probes of workers, by outcome: good, failed."),
		opened: b.counter("tasker.worker.breakers.opened", "{breaker}",
			"Circuit breakers of workers that opened, including again after a half-open period."),
	}
	w.probed(0, 0)
	add(w.opened, 0)
	return w
}

func (w *workerMetrics) probed(good, failed int) {
	add(w.probes, int64(good), outcomeKey.String("good"))
	add(w.probes, int64(failed), outcomeKey.String("failed"))
}

// Probed implements engine.Observer.
func (t *Telemetry) Probed(good, failed int) { t.workers.probed(good, failed) }

// addBreakers counts and logs changed circuit breakers. Only the recording node logs, so a change has one line in
// the cluster.
func (t *Telemetry) addBreakers(c *engine.Commit) {
	for _, b := range c.Turned {
		if !b.Open {
			t.log.LogAttrs(context.Background(), slog.LevelInfo, "worker gets steps again", slog.String("worker", b.Name),
				slog.String("worker_id", b.Worker.String()))
			continue
		}
		add(t.workers.opened, 1)
		t.log.LogAttrs(context.Background(), slog.LevelWarn, "worker gets no steps for a while: its attempts keep failing",
			slog.String("worker", b.Name), slog.String("worker_id", b.Worker.String()))
	}
}
