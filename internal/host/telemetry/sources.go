package telemetry

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/taskerhq/tasker/internal/model/task"
)

// SourceLevel has the levels of a source of dead letters.
type SourceLevel struct {
	Namespace, Source string
	// Queue is its queue, or its name without one; "" for a queue of other messages.
	Queue string
	// Open counts open letters, Waiting uncaptured messages.
	Open, Waiting int64
	// Oversized counts messages that stay on the broker.
	Oversized int
	// Lag is the part of Waiting in each partition; nil without partitions.
	Lag map[int32]int64
	// Broker: it reads from a broker; Answers: which answers, otherwise Waiting is unknown.
	Broker, Answers bool
	// Breaker is the state of the circuit breaker of sends; "" without one.
	Breaker task.BreakerState
}

// SourceCounter returns the levels of all sources, a bounded number, until ctx ends. An error means that the store
// does not answer. Calls are sequential.
type SourceCounter func(ctx context.Context) ([]SourceLevel, error)

// WatchSources shows the results of count in the gauges of dead letters. Without a result they are absent.
func (t *Telemetry) WatchSources(count SourceCounter) { t.sources.watch(count) }

// Gone counts messages that a broker deleted unread. It does not block.
func (t *Telemetry) Gone(namespace, source string, messages int64) {
	of := t.sources.names.bound(name{namespace, source})
	add(t.sources.gone, messages, namespaceKey.String(of.namespace), sourceKey.String(of.name))
}

const (
	sourceKey    = attribute.Key("source")
	queueKey     = attribute.Key("queue")
	queueNameKey = attribute.Key("queue_name")
	partitionKey = attribute.Key("partition")
	serviceKey   = attribute.Key("service")
)

// sourceCache keeps the last count with its gauges. Unprefixed gauges have the names that applications of /api/dlq
// use.
type sourceCache struct {
	remembered[[]SourceLevel]
	open, waiting, oversized metric.Float64ObservableGauge
	lag, up, breaker         metric.Float64ObservableGauge
	depth, state             metric.Float64ObservableGauge
	gone                     metric.Int64Counter
	names                    names
}

func (c *sourceCache) register(b *builder) {
	c.open = b.gauge("tasker.dead_letters.open", "{letter}", "Open dead letters, counted up to 100,000 per source.")
	c.waiting = b.gauge("tasker.dead_letters.waiting", "{message}", "Messages of a broker that are not captured yet.")
	c.oversized = b.gauge("tasker.dead_letters.oversized", "{message}",
		"Messages that stay on their broker because they are larger than engine.limits.letter_bytes.")
	c.lag = b.gauge("tasker.dead_letters.lag", "{message}",
		"Messages of a partition that are not captured yet, for the 100 partitions of a source with most.")
	c.gone = b.counter("tasker.dead_letters.gone", "{message}",
		"Messages that a broker has deleted before a source read them, at most.")
	c.up = b.gauge("tasker.dead_letter.source.up", "", "1 if the broker of a source answers, else 0.")
	c.breaker = b.gauge("tasker.dead_letter.breaker", "",
		"Circuit breaker of sends to the broker of a source: 1 for the state that it is in, 0 for the others.")
	c.depth = b.gauge("hsi.dlq.depth", "", "Jobs in a dead letter queue: open dead letters and messages not captured yet.")
	c.state = b.gauge("hsi.circuit_breaker.state", "",
		"Circuit breaker of sends to the broker of a source: 0 closed, 1 open, 2 half-open.")
	b.observe(c.observe)
}

func (c *sourceCache) observe(ctx context.Context, o metric.Observer) error {
	levels, _ := c.get(ctx)
	for i := range levels {
		c.show(o, &levels[i])
	}
	for name, depth := range depths(levels) {
		o.ObserveFloat64(c.depth, depth, metric.WithAttributes(
			queueKey.String(strings.TrimPrefix(name, dlqPrefix)), queueNameKey.String(name)))
	}
	return nil
}

// breakerStates in the order of hsi_circuit_breaker_state.
var breakerStates = []task.BreakerState{task.BreakerClosed, task.BreakerOpen, task.BreakerHalfOpen}

func (c *sourceCache) show(o metric.Observer, l *SourceLevel) {
	labels := []attribute.KeyValue{namespaceKey.String(l.Namespace), sourceKey.String(l.Source)}
	of := metric.WithAttributes(labels...)
	o.ObserveFloat64(c.open, float64(l.Open), of)
	if l.Broker {
		o.ObserveFloat64(c.up, number(l.Answers), of)
		o.ObserveFloat64(c.oversized, float64(l.Oversized), of)
	}
	if l.Broker && l.Answers {
		o.ObserveFloat64(c.waiting, float64(l.Waiting), of)
		for _, n := range furthestBehind(l.Lag) {
			o.ObserveFloat64(c.lag, float64(l.Lag[n]),
				metric.WithAttributes(append(labels[:2:2], partitionKey.Int(int(n)))...))
		}
	}
	if l.Breaker == "" {
		return
	}
	for i, state := range breakerStates {
		o.ObserveFloat64(c.breaker, number(l.Breaker == state),
			metric.WithAttributes(append(labels[:2:2], stateKey.String(string(state)))...))
		if l.Breaker == state {
			o.ObserveFloat64(c.state, float64(i),
				metric.WithAttributes(namespaceKey.String(l.Namespace), serviceKey.String(l.Source)))
		}
	}
}

// shownPartitions bounds the partitions with a gauge per source.
const shownPartitions = 100

// furthestBehind returns the partitions with the most waiting messages.
func furthestBehind(lag map[int32]int64) []int32 {
	all := slices.SortedFunc(maps.Keys(lag), func(a, b int32) int {
		return cmp.Or(cmp.Compare(lag[b], lag[a]), cmp.Compare(a, b))
	})
	return all[:min(len(all), shownPartitions)]
}

const dlqPrefix = "dlq:"

// depths adds up the jobs of each queue name. If a broker does not answer, the name has no depth at all: a part
// must not look like the whole.
func depths(levels []SourceLevel) map[string]float64 {
	out, unknown := map[string]float64{}, map[string]bool{}
	for _, l := range levels {
		if l.Queue == "" {
			continue
		}
		out[l.Queue] += float64(l.Open + l.Waiting)
		unknown[l.Queue] = unknown[l.Queue] || l.Broker && !l.Answers
	}
	for name := range unknown {
		if unknown[name] {
			delete(out, name)
		}
	}
	return out
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
