package worker_test

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// together returns a function that blocks until it has been called twice.
func together() func() {
	var calls atomic.Int64
	both := make(chan struct{})
	return func() {
		if calls.Add(1) == 2 {
			close(both)
		}
		<-both
	}
}

// fake is a Backend with a queue and a memory. Each hook may replace what one
// method answers; a method that is not faked panics.
type fake struct {
	tasker.Backend

	self        tasker.RegisteredWorker
	onRegister  func(tasker.WorkerRegistration) error
	onStart     func(tasker.StartRequest) ([]tasker.LeaseAnswer, error)
	onPoll      func(context.Context, tasker.PollRequest) (*tasker.PollResponse, error)
	onSettle    func(context.Context, tasker.SettleRequest) ([]tasker.SettleAnswer, error)
	onHeartbeat func(tasker.Heartbeat) (*tasker.HeartbeatResponse, error)
	onProgress  func(tasker.ProgressReport) (*tasker.LeaseAnswer, error)

	mu         sync.Mutex
	ready      []tasker.Assignment
	arrived    chan struct{} // closed and replaced when ready grows
	registered []tasker.WorkerRegistration
	serves     map[uuid.UUID][]string // handlers of each worker
	polls      []tasker.PollRequest
	asked      map[int]int // capacities of the polls that wait, by their place in polls
	settled    [][]tasker.StepResult
	starts     []tasker.StartRequest
	beats      []tasker.Heartbeat
	drains     []tasker.DrainRequest
}

func newFake() *fake {
	return &fake{
		self:    tasker.RegisteredWorker{HeartbeatIntervalMS: 10_000, LeaseSeconds: 60, MaxLongPollSeconds: 60},
		arrived: make(chan struct{}), asked: map[int]int{}, serves: map[uuid.UUID][]string{},
	}
}

// put makes steps ready.
func (f *fake) put(steps ...tasker.Assignment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = append(f.ready, steps...)
	close(f.arrived)
	f.arrived = make(chan struct{})
}

// take removes up to n ready steps that the worker serves; without any, it returns the channel that is closed when
// some arrive. A handler that no worker serves goes to anybody, as from a server that has gone wrong.
func (f *fake) take(worker uuid.UUID, n int) ([]tasker.Assignment, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := slices.Concat(slices.Collect(maps.Values(f.serves))...)
	var steps, left []tasker.Assignment
	for _, s := range f.ready {
		fits := slices.Contains(f.serves[worker], s.Handler) || !slices.Contains(known, s.Handler)
		if fits && len(steps) < n {
			steps = append(steps, s)
		} else {
			left = append(left, s)
		}
	}
	f.ready = left
	return steps, f.arrived
}

func (f *fake) RegisterWorker(_ context.Context, reg tasker.WorkerRegistration) (*tasker.RegisteredWorker, error) {
	f.mu.Lock()
	f.registered = append(f.registered, reg)
	f.mu.Unlock()
	if f.onRegister != nil {
		if err := f.onRegister(reg); err != nil {
			return nil, err
		}
	}
	self := f.self
	self.WorkerID = uuid.New()
	f.mu.Lock()
	f.serves[self.WorkerID] = reg.Handlers
	f.mu.Unlock()
	return &self, nil
}

func (f *fake) Poll(ctx context.Context, req tasker.PollRequest) (*tasker.PollResponse, error) {
	f.mu.Lock()
	n := len(f.polls)
	f.polls = append(f.polls, req)
	f.asked[n] = req.Capacity
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.asked, n)
		f.mu.Unlock()
	}()
	if f.onPoll != nil {
		return f.onPoll(ctx, req)
	}
	timer := time.NewTimer(time.Duration(req.WaitMS) * time.Millisecond)
	defer timer.Stop()
	for {
		steps, arrived := f.take(req.WorkerID, req.Capacity)
		if len(steps) > 0 {
			return &tasker.PollResponse{Steps: steps}, nil
		}
		select {
		case <-arrived:
		case <-timer.C:
			return &tasker.PollResponse{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *fake) Start(_ context.Context, req tasker.StartRequest) ([]tasker.LeaseAnswer, error) {
	f.mu.Lock()
	f.starts = append(f.starts, req)
	f.mu.Unlock()
	if f.onStart != nil {
		return f.onStart(req)
	}
	return answer(req.Steps, tasker.LeaseHeld), nil
}

func (f *fake) Settle(ctx context.Context, req tasker.SettleRequest) ([]tasker.SettleAnswer, error) {
	if f.onSettle != nil {
		if answers, err := f.onSettle(ctx, req); answers != nil || err != nil {
			return answers, err
		}
	}
	f.mu.Lock()
	f.settled = append(f.settled, req.Results)
	f.mu.Unlock()
	answers := make([]tasker.SettleAnswer, len(req.Results))
	for i, r := range req.Results {
		answers[i].StepUUID = r.StepUUID
	}
	return answers, nil
}

func (f *fake) Heartbeat(_ context.Context, beat tasker.Heartbeat) (*tasker.HeartbeatResponse, error) {
	f.mu.Lock()
	f.beats = append(f.beats, beat)
	f.mu.Unlock()
	if f.onHeartbeat != nil {
		return f.onHeartbeat(beat)
	}
	return &tasker.HeartbeatResponse{Acknowledged: true, Leases: answer(beat.Steps, tasker.LeaseHeld)}, nil
}

func (f *fake) Progress(_ context.Context, report tasker.ProgressReport) (*tasker.LeaseAnswer, error) {
	if f.onProgress != nil {
		return f.onProgress(report)
	}
	return &tasker.LeaseAnswer{StepUUID: report.StepUUID, Status: tasker.LeaseHeld}, nil
}

func (f *fake) Drain(_ context.Context, req tasker.DrainRequest) (*tasker.DrainResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drains = append(f.drains, req)
	return &tasker.DrainResponse{}, nil
}

// answer gives every lease the same answer.
func answer(refs []tasker.LeaseRef, status string) []tasker.LeaseAnswer {
	answers := make([]tasker.LeaseAnswer, len(refs))
	for i, ref := range refs {
		answers[i] = tasker.LeaseAnswer{StepUUID: ref.StepUUID, Status: status}
	}
	return answers
}

// results returns all that was reported, in order.
func (f *fake) results() []tasker.StepResult {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []tasker.StepResult
	for _, batch := range f.settled {
		all = append(all, batch...)
	}
	return all
}

func (f *fake) pollCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.polls)
}

// waiting returns the capacities of the polls that wait, sorted.
func (f *fake) waiting() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Values(f.asked))
}

func (f *fake) allBeats() []tasker.Heartbeat {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.beats)
}

// step makes an assignment for a handler.
func step(handler string) tasker.Assignment {
	return tasker.Assignment{
		StepUUID: uuid.New(), TaskUUID: uuid.New(), Token: "1", State: tasker.StepInProgress,
		Namespace: "default", TaskName: handler, StepName: handler, Handler: handler, Attempt: 1, MaxAttempts: 3,
	}
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// running is a worker at work; stop ends it and returns what Run returned.
type running struct {
	cancel context.CancelFunc
	err    chan error
}

func run(t *testing.T, w *worker.Worker) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{cancel: cancel, err: make(chan error, 1)}
	go func() { r.err <- w.Run(ctx) }()
	return r
}

func (r *running) stop() error {
	r.cancel()
	return <-r.err
}

// worker makes a worker on f with quiet options.
func newWorker(f *fake, opts worker.Options) *worker.Worker {
	opts.Logger = quiet()
	return worker.New(tasker.NewClient(f), &opts)
}
