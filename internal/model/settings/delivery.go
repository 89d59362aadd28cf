package settings

import (
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// OnExpiry is what becomes of a step whose dispatch expired in the queue of its worker.
type OnExpiry string

// The values of OnExpiry.
const (
	// ExpiryRetry: the step is tried again, as long as it has attempts left and Delivery.ExpiryLimit is not reached.
	ExpiryRetry OnExpiry = "retry"
	// ExpiryFail: the step fails for good.
	ExpiryFail OnExpiry = "fail"
)

// Delivery sets up the dispatch of steps to the queues of workers over AMQP.
type Delivery struct {
	// Offered lets workers register with the transport amqp. Defaults to false.
	Offered bool
	// QueuePrefix begins the names of their queues; see task.DeliveryQueue. Defaults to "worker.".
	QueuePrefix string
	// TTL is how long a dispatched step may wait in the queue of its worker, where neither the step nor its template
	// sets dispatch_ttl_ms. Defaults to 5 min; 1 s to 7 days.
	TTL time.Duration
	// Capacity is the capacity of a worker that registers with the transport amqp and without one. Defaults to 100.
	Capacity int
	// OnExpiry defaults to ExpiryRetry.
	OnExpiry OnExpiry
	// ExpiryLimit is the number of expired dispatches of a step since its last reset with which it fails for good, under
	// ExpiryRetry. Defaults to 3.
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
