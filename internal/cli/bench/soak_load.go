package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

const (
	// One in soakFails tasks fails its first attempt, one in soakFatal permanently.
	soakFails, soakFatal = 50, 1000
	// soakTick is the interval of submissions.
	soakTick = 10 * time.Millisecond
	// soakOperator resolves permanent failures.
	soakOperator = "bench"
)

type soakTask struct {
	Number int64  `json:"n"`
	At     int64  `json:"at"` // submission, in nanoseconds
	Filler string `json:"d"`
}

// soakLoad submits and executes tasks at a steady rate, and measures their time.
type soakLoad struct {
	number atomic.Int64
	behind atomic.Int64 // due tasks that were not submitted in time

	mu    sync.Mutex
	since map[uuid.UUID]int64 // submissions of the tasks of leased steps, in nanoseconds
	took  []time.Duration     // from submission to acknowledged result, this minute
	err   error               // of the first failed submission
}

// start begins the load; stop ends it and returns its error.
func (l *soakLoad) start(ctx context.Context, client *tasker.Client, opts Options) (stop func() error) {
	l.since = map[uuid.UUID]int64{}
	ctx, cancel := context.WithCancel(ctx)
	var callers sync.WaitGroup
	due := make(chan struct{}, opts.Rate)
	callers.Go(func() { l.pace(ctx, due, opts.Rate) })
	for range opts.Producers {
		callers.Go(func() { l.submit(ctx, client, due, opts.PayloadBytes) })
	}
	working, drain := context.WithCancel(context.WithoutCancel(ctx))
	w := worker.New(tasker.NewClient(&soakBackend{protocol.Of(client), l}),
		&worker.Options{Name: "soak", Concurrency: opts.Workers, Quiet: true})
	w.Handle(Handler, l.handle)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(working) }()
	return sync.OnceValue(func() error {
		cancel()
		callers.Wait()
		drain()
		err := <-ended
		l.mu.Lock()
		defer l.mu.Unlock()
		return errors.Join(err, l.err)
	})
}

// pace queues the due tasks; those that do not fit are behind, because the callers are too slow.
func (l *soakLoad) pace(ctx context.Context, due chan<- struct{}, rate int) {
	defer close(due)
	tick := time.NewTicker(soakTick)
	defer tick.Stop()
	begin, sent := time.Now(), int64(0)
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for want := int64(time.Since(begin).Seconds() * float64(rate)); sent < want; sent++ {
			select {
			case due <- struct{}{}:
			default:
				l.behind.Add(1)
			}
		}
	}
}

func (l *soakLoad) submit(ctx context.Context, client *tasker.Client, due <-chan struct{}, size int) {
	filler := string(Payload(size))
	for range due {
		t := soakTask{Number: l.number.Add(1), At: time.Now().UnixNano(), Filler: filler}
		body, err := json.Marshal(t)
		if err == nil {
			_, err = client.Submit(ctx, tasker.TaskRequest{TaskType: Handler, Context: body, Initiator: soakOperator})
		}
		if err != nil && ctx.Err() == nil {
			l.mu.Lock()
			l.err = first(l.err, err)
			l.mu.Unlock()
		}
	}
}

// handle is the handler: some tasks fail once, and a few for good.
func (l *soakLoad) handle(_ context.Context, job *worker.Job) (any, error) {
	var t soakTask
	if err := job.Decode(&t); err != nil {
		return nil, worker.NonRetryable(err)
	}
	switch {
	case t.Number%soakFatal == 0:
		return nil, worker.NonRetryable(fmt.Errorf("record %d is not valid", t.Number))
	case t.Number%soakFails == 0 && job.Attempt == 1:
		return nil, fmt.Errorf("connection %d was refused", t.Number)
	case job.Attempt == 1: // the pause before a retry is not the engine's
		l.mu.Lock()
		l.since[job.StepUUID] = t.At
		l.mu.Unlock()
	}
	return nil, nil
}

// sample returns and resets the load's counts.
func (l *soakLoad) sample() SoakMinute {
	l.mu.Lock()
	took := l.took
	l.took = make([]time.Duration, 0, cap(took))
	l.mu.Unlock()
	m := SoakMinute{Tasks: len(took), Behind: l.behind.Swap(0)}
	if s := Summary(slices.Clone(took)); s != nil {
		m.P50, m.P99 = s.P50, s.P99
	}
	return m
}

// attend plays the operator: it resolves failed steps and closes their cases, so that retention can delete the
// tasks.
func (*soakLoad) attend(ctx context.Context, client *tasker.Client, before time.Time) error {
	desk := operate.Of(client)
	filter := operate.CaseFilter{ResolutionStatus: tasker.CasePending, Before: before}
	page := operate.BulkPage{Limit: BulkSize}
	for {
		acted, err := desk.ActOnCases(ctx, operate.BulkStepAction{Filter: filter, BulkPage: page,
			Action: tasker.StepAction{ActionType: tasker.ResolveManually, ResolvedBy: soakOperator, Reason: "soak"}})
		if err != nil {
			return fmt.Errorf("resolve failed steps: %w", err)
		}
		closed, err := desk.UpdateCases(ctx, operate.BulkCaseUpdate{Filter: filter, BulkPage: page,
			Update: operate.CaseUpdate{ResolutionStatus: tasker.CaseManuallyResolved, ResolvedBy: soakOperator}})
		if err != nil {
			return fmt.Errorf("close cases: %w", err)
		}
		if acted.Failed > 0 || closed.Failed > 0 {
			return fmt.Errorf("%d acts and %d updates were refused", acted.Failed, closed.Failed)
		}
		if closed.NextCursor == "" {
			return nil
		}
	}
}

// soakBackend times acknowledged results.
type soakBackend struct {
	protocol.Backend
	load *soakLoad
}

// Settle implements protocol.WorkerBackend.
func (b *soakBackend) Settle(ctx context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	answers, err := b.Backend.Settle(ctx, req)
	now := time.Now().UnixNano()
	l := b.load
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range answers {
		at, ok := l.since[a.StepUUID]
		delete(l.since, a.StepUUID)
		if ok && a.Error == nil && a.State == tasker.StepComplete {
			l.took = append(l.took, time.Duration(now-at))
		}
	}
	return answers, err
}
