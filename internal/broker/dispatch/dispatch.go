// Package dispatch is the seam between a node and what brings ready steps to workers beside the database: queues, and
// transports to workers. The packages below it are drivers; only packages below embedded link them.
package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/linked"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Names of the drivers.
const (
	Redis    = "redis"
	RabbitMQ = "rabbitmq"
)

// Queues are the linked queues of ready steps.
var Queues linked.Set[OpenQueue]

// OpenQueue opens the queue of a URL. prefix separates databases that share a server. An unreachable server is no
// error.
type OpenQueue func(ctx context.Context, url, prefix string, log *slog.Logger) (engine.Dispatcher, error)

// Transports are the linked transports to workers.
var Transports linked.Set[OpenTransport]

// OpenTransport returns the transport of a URL. It connects to nothing before Run.
type OpenTransport func(e Engine, url string, o Options) (Transport, error)

// Transport brings assigned steps to workers.
type Transport interface {
	// Run dispatches until ctx ends.
	Run(ctx context.Context)
	// Notice makes Run read the list of workers now.
	Notice()
	// RemoveQueues removes what dead workers have left. It is the Once of a loop.
	RemoveQueues(ctx context.Context) (n int, more bool, err error)
}

// Options configures a Transport.
type Options struct {
	Queue    func(worker task.ID) string
	Topology Topology
	// Prefetch bounds the dispatched steps of a worker without a capacity; 0 is the driver's default.
	Prefetch int
	// Health are thresholds for the choice of workers.
	Health   task.HealthRule
	Now      func() time.Time
	Logger   *slog.Logger
	Observer Observer // nil: none
}

// Topology describes the queues on the broker.
type Topology struct {
	Quorum bool
	TTL    time.Duration
	// DeadLetters sends expired messages to Exchange, and from there to DeadQueue. Without it they vanish.
	DeadLetters         bool
	Exchange, DeadQueue string
	Retention           time.Duration
}

// Engine is a transport's view of the engine. All methods may be called concurrently.
type Engine interface {
	// Fleet returns the workers with transport amqp, with dead ones until they are forgotten.
	Fleet(ctx context.Context) ([]Worker, error)
	// Held counts the steps of a worker, as far as this process knows, at no cost.
	Held(w *Worker) int
	// Dispatch leases up to n steps to a worker, and waits up to wait for the first. leaving: it gets no more.
	Dispatch(ctx context.Context, worker task.ID, n int, wait time.Duration) (steps []Dispatch, leaving bool, err error)
	// GiveBack returns steps that were certainly not published to their queue of ready steps, not charged.
	GiveBack(ctx context.Context, worker task.ID, steps []protocol.LeaseRef) error
	// Expire fails the dispatches that are still assigned, and answers for each.
	Expire(ctx context.Context, dead []Expired) ([]Verdict, error)
	// Capture stores other messages as letters. An error with another code than Unavailable is permanent.
	Capture(ctx context.Context, messages []driver.Message) error
}

// Worker is a worker with transport amqp, with its state.
type Worker struct {
	*task.Worker

	// Routes is equal for workers with the same routes.
	Routes string
	Facts  task.HealthFacts
	// Waits: it gets no steps now, because its circuit breaker is open or an operator has cordoned it.
	Waits bool
}

// Dispatch is a leased step, and how long its message may wait.
type Dispatch struct {
	protocol.Assignment
	TTL time.Duration
}

// Expired is a dispatch whose message died in a worker's queue.
type Expired struct {
	Worker task.ID
	Lease  protocol.LeaseRef
	At     time.Time // when it expired
}

// Verdict is the result for an Expired.
type Verdict int

// The verdicts.
const (
	Failed  Verdict = iota + 1
	Late            // the lease has ended, or the step runs
	Unknown         // no such step: the message is not ours
)

// Observer counts for metrics. Its methods must not block, and may be called concurrently.
type Observer interface {
	// Published counts messages to workers: published, returned, refused, uncertain.
	Published(result string, n int)
	// Expired counts messages of the queue of dead letters: failed, late, letter.
	Expired(result string, n int)
	// Handled measures the time from the expiry of a dispatch to the commit of its failure.
	Handled(after time.Duration)
	Depth(n int)
	// Connected reports a change of a connection: dispatch or dead_letters.
	Connected(part string, up bool)
}
