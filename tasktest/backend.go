package tasktest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// backend is the server of one attempt: it leases the step once and takes the report.
type backend struct {
	protocol.Backend // a method that a worker does not call

	step        protocol.Assignment
	interrupted string // status of the lease in every heartbeat's answer: cancelled or lost; "": held
	started     chan struct{}
	returned    chan error // the cause of the end of the handler's context
	settled     chan protocol.StepResult

	// mu guards the fields below.
	mu       sync.Mutex
	serves   map[uuid.UUID][]string // handlers of each registration
	given    bool
	progress []Progress
	stored   []json.RawMessage // checkpoints
	took     time.Duration
}

func newBackend(interrupt error) *backend {
	b := &backend{started: make(chan struct{}), returned: make(chan error, 1), settled: make(chan protocol.StepResult, 1),
		serves: map[uuid.UUID][]string{}}
	switch {
	case errors.Is(interrupt, worker.ErrCancelled):
		b.interrupted = protocol.LeaseCancelled
	case errors.Is(interrupt, worker.ErrLeaseLost):
		b.interrupted = protocol.LeaseLost
	}
	return b
}

// measure is the outermost middleware. The handler runs once, so it needs no lock for the channels.
func (b *backend) measure(next worker.Handler) worker.Handler {
	return func(ctx context.Context, job *worker.Job) (any, error) {
		begun := time.Now()
		close(b.started)
		defer func() { // also after a panic
			b.mu.Lock()
			defer b.mu.Unlock()
			b.took = time.Since(begun)
			b.returned <- context.Cause(ctx)
		}()
		return next(ctx, job)
	}
}

// run runs w until the step has ended, and stops it after a time if drain is set.
func (b *backend) run(w *worker.Worker, drain bool, after time.Duration) (*Outcome, error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	started := b.started
	if !drain {
		started = nil
	}
	var interrupt <-chan time.Time
	for waiting := true; waiting; {
		select {
		case <-started:
			started, interrupt = nil, time.After(after)
		case <-interrupt:
			stop()
		case cause := <-b.returned:
			// Nothing is reported about a step that is no longer the worker's.
			waiting = !errors.Is(cause, worker.ErrCancelled) && !errors.Is(cause, worker.ErrLeaseLost)
		case result := <-b.settled:
			b.settled <- result
			waiting = false
		case err := <-ended:
			ended <- err
			waiting = false
		}
	}
	stop()
	if err := <-ended; err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	out := &Outcome{Progress: b.progress, Checkpoints: b.stored, Took: b.took}
	select {
	case r := <-b.settled:
		out.Status, out.Result, out.Failure, out.Log = r.Status, r.Result, r.Error, r.Log
		out.Snoozed = time.Duration(r.SnoozeSeconds * float64(time.Second))
	default:
	}
	return out, nil
}

// RegisterWorker implements protocol.WorkerBackend.
func (b *backend) RegisterWorker(_ context.Context, reg protocol.WorkerRegistration) (*protocol.RegisteredWorker,
	error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := uuid.New()
	b.serves[id] = reg.Handlers
	return &protocol.RegisteredWorker{WorkerID: id, MaxLongPollSeconds: 3600, MaxLogBytes: 64 << 10}, nil
}

// Poll implements protocol.WorkerBackend.
func (b *backend) Poll(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
	if b.give(req.WorkerID) {
		return &protocol.PollResponse{Steps: []protocol.Assignment{b.step}}, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (b *backend) give(worker uuid.UUID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range b.serves[worker] {
		if name == b.step.Handler && !b.given {
			b.given = true
			return true
		}
	}
	return false
}

// Progress implements protocol.WorkerBackend.
func (b *backend) Progress(_ context.Context, r protocol.ProgressReport) (*protocol.LeaseAnswer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Checkpoint != nil {
		b.stored = append(b.stored, r.Checkpoint)
	} else {
		b.progress = append(b.progress, Progress{Percent: r.ProgressPercent, Message: r.StatusMessage})
	}
	return &protocol.LeaseAnswer{StepUUID: r.StepUUID, Status: protocol.LeaseHeld}, nil
}

// Settle implements protocol.WorkerBackend.
func (b *backend) Settle(_ context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	answers := make([]protocol.SettleAnswer, len(req.Results))
	for i, r := range req.Results {
		answers[i].StepUUID = r.StepUUID
		b.settled <- r // the one step settles once
	}
	return answers, nil
}

// Heartbeat implements protocol.WorkerBackend.
func (b *backend) Heartbeat(_ context.Context, beat protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
	out := &protocol.HeartbeatResponse{Acknowledged: true}
	for _, ref := range beat.Steps {
		status := protocol.LeaseHeld
		if b.interrupted != "" {
			status = b.interrupted
		}
		out.Leases = append(out.Leases, protocol.LeaseAnswer{StepUUID: ref.StepUUID, Status: status})
	}
	return out, nil
}

// Drain implements protocol.WorkerBackend.
func (b *backend) Drain(context.Context, protocol.WorkerAct) (*protocol.DrainResponse, error) {
	return &protocol.DrainResponse{}, nil
}
