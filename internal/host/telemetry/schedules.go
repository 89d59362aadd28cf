package telemetry

import (
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

func newSchedules(b *builder) *Schedules {
	s := &Schedules{
		fired: b.counter("tasker.schedules.firings", "{firing}",
			"Tasks that schedules submitted, by kind: time, missed, run, backfill."),
		skipped: b.counter("tasker.schedules.skipped", "{time}",
			"Times of schedules that did not fire, by reason: missed, overlap, paused."),
		refused: b.counter("tasker.schedules.refused", "{firing}", "Firings whose tasks were refused."),
		late: b.counter("tasker.schedules.late", "ms",
			"Sum of the times from those of firings to the submission of their tasks, jitter included."),
	}
	for _, kind := range []string{"time", "missed", "run", "backfill"} {
		add(s.fired, 0, attribute.String("kind", kind))
	}
	for _, reason := range []string{"missed", "overlap", "paused"} {
		s.Skipped(reason, 0)
	}
	add(s.refused, 0)
	add(s.late, 0)
	return s
}

// Fired counts a submitted task.
func (s *Schedules) Fired(kind string, late time.Duration) {
	add(s.fired, 1, attribute.String("kind", kind))
	if kind == "time" { // for others the delay is meaningless
		add(s.late, max(0, late.Milliseconds()))
	}
}

// Refused counts a firing whose task was refused.
func (s *Schedules) Refused() { add(s.refused, 1) }

// Skipped counts skipped times.
func (s *Schedules) Skipped(reason string, times int) {
	add(s.skipped, int64(times), whyKey.String(reason))
}
