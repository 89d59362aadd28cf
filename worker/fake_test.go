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
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// together returns a function that blocks until its second call.
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

// fake is a Backend with a queue and a memory. Each hook may replace a method's answer; other methods panic.
type fake struct {
	protocol.Backend

	self        protocol.RegisteredWorker
	onRegister  func(protocol.WorkerRegistration) error
	onStart     func(protocol.StartRequest) ([]protocol.LeaseAnswer, error)
	onPoll      func(context.Context, protocol.PollRequest) (*protocol.PollResponse, error)
	onSettle    func(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error)
	onHeartbeat func(protocol.Heartbeat) (*protocol.HeartbeatResponse, error)
	onProgress  func(protocol.ProgressReport) (*protocol.LeaseAnswer, error)

	mu         sync.Mutex
	ready      []protocol.Assignment
	arrived    chan struct{} // closed and replaced when ready grows
	registered []protocol.WorkerRegistration
	serves     map[uuid.UUID][]string
	polls      []protocol.PollRequest
	asked      map[int]int // capacities of the waiting polls, by their place in polls
	settled    [][]protocol.StepResult
	starts     []protocol.StartRequest
	beats      []protocol.Heartbeat
	drains     []protocol.WorkerAct
}

func newFake() *fake {
	return &fake{
		self:    protocol.RegisteredWorker{HeartbeatIntervalMS: 10_000, LeaseSeconds: 60, MaxLongPollSeconds: 60},
		arrived: make(chan struct{}), asked: map[int]int{}, serves: map[uuid.UUID][]string{},
	}
}

func (f *fake) put(steps ...protocol.Assignment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = append(f.ready, steps...)
	close(f.arrived)
	f.arrived = make(chan struct{})
}

// take removes up to n ready steps for the worker, or returns the channel that is closed when some arrive. Any worker
// gets a handler that no worker serves, as from a faulty server.
func (f *fake) take(worker uuid.UUID, n int) ([]protocol.Assignment, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := slices.Concat(slices.Collect(maps.Values(f.serves))...)
	var steps, left []protocol.Assignment
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

func (f *fake) RegisterWorker(_ context.Context, reg protocol.WorkerRegistration) (*protocol.RegisteredWorker, error) {
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

func (f *fake) Poll(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
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
			return &protocol.PollResponse{Steps: steps}, nil
		}
		select {
		case <-arrived:
		case <-timer.C:
			return &protocol.PollResponse{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *fake) Start(_ context.Context, req protocol.StartRequest) ([]protocol.LeaseAnswer, error) {
	f.mu.Lock()
	f.starts = append(f.starts, req)
	f.mu.Unlock()
	if f.onStart != nil {
		return f.onStart(req)
	}
	return answer(req.Steps, protocol.LeaseHeld), nil
}

func (f *fake) Settle(ctx context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	if f.onSettle != nil {
		if answers, err := f.onSettle(ctx, req); answers != nil || err != nil {
			return answers, err
		}
	}
	f.mu.Lock()
	f.settled = append(f.settled, req.Results)
	f.mu.Unlock()
	answers := make([]protocol.SettleAnswer, len(req.Results))
	for i, r := range req.Results {
		answers[i].StepUUID = r.StepUUID
	}
	return answers, nil
}

func (f *fake) Heartbeat(_ context.Context, beat protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
	f.mu.Lock()
	f.beats = append(f.beats, beat)
	f.mu.Unlock()
	if f.onHeartbeat != nil {
		return f.onHeartbeat(beat)
	}
	return &protocol.HeartbeatResponse{Acknowledged: true, Leases: answer(beat.Steps, protocol.LeaseHeld)}, nil
}

func (f *fake) Progress(_ context.Context, report protocol.ProgressReport) (*protocol.LeaseAnswer, error) {
	if f.onProgress != nil {
		return f.onProgress(report)
	}
	return &protocol.LeaseAnswer{StepUUID: report.StepUUID, Status: protocol.LeaseHeld}, nil
}

func (f *fake) Drain(_ context.Context, req protocol.WorkerAct) (*protocol.DrainResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drains = append(f.drains, req)
	return &protocol.DrainResponse{}, nil
}

func answer(refs []protocol.LeaseRef, status string) []protocol.LeaseAnswer {
	answers := make([]protocol.LeaseAnswer, len(refs))
	for i, ref := range refs {
		answers[i] = protocol.LeaseAnswer{StepUUID: ref.StepUUID, Status: status}
	}
	return answers
}

func (f *fake) results() []protocol.StepResult {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []protocol.StepResult
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

func (f *fake) waiting() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Values(f.asked))
}

func (f *fake) allBeats() []protocol.Heartbeat {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.beats)
}

func step(handler string) protocol.Assignment {
	return protocol.Assignment{
		StepUUID: uuid.New(), TaskUUID: uuid.New(), Token: "1", State: tasker.StepInProgress,
		Namespace: "default", TaskName: handler, StepName: handler, Handler: handler, Attempt: 1, MaxAttempts: 3,
	}
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// running is a worker at work; stop ends it and returns the result of Run.
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

func newWorker(f *fake, opts worker.Options) *worker.Worker {
	opts.Logger = quiet()
	return worker.New(tasker.NewClient(f), &opts)
}
