package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/metric"

	"github.com/taskerhq/tasker/internal/engine"
)

// workerMetrics are those of health probes and circuit breakers, on the node that
// ran the probe, or heard of the attempt that turned the breaker.
type workerMetrics struct {
	probes metric.Int64Counter
	opened metric.Int64Counter
}

func newWorkerMetrics(m metric.Meter) (*workerMetrics, error) {
	b := &builder{meter: m}
	w := &workerMetrics{
		probes: b.counter("tasker.worker.probes", "{probe}", "Workers asked how they are, by outcome: good, failed."),
		opened: b.counter("tasker.worker.breakers.opened", "{breaker}",
			"Circuit breakers of workers that opened, also again after a half-open period."),
	}
	if b.err != nil {
		return nil, b.err
	}
	w.probed(0, 0) // a rate needs to see a counter rise from 0
	w.opened.Add(context.Background(), 0)
	return w, nil
}

func (w *workerMetrics) probed(good, failed int) {
	ctx := context.Background()
	w.probes.Add(ctx, int64(good), metric.WithAttributes(outcomeKey.String("good")))
	w.probes.Add(ctx, int64(failed), metric.WithAttributes(outcomeKey.String("failed")))
}

// Probed implements engine.Observer.
func (t *Telemetry) Probed(good, failed int) { t.workers.probed(good, failed) }

// addBreakers counts and tells which circuit breakers a transaction turned.
func (t *Telemetry) addBreakers(c *engine.Commit) {
	for _, b := range c.Turned {
		if !b.Open {
			t.log.LogAttrs(context.Background(), slog.LevelInfo, "worker gets work again", slog.String("worker", b.Name),
				slog.String("worker_id", b.Worker.String()))
			continue
		}
		t.workers.opened.Add(context.Background(), 1)
		t.log.LogAttrs(context.Background(), slog.LevelWarn, "worker fails all the time and gets no work for a while",
			slog.String("worker", b.Name),
			slog.String("worker_id", b.Worker.String()))
	}
}
