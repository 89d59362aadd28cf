package telemetry

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Letters has the metrics of dead letters. Its methods are safe for concurrent use and do not block.
//
// Messages claim origins and event types, so only the first maxNames origins of sources, and event types of
// origins, have their own numbers. The others share "other".
type Letters struct {
	received, sent, discarded, failures metric.Int64Counter
	replayed, replays                   metric.Int64Counter
	age, took                           metric.Float64Histogram

	sources, origins, events names

	undecided metric.Float64ObservableGauge
	levels    remembered[[]OriginLevel]
	shown     names // origins that had a value; without letters they show 0
}

// OriginLevel counts the undecided letters of an origin.
type OriginLevel struct {
	Namespace, Origin string
	Letters           int
}

// OriginCounter counts letters by origin, a bounded number, until ctx ends. An error means that the store does not
// answer. Calls are sequential.
type OriginCounter func(ctx context.Context) ([]OriginLevel, error)

// WatchOrigins shows the results of count in the gauge of undecided letters. Without a result it is absent.
func (l *Letters) WatchOrigins(count OriginCounter) { l.levels.watch(count) }

const (
	originKey    = attribute.Key("origin")
	eventTypeKey = attribute.Key("event_type")
	operationKey = attribute.Key("operation")
)

// Letters returns the metrics of dead letters.
func (t *Telemetry) Letters() *Letters { return t.letters }

func newLetters(b *builder) *Letters {
	l := &Letters{
		received: b.counter("tasker.dead_letters.received", "{message}",
			"Messages that died, by outcome: captured, returned, duplicate."),
		sent: b.counter("tasker.dead_letters.sent", "{letter}",
			"Letters that policies and redrives sent back, by result: sent, unknown, failed, not_tried."),
		discarded: b.counter("tasker.dead_letters.discarded", "{letter}",
			"Letters that were discarded, by reason: max_retries, max_age, test_event, manual."),
		replayed: b.counter("tasker.replay.messages", "{message}",
			"Messages that replays of topics have read, by result: letter, task, known, gone."),
		replays: b.counter("tasker.replay.states", "{replay}",
			"Replays of topics that entered a state: draft, running, paused, failed, done, cancelled."),
		failures: b.counter("tasker.dead_letters.errors", "{batch}",
			"Batches that could not be stored, by operation: capture, send."),
		age: b.histogram("tasker.dead_letters.age", "s",
			"Time from the failure of a message to its capture.", taskBounds),
		took: b.histogram("tasker.dead_letters.processing", "s",
			"Time to capture or to send a batch.", storeBounds),
		undecided: b.gauge("tasker.dead_letters.undecided", "{letter}",
			"Letters of an origin that are open, scheduled or being sent."),
	}
	b.observe(l.observe)
	return l
}

func (l *Letters) observe(ctx context.Context, o metric.Observer) error {
	levels, _ := l.levels.get(ctx)
	if levels == nil {
		return nil
	}
	counts := map[name]int{}
	for _, of := range l.shown.all() {
		counts[of] = 0
	}
	for _, of := range levels {
		counts[l.shown.bound(name{of.Namespace, of.Origin})] += of.Letters
	}
	for of, n := range counts {
		o.ObserveFloat64(l.undecided, float64(n),
			metric.WithAttributes(namespaceKey.String(of.namespace), originKey.String(of.name)))
	}
	return nil
}

func (l *Letters) of(namespace, source, origin string) []attribute.KeyValue {
	s := l.sources.bound(name{namespace, source})
	return []attribute.KeyValue{namespaceKey.String(s.namespace), sourceKey.String(s.name),
		originKey.String(within(&l.origins, namespace, source, origin))}
}

// within returns the last part of a name, or "other".
func within(all *names, namespace string, parts ...string) string {
	if all.bound(name{namespace, strings.Join(parts, "\x00")}).name == others {
		return others
	}
	return parts[len(parts)-1]
}

// Captured counts messages of a source, and the time since their death.
func (l *Letters) Captured(namespace, source, origin, eventType, outcome string, ages []time.Duration) {
	labels, event := l.of(namespace, source, origin), within(&l.events, namespace, source, origin, eventType)
	add(l.received, int64(len(ages)), append(labels[:3:3], eventTypeKey.String(event), outcomeKey.String(outcome))...)
	of := metric.WithAttributeSet(attribute.NewSet(labels...))
	for _, age := range ages {
		l.age.Record(context.Background(), age.Seconds(), of)
	}
}

// Sent counts sent letters.
func (l *Letters) Sent(namespace, source, origin, result string, letters int) {
	add(l.sent, int64(letters), append(l.of(namespace, source, origin), resultKey.String(result))...)
}

// Discarded counts discarded letters.
func (l *Letters) Discarded(namespace, source, origin, reason string, letters int) {
	add(l.discarded, int64(letters), append(l.of(namespace, source, origin), whyKey.String(reason))...)
}

// Replayed counts messages read by replays.
func (l *Letters) Replayed(namespace, source, result string, messages int64) {
	s := l.sources.bound(name{namespace, source})
	add(l.replayed, messages, namespaceKey.String(s.namespace), sourceKey.String(s.name), resultKey.String(result))
}

// ReplayEntered counts a replay entering a state.
func (l *Letters) ReplayEntered(namespace, source, state string) {
	s := l.sources.bound(name{namespace, source})
	add(l.replays, 1, namespaceKey.String(s.namespace), sourceKey.String(s.name), stateKey.String(state))
}

// Took observes the duration of a batch.
func (l *Letters) Took(operation string, d time.Duration) {
	l.took.Record(context.Background(), d.Seconds(), metric.WithAttributes(operationKey.String(operation)))
}

// Failed counts a batch that was not stored.
func (l *Letters) Failed(operation string, code task.Code) {
	add(l.failures, 1, operationKey.String(operation), codeKey.String(string(code)))
}
