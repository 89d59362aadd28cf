package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Deliveries has the metrics of the dispatch over RabbitMQ. Its methods are safe for concurrent use and do not
// block.
type Deliveries struct {
	published, expired metric.Int64Counter
	handling           metric.Float64Histogram
	depth, connected   metric.Float64ObservableGauge

	mu     sync.Mutex
	counts map[string]bool // reported connections, by part
	queued int             // -1: unknown
}

// Labels of the dispatch; partKey names a connection.
const (
	partKey   = attribute.Key("part")
	resultKey = attribute.Key("result")
)

// Deliveries returns the metrics of the dispatch over RabbitMQ.
func (t *Telemetry) Deliveries() *Deliveries { return t.deliveries }

func newDeliveries(b *builder) *Deliveries {
	d := &Deliveries{counts: map[string]bool{}, queued: -1,
		published: b.counter("tasker.dispatch.published", "{message}",
			"Steps published to the queues of workers, by result: published, returned, refused, uncertain."),
		expired: b.counter("tasker.dispatch.expired", "{message}",
			"Messages in the queue of dead letters that were handled, by result: failed, late, letter."),
		handling: b.histogram("tasker.dispatch.expiry.handling", "s",
			"Time from the expiry of a dispatch in the queue of a worker to the failure of its attempt.",
			[]float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600}),
		depth: b.gauge("tasker.dispatch.dead_letter.depth", "{message}",
			"Messages that wait in the queue of dead letters of the dispatch."),
		connected: b.gauge("tasker.dispatch.connected", "", "1 if this node is connected to RabbitMQ, else 0."),
	}
	for _, result := range []string{"published", "returned", "refused", "uncertain"} {
		d.Published(result, 0)
	}
	for _, result := range []string{"failed", "late", "letter"} {
		d.Expired(result, 0)
	}
	b.observe(d.observe)
	return d
}

// Published counts messages to workers.
func (d *Deliveries) Published(result string, n int) {
	add(d.published, int64(n), resultKey.String(result))
}

// Expired counts messages in the queue of dead letters.
func (d *Deliveries) Expired(result string, n int) {
	add(d.expired, int64(n), resultKey.String(result))
}

// Handled measures one failed dispatch.
func (d *Deliveries) Handled(after time.Duration) {
	d.handling.Record(context.Background(), after.Seconds())
}

// Depth sets the number of messages in the queue of dead letters.
func (d *Deliveries) Depth(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queued = n
}

// Connected reports a change of a connection. Without one the depth of the queue of dead letters is unknown.
func (d *Deliveries) Connected(part string, up bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[part] = up
	if part == "dead_letters" && !up {
		d.queued = -1
	}
}

func (d *Deliveries) observe(_ context.Context, o metric.Observer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queued >= 0 {
		o.ObserveFloat64(d.depth, float64(d.queued))
	}
	for part, up := range d.counts {
		o.ObserveFloat64(d.connected, number(up), metric.WithAttributes(partKey.String(part)))
	}
	return nil
}
