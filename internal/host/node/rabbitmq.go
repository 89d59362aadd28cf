package node

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/broker/dispatch"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/carrier"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

// RabbitMQ configures the dispatch of steps over RabbitMQ. settings.Delivery has the engine's part.
type RabbitMQ struct {
	URL      string // "": none
	Prefetch int
	Topology Topology
	Observer dispatch.Observer
}

// Topology is the set of RabbitMQ declarations.
type Topology = dispatch.Topology

// letterSource is the source of foreign messages in the queue of dead letters.
const letterSource = "worker-dead-letters"

// removeEvery is the interval of deleting dead workers' queues.
const removeEvery = 30 * time.Second

// steps adapts the engine for the dispatcher.
type steps struct {
	engine *engine.Engine
	local  *local.Backend
	inbox  *inbox.Inbox // nil: no rows for dead letters

	mu    sync.Mutex
	fleet []dispatch.Worker
	read  time.Time
	took  time.Duration
}

var _ dispatch.Engine = (*steps)(nil)

// openRabbitMQ returns the dispatcher and its loop, nil without a URL.
func openRabbitMQ(e *engine.Engine, b *local.Backend, in *inbox.Inbox, opts Options) (
	dispatch.Transport, []upkeep.Loop, error,
) {
	o := opts.RabbitMQ
	if o.URL == "" {
		return nil, nil, nil
	}
	open, err := dispatch.Transports.Find(dispatch.RabbitMQ)
	if err != nil {
		return nil, nil, tasker.Errorf(tasker.CodeInvalid, "message_queue.rabbitmq.url: %v", err)
	}
	cfg := e.Config()
	d, err := open(&steps{engine: e, local: b, inbox: in}, o.URL, dispatch.Options{
		Queue:    func(id task.ID) string { return task.DeliveryQueue(cfg.Delivery.QueuePrefix, id) },
		Topology: o.Topology, Prefetch: o.Prefetch, Health: cfg.HealthRule(),
		Now: func() time.Time { return e.Now().Time() }, Logger: opts.Logger, Observer: o.Observer})
	if err != nil {
		return nil, nil, &tasker.Error{Code: tasker.CodeInvalid, Message: "message_queue.rabbitmq.url: " + err.Error(),
			Hint: "see docs/guides/rabbitmq-dispatch.md"}
	}
	return d, []upkeep.Loop{{Name: "dispatch_queues", Every: removeEvery, Once: d.RemoveQueues, ReadsOnly: true}}, nil
}

const (
	// deadSeen is how long dead workers stay in the fleet, so that their queues are deleted.
	deadSeen = 24 * time.Hour
	// fleetShare bounds reading the workers to one part in fleetShare of the time.
	fleetShare = 20
)

func (d *steps) Fleet(ctx context.Context) ([]dispatch.Worker, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.read) < fleetShare*d.took {
		return d.fleet, nil
	}
	began := time.Now()
	workers, err := d.engine.Workers(ctx, deadSeen)
	if err != nil {
		return nil, err
	}
	fleet := make([]dispatch.Worker, 0, len(workers))
	for _, w := range workers {
		if w.Transport != task.TransportAMQP {
			continue
		}
		fleet = append(fleet, dispatch.Worker{Worker: w, Routes: routesOf(w), Facts: d.engine.HealthFacts(w),
			Waits: w.Cordoned() || d.engine.BreakerOf(w) == task.BreakerOpen})
	}
	d.fleet, d.read, d.took = fleet, time.Now(), time.Since(began)
	return fleet, nil
}

// routesOf is equal for workers that serve the same routes.
func routesOf(w *task.Worker) string {
	return fmt.Sprintf("%q %q %q", w.Namespaces, w.Handlers, w.Capabilities)
}

func (d *steps) Held(w *dispatch.Worker) int { return d.engine.Holds(w.Worker) }

func (d *steps) Dispatch(ctx context.Context, worker task.ID, n int, wait time.Duration) ([]dispatch.Dispatch,
	bool, error,
) {
	leased, leaving, err := d.local.Dispatch(ctx, uuid.UUID(worker), n, wait)
	if err != nil {
		return nil, leaving, err
	}
	out := make([]dispatch.Dispatch, len(leased))
	for i, s := range leased {
		out[i] = dispatch.Dispatch{Assignment: s.Assignment, TTL: s.TTL}
	}
	return out, leaving, nil
}

// GiveBack implements dispatch.Engine.
func (d *steps) GiveBack(ctx context.Context, worker task.ID, leases []protocol.LeaseRef) error {
	for batch := range slices.Chunk(leases, d.engine.Config().Limits.BatchItems) {
		req := protocol.SettleRequest{WorkerID: uuid.UUID(worker)}
		for _, s := range batch {
			req.Results = append(req.Results, protocol.StepResult{StepUUID: s.StepUUID, Token: s.Token,
				Status: protocol.ResultReleased})
		}
		if _, err := d.local.Settle(ctx, req); err != nil {
			return err
		}
	}
	return nil
}

func (d *steps) Expire(ctx context.Context, dead []dispatch.Expired) ([]dispatch.Verdict, error) {
	verdicts := make([]dispatch.Verdict, 0, len(dead))
	for batch := range slices.Chunk(dead, d.engine.Config().Limits.BatchItems) {
		expired := make([]local.ExpiredDispatch, len(batch))
		for i, x := range batch {
			expired[i] = local.ExpiredDispatch{Worker: uuid.UUID(x.Worker), Lease: x.Lease, At: x.At}
		}
		answers, err := d.local.ExpireDispatches(ctx, expired)
		if err != nil {
			return nil, err
		}
		for _, a := range answers {
			switch {
			case a.Error == nil:
				verdicts = append(verdicts, dispatch.Failed)
			case a.Error.Code == tasker.CodeNotFound:
				verdicts = append(verdicts, dispatch.Unknown)
			default:
				verdicts = append(verdicts, dispatch.Late)
			}
		}
	}
	return verdicts, nil
}

// Capture saves the source with its first letter.
func (d *steps) Capture(ctx context.Context, messages []driver.Message) error {
	if d.inbox == nil {
		return task.Errorf(task.Invalid, "the database keeps no dead letters")
	}
	source := &deadletter.Source{Namespace: engine.DefaultNamespace, Name: letterSource, Driver: inbox.HTTP}
	arrivals := make([]inbox.Arrival, len(messages))
	for i, m := range messages {
		arrivals[i] = carrier.Arrival(m, source)
	}
	_, err := d.inbox.Capture(ctx, source, arrivals)
	return err
}

// RegisterWorker implements protocol.WorkerBackend. A worker with the transport amqp gets steps at once.
func (n *Node) RegisterWorker(ctx context.Context, reg protocol.WorkerRegistration) (*protocol.RegisteredWorker,
	error) {
	w, err := n.Backend.RegisterWorker(ctx, reg)
	if err == nil && n.rabbit != nil && w.Queue != "" {
		n.rabbit.Notice()
	}
	return w, err
}
