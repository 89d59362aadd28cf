package rabbitmq

import (
	"context"
	"sync"

	"github.com/taskerhq/tasker/internal/broker/dispatch"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Dispatcher dispatches steps over one RabbitMQ. See New and Run.
type Dispatcher struct {
	opts   Options
	engine dispatch.Engine

	// moving is held while this process replaces a queue; nothing may be declared or published meanwhile.
	moving sync.Mutex
	// noticed has a token when the list of workers should be read now.
	noticed chan struct{}

	mu      sync.Mutex
	removed map[task.ID]struct{}
}

// New returns a Dispatcher. It does nothing before Run.
func New(e dispatch.Engine, o Options) *Dispatcher {
	return &Dispatcher{opts: o.withDefaults(), engine: e, noticed: make(chan struct{}, 1),
		removed: map[task.ID]struct{}{}}
}

// Notice makes a running dispatcher read the list of workers now: one is new or has changed.
func (d *Dispatcher) Notice() {
	select {
	case d.noticed <- struct{}{}:
	default:
	}
}

// Run dispatches and blocks until ctx ends. Without a reachable broker it warns, and retries with growing pauses.
//
// When ctx ends, it claims no more steps, waits a bounded time for confirms, finishes the batch of dead letters that is
// being stored, and closes the connections. Unacknowledged messages stay on the broker. Concurrent calls are not
// allowed.
func (d *Dispatcher) Run(ctx context.Context) {
	d.warn()
	var parts sync.WaitGroup
	parts.Go(func() { d.keep(ctx, "dispatch", d.dispatch) })
	if d.opts.Topology.DeadLetters {
		parts.Go(func() { d.keep(ctx, "dead_letters", d.handleLetters) })
	}
	parts.Wait()
}

func (d *Dispatcher) warn() {
	if d.opts.Topology.DeadLetters {
		return
	}
	d.opts.Logger.Warn("message_queue.rabbitmq.dead_letter.enabled is false: the queues of workers have a TTL and no " +
		"dead letter exchange, so messages that expire there vanish; their steps stay assigned until the lease ends " +
		"(engine.leases.start_timeout after the TTL), and messages that are no dispatches are lost")
}
