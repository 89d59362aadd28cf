package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Schedules has the metrics of schedules. Its methods are safe for concurrent use and do not block.
type Schedules struct {
	fired, skipped, refused, late metric.Int64Counter
}

// Schedules returns the metrics of schedules.
func (t *Telemetry) Schedules() *Schedules { return t.schedules }

func newSchedules(m metric.Meter) (*Schedules, error) {
	b := &builder{meter: m}
	s := &Schedules{
		fired: b.counter("tasker.schedules.firings", "{firing}",
			"Tasks that schedules submitted, by kind: time, missed, run, backfill."),
		skipped: b.counter("tasker.schedules.skipped", "{time}",
			"Times of schedules that did not fire, by reason: missed, overlap, paused."),
		refused: b.counter("tasker.schedules.refused", "{firing}", "Firings whose tasks were refused."),
		late: b.counter("tasker.schedules.late", "ms",
			"Sum of the times from those of firings to the submission of their tasks, jitter included."),
	}
	if b.err != nil {
		return nil, b.err
	}
	for _, kind := range []string{"time", "missed", "run", "backfill"} { // so that rates see the first increase
		s.fired.Add(context.Background(), 0, metric.WithAttributes(attribute.String("kind", kind)))
	}
	for _, reason := range []string{"missed", "overlap", "paused"} {
		s.Skipped(reason, 0)
	}
	s.refused.Add(context.Background(), 0)
	s.late.Add(context.Background(), 0)
	return s, nil
}

// Fired counts a submitted task.
func (s *Schedules) Fired(kind string, late time.Duration) {
	s.fired.Add(context.Background(), 1, metric.WithAttributes(attribute.String("kind", kind)))
	if kind == "time" { // for others the delay is meaningless
		s.late.Add(context.Background(), max(0, late.Milliseconds()))
	}
}

// Refused counts a firing whose task was refused.
func (s *Schedules) Refused() { s.refused.Add(context.Background(), 1) }

// Skipped counts skipped times.
func (s *Schedules) Skipped(reason string, times int) {
	s.skipped.Add(context.Background(), int64(times), metric.WithAttributes(attribute.String("reason", reason)))
}
