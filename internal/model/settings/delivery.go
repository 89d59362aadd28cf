package settings

import (
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// OnExpiry decides about a step whose dispatch expired in its worker's queue.
type OnExpiry string

const (
	// ExpiryRetry means: the step is tried again while it has attempts and Delivery.ExpiryLimit is not reached.
	ExpiryRetry OnExpiry = "retry"
	// ExpiryFail means: the step fails permanently.
	ExpiryFail OnExpiry = "fail"
)

// Delivery configures the dispatch of steps to the queues of workers over AMQP.
type Delivery struct {
	// Offered lets workers register with the transport amqp.
	Offered bool
	// QueuePrefix begins the names of their queues; see task.DeliveryQueue.
	QueuePrefix string
	// TTL is how long a dispatched step may wait in its worker's queue, unless the step or its template sets
	// dispatch_ttl_ms; 1 s to 7 days.
	TTL time.Duration
	// Capacity is the default capacity of a worker with the transport amqp.
	Capacity int
	OnExpiry OnExpiry
	// ExpiryLimit is the number of expired dispatches since the last reset at which a step fails permanently under
	// ExpiryRetry.
	ExpiryLimit int
}

func (d *Delivery) setDefaults() {
	orDefault(&d.QueuePrefix, "worker.")
	orDefault(&d.TTL, 5*time.Minute)
	orDefault(&d.Capacity, 100)
	orDefault(&d.OnExpiry, ExpiryRetry)
	orDefault(&d.ExpiryLimit, 3)
}

func (d Delivery) validate(bad func(ok bool, format string, args ...any)) {
	bad(d.TTL >= task.MinDispatchTTL && d.TTL <= task.MaxDispatchTTL, "delivery.ttl must be %s to %s",
		task.MinDispatchTTL, task.MaxDispatchTTL)
	bad(d.Capacity > 0, "delivery.capacity must be positive")
	bad(d.OnExpiry == ExpiryRetry || d.OnExpiry == ExpiryFail,
		"delivery.on_expiry must be retry or fail, not %q", d.OnExpiry)
	bad(d.ExpiryLimit > 0, "delivery.expiry_limit must be positive")
}
