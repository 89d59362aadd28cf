package telemetry

import (
	"context"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

const (
	namespaceKey = attribute.Key("namespace")
	taskKey      = attribute.Key("task")
	handlerKey   = attribute.Key("handler")
	outcomeKey   = attribute.Key("outcome")
	stateKey     = attribute.Key("state")
	verbKey      = attribute.Key("verb")
	codeKey      = attribute.Key("code")
	actKey       = attribute.Key("act")
	healthKey    = attribute.Key("health_status")
)

// Produce implements metric.Producer. It holds the lock while it copies, some microseconds per series.
func (t *tally) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &producer{since: t.since, now: time.Now()}
	t.produceTasks(p)
	t.produceSteps(p)
	t.produceStore(p)
	t.produceLevels(p)
	t.produceMoves(p)
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: scope}, Metrics: p.metrics}}, nil
}

func (t *tally) produceTasks(p *producer) {
	submitted := p.counter("tasker.tasks.submitted", "{task}", "Tasks stored.")
	settled := p.counter("tasker.tasks.settled", "{task}",
		"Tasks that became terminal or failed. A repaired task settles again.")
	reopened := p.counter("tasker.tasks.reopened", "{task}", "Tasks that a repair took out of error.")
	duration := p.histogram("tasker.task.duration", "Time from the submission of a task to its settlement.")
	for _, n := range t.tasks.list {
		submitted.add(n.submitted, n.labels)
		reopened.add(n.reopened, n.labels)
		for i, count := range n.settled {
			settled.add(count, n.labels, stateKey.String(string(ends[i])))
		}
		duration.show(n.duration, n.labels)
	}
	p.done(submitted, settled, reopened, duration)
}

func (t *tally) produceSteps(p *producer) {
	started := p.counter("tasker.attempts.started", "{attempt}", "Started attempts of steps.")
	ended := p.counter("tasker.attempts.ended", "{attempt}", "Ended attempts of steps, by outcome.")
	retried := p.counter("tasker.steps.retried", "{step}", "Failed attempts after which the step is retried.")
	exhausted := p.counter("tasker.steps.exhausted", "{step}", "Failed attempts that left the step in error.")
	wait := p.histogram("tasker.step.wait", "Time from ready to claimed by a worker.")
	assigned := p.histogram("tasker.step.assigned", "Time from claimed by a worker to the start of the attempt.")
	run := p.histogram("tasker.attempt.duration", "Time from the start of an attempt to its end.")
	for _, n := range t.routes.list {
		started.add(n.started, n.labels)
		for i, count := range n.ended {
			ended.add(count, n.labels, outcomeKey.String(string(outcomes[i])))
		}
		retried.add(n.retried, n.labels)
		exhausted.add(n.exhausted, n.labels)
		wait.show(n.wait, n.labels)
		assigned.show(n.assigned, n.labels)
		run.show(n.run, n.labels)
	}
	refused := p.counter("tasker.results.refused", "{result}",
		"Results and leases refused because of a stale token.")
	refused.add(t.refused, nil)
	p.done(started, ended, retried, exhausted, wait, assigned, run, refused)
}

func (t *tally) produceStore(p *producer) {
	took := p.histogram("tasker.store.write.duration",
		"Duration of committed write transactions, including the wait for the store.")
	failed := p.counter("tasker.store.writes.failed", "{transaction}", "Write transactions that were rolled back: the "+
		"store failed (unavailable, internal), or the request was refused.")
	repeated := p.counter("tasker.store.writes.repeated", "{transaction}",
		"Write transactions that ran again, mostly after a conflict with another transaction.")
	for _, verb := range slices.Sorted(maps.Keys(t.verbs)) {
		n := t.verbs[verb]
		took.show(n.took, n.labels)
		repeated.add(n.repeated, n.labels)
		for _, code := range slices.Sorted(maps.Keys(n.failed)) {
			failed.add(n.failed[code], n.labels, codeKey.String(string(code)))
		}
	}
	acts := p.counter("tasker.operator.acts", "{act}", "Acts of operators, by kind.")
	for _, kind := range slices.Sorted(maps.Keys(t.acts)) {
		acts.add(t.acts[kind], []attribute.KeyValue{actKey.String(kind)})
	}
	p.done(took, failed, repeated, acts)
}

// producer collects metrics for one read, all with one time.
type producer struct {
	since, now time.Time
	metrics    []metricdata.Metrics
}

type family struct {
	p                       *producer
	name, unit, description string
	counts                  []metricdata.DataPoint[int64]
	histograms              []metricdata.HistogramDataPoint[float64]
}

// description is the help text at /metrics; docs/reference/metrics.md has the same metric.
func (p *producer) counter(name, unit, description string) *family {
	return &family{p: p, name: name, unit: unit, description: description}
}

func (p *producer) histogram(name, description string) *family {
	return p.counter(name, "s", description)
}

// add adds a point, also a 0: a rate is the difference to the first sample. It does not change labels.
func (f *family) add(v int64, labels []attribute.KeyValue, more ...attribute.KeyValue) {
	set := attribute.NewSet(slices.Concat(labels, more)...)
	f.counts = append(f.counts, metricdata.DataPoint[int64]{Attributes: set, StartTime: f.p.since, Time: f.p.now,
		Value: v})
}

func (f *family) show(h *histogram, labels []attribute.KeyValue) {
	f.histograms = append(f.histograms, h.point(attribute.NewSet(labels...), f.p.since, f.p.now))
}

// done omits families without points.
func (p *producer) done(families ...*family) {
	for _, f := range families {
		m := metricdata.Metrics{Name: f.name, Unit: f.unit, Description: f.description}
		switch {
		case len(f.counts) > 0:
			m.Data = metricdata.Sum[int64]{DataPoints: f.counts, Temporality: metricdata.CumulativeTemporality,
				IsMonotonic: true}
		case len(f.histograms) > 0:
			m.Data = metricdata.Histogram[float64]{DataPoints: f.histograms, Temporality: metricdata.CumulativeTemporality}
		default:
			continue
		}
		p.metrics = append(p.metrics, m)
	}
}
