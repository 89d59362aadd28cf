package rabbitmq

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	connection "github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Options configures a Dispatcher.
type Options struct {
	// Dial opens a named connection, and returns when ctx ends.
	Dial     func(ctx context.Context, name string) (*connection.Conn, error)
	Queue    func(worker task.ID) string
	Topology Topology
	// Prefetch bounds the dispatched steps of a worker without a capacity. Defaults to 100.
	Prefetch int
	// Health are thresholds for the choice of workers. Zero fields have defaults.
	Health task.HealthRule
	// InFlight bounds the unconfirmed messages. Defaults to 1000.
	InFlight int
	// ConfirmTimeout is after which wait for a confirm the connection counts as lost. Defaults to 10 s.
	ConfirmTimeout time.Duration
	// MaxPause bounds the pauses between tries to connect. Defaults to 30 s.
	MaxPause time.Duration
	// Refresh is the interval at which the list of workers is read. Defaults to 1 s.
	Refresh  time.Duration
	Now      func() time.Time
	Logger   *slog.Logger
	Observer Observer
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

func (o Options) withDefaults() Options {
	o.Prefetch = cmp.Or(o.Prefetch, 100)
	o.InFlight = cmp.Or(o.InFlight, 1000)
	o.ConfirmTimeout = cmp.Or(o.ConfirmTimeout, 10*time.Second)
	o.MaxPause = cmp.Or(o.MaxPause, 30*time.Second)
	o.Refresh = cmp.Or(o.Refresh, time.Second)
	o.Health = o.Health.WithDefaults()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = silent{}
	}
	return o
}

// Engine is the dispatcher's view of the engine. All methods may be called concurrently.
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

type silent struct{}

func (silent) Published(string, int)  {}
func (silent) Expired(string, int)    {}
func (silent) Handled(time.Duration)  {}
func (silent) Depth(int)              {}
func (silent) Connected(string, bool) {}
