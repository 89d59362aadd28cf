package tasktest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// backend is the server of one attempt: it leases the step once and takes the report.
type backend struct {
	tasker.Backend // for methods that a worker does not call

	step        tasker.Assignment
	interrupted string // lease status in heartbeats' answers: cancelled or lost; "": held
	started     chan struct{}
	returned    chan error // cause of the end of the handler's context
	settled     chan tasker.StepResult

	// mu guards the fields below.
	mu       sync.Mutex
	serves   map[uuid.UUID][]string // handlers of each registration
	given    bool
	progress []Progress
	stored   []json.RawMessage // checkpoints
	took     time.Duration
}

func newBackend(interrupt error) *backend {
	b := &backend{started: make(chan struct{}), returned: make(chan error, 1), settled: make(chan tasker.StepResult, 1),
		serves: map[uuid.UUID][]string{}}
	switch {
	case errors.Is(interrupt, tasker.ErrCancelled):
		b.interrupted = tasker.LeaseCancelled
	case errors.Is(interrupt, tasker.ErrLeaseLost):
		b.interrupted = tasker.LeaseLost
	}
	return b
}

// measure is the outermost middleware. The handler runs once, so the channels need no lock.
func (b *backend) measure(next tasker.Handler) tasker.Handler {
	return func(ctx context.Context, job *tasker.Job) (any, error) {
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
func (b *backend) run(w *tasker.Worker, drain bool, after time.Duration) (*Outcome, error) {
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
			// A worker reports nothing about a step that it has lost.
			waiting = !errors.Is(cause, tasker.ErrCancelled) && !errors.Is(cause, tasker.ErrLeaseLost)
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

// RegisterWorker implements tasker.WorkerBackend.
func (b *backend) RegisterWorker(_ context.Context, reg tasker.WorkerRegistration) (*tasker.RegisteredWorker, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := uuid.New()
	b.serves[id] = reg.Handlers
	return &tasker.RegisteredWorker{WorkerID: id, MaxLongPollSeconds: 3600, MaxLogBytes: 64 << 10}, nil
}

// Poll implements tasker.WorkerBackend.
func (b *backend) Poll(ctx context.Context, req tasker.PollRequest) (*tasker.PollResponse, error) {
	if b.give(req.WorkerID) {
		return &tasker.PollResponse{Steps: []tasker.Assignment{b.step}}, nil
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

// Progress implements tasker.WorkerBackend.
func (b *backend) Progress(_ context.Context, r tasker.ProgressReport) (*tasker.LeaseAnswer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Checkpoint != nil {
		b.stored = append(b.stored, r.Checkpoint)
	} else {
		b.progress = append(b.progress, Progress{Percent: r.ProgressPercent, Message: r.StatusMessage})
	}
	return &tasker.LeaseAnswer{StepUUID: r.StepUUID, Status: tasker.LeaseHeld}, nil
}

// Settle implements tasker.WorkerBackend.
func (b *backend) Settle(_ context.Context, req tasker.SettleRequest) ([]tasker.SettleAnswer, error) {
	answers := make([]tasker.SettleAnswer, len(req.Results))
	for i, r := range req.Results {
		answers[i].StepUUID = r.StepUUID
		b.settled <- r // the one step settles once
	}
	return answers, nil
}

// Heartbeat implements tasker.WorkerBackend.
func (b *backend) Heartbeat(_ context.Context, beat tasker.Heartbeat) (*tasker.HeartbeatResponse, error) {
	out := &tasker.HeartbeatResponse{Acknowledged: true}
	for _, ref := range beat.Steps {
		status := tasker.LeaseHeld
		if b.interrupted != "" {
			status = b.interrupted
		}
		out.Leases = append(out.Leases, tasker.LeaseAnswer{StepUUID: ref.StepUUID, Status: status})
	}
	return out, nil
}

// Drain implements tasker.WorkerBackend.
func (b *backend) Drain(context.Context, tasker.DrainRequest) (*tasker.DrainResponse, error) {
	return &tasker.DrainResponse{}, nil
}
