package telemetry

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// IntakeFailures are task failures that wait to be written to their queues.
type IntakeFailures struct {
	Waiting int       // counted up to a limit
	Oldest  time.Time // zero without any
}

// TookIn counts the messages of an intake batch: new tasks, known messages, and letters. It does not block.
func (t *Telemetry) TookIn(namespace, source string, tasks, known, letters int) {
	t.intake.add(name{namespace, source}, map[string]int{"task": tasks, "known": known, "letter": letters})
}

// WatchIntakeFailures shows the results of count in the gauges of waiting failures. Without a result they are
// absent.
func (t *Telemetry) WatchIntakeFailures(count func(ctx context.Context) (*IntakeFailures, error)) {
	t.intake.failures.watch(count)
}

type intakeMetrics struct {
	messages        metric.Int64Counter
	waiting, oldest metric.Float64ObservableGauge
	failures        remembered[*IntakeFailures]

	names names
}

// names bounds the sources with their own numbers: beyond maxNames they share "other". The zero value is ready and
// safe for concurrent use.
type names struct {
	mu   sync.Mutex
	seen map[name]bool
}

func (n *names) bound(of name) name {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[name]bool{}
	}
	if !n.seen[of] && len(n.seen) >= maxNames {
		of = name{others, others}
	}
	n.seen[of] = true
	return of
}

func (n *names) all() []name {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.seen))
}

func (i *intakeMetrics) register(b *builder) {
	i.messages = b.counter("tasker.intake.messages", "{message}",
		"Messages of sources with an intake, by what they became.")
	i.waiting = b.gauge("tasker.intake.failures_waiting", "{failure}",
		"Failures of tasks that are still to be written to a queue, counted up to 10,000.")
	i.oldest = b.gauge("tasker.intake.oldest_failure", "s", "Age of the oldest of them; 0 without any.")
	b.observe(i.observe)
}

func (i *intakeMetrics) add(of name, outcomes map[string]int) {
	of = i.names.bound(of)
	for outcome, n := range outcomes {
		if n > 0 {
			add(i.messages, int64(n), namespaceKey.String(of.namespace), sourceKey.String(of.name), outcomeKey.String(outcome))
		}
	}
}

func (i *intakeMetrics) observe(ctx context.Context, o metric.Observer) error {
	f, _ := i.failures.get(ctx)
	if f == nil {
		return nil
	}
	o.ObserveFloat64(i.waiting, float64(f.Waiting))
	age := 0.0
	if !f.Oldest.IsZero() {
		age = max(time.Since(f.Oldest).Seconds(), 0)
	}
	o.ObserveFloat64(i.oldest, age)
	return nil
}
