package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/worker/protocol"
)

// DepthReport is the result of depth mode: the cost of a long queue and of a long history.
type DepthReport struct {
	Finished        int                `json:"finished"`
	Queued          int                `json:"queued"`
	FillS           float64            `json:"fill_s"`               // making both
	StartUpMS       float64            `json:"start_up_ms"`          // opening the full database
	ClaimsPerSecond float64            `json:"claims_per_s"`         // with the whole queue
	ClaimsShort     float64            `json:"claims_per_s_of_1000"` // with 1,000 queued, in the same run
	ClaimOne        *bench.Percentiles `json:"claim_1"`              // one call that claims one step, from the whole queue
	ClaimMany       *bench.Percentiles `json:"claim_100"`            // one call that claims up to 100
	PagesMS         map[string]float64 `json:"slowest_page_ms"`      // slowest of several pages, by filter
}

const (
	claimBatch = 100
	claimed    = 1000 // per measurement of claims per second: the short queue holds no more
	claimCalls = 1000 // that are timed, at most
	pageRounds = 5
	throwAway  = 20 // calls go first: caches fill
)

// depth fills a queue, reopens it, and claims and lists from it. The reopening empties the process's caches, as in a
// server that has just started.
func (r *run) depth(ctx context.Context) error {
	d := &DepthReport{Finished: r.opts.finished, Queued: r.opts.Tasks}
	r.report.Depth = d
	begin := time.Now()
	if err := r.fill(ctx); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	d.FillS = bench.Round3(time.Since(begin).Seconds())
	took, err := r.tasker.Reopen(ctx)
	if err != nil {
		return fmt.Errorf("open again: %w", err)
	}
	d.StartUpMS = bench.Milliseconds(took)
	if d.PagesMS, err = r.pages(ctx); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	if err := r.claims(ctx, d); err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	return nil
}

func (r *run) fill(ctx context.Context) error {
	if r.opts.finished > 0 {
		if err := r.history(ctx, r.opts.finished); err != nil {
			return fmt.Errorf("finished tasks: %w", err)
		}
	}
	// A few tasks of another kind, with a tag, so that filters have to search.
	if _, err := r.client().SubmitTasks(ctx, tasker.SubmitRequest{Tasks: rareTasks()}); err != nil {
		return err
	}
	_, err := r.load.BulkInsert(ctx, r.opts.Tasks)
	return err
}

// rareTasks differ from all others in every filterable field.
func rareTasks() []tasker.TaskRequest {
	tasks := make([]tasker.TaskRequest, 10)
	for i := range tasks {
		tasks[i] = tasker.TaskRequest{TaskType: "bench_rare", Tags: []string{"rare"}, CorrelationID: "rare",
			Initiator: "rare", Priority: tasker.Low}
	}
	return tasks
}

// claims measures claims from the whole queue and from a short one, both cold, and then single calls on the whole
// queue.
func (r *run) claims(ctx context.Context, d *DepthReport) error {
	var err error
	if d.ClaimsPerSecond, err = r.claimRate(ctx, bench.Handler); err != nil {
		return err
	}
	short := make([]tasker.TaskRequest, claimed)
	for i := range short {
		short[i] = tasker.TaskRequest{TaskType: "bench_short", Context: bench.Payload(r.opts.PayloadBytes)}
	}
	if _, err := r.client().SubmitTasks(ctx, tasker.SubmitRequest{Tasks: short}); err != nil {
		return err
	}
	if _, err := r.tasker.Reopen(ctx); err != nil {
		return err
	}
	if d.ClaimsShort, err = r.claimRate(ctx, "bench_short"); err != nil {
		return err
	}
	left := max(r.opts.Tasks-claimed, 0)
	if d.ClaimOne, err = r.claimLatency(ctx, 1, min(claimCalls, left/4)); err != nil {
		return err
	}
	d.ClaimMany, err = r.claimLatency(ctx, claimBatch, min(claimCalls, left/2/claimBatch))
	return err
}

// claimRate measures polls for one handler: 1,000 steps, up to 100 a call. The steps stay leased, so the queue gets
// shorter.
func (r *run) claimRate(ctx context.Context, handler string) (perSecond float64, err error) {
	poll, err := r.poller(ctx, handler, claimBatch)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	for got := 0; got < claimed; {
		n, err := poll()
		if err != nil {
			return 0, err
		}
		got += n
	}
	return math.Round(claimed / time.Since(begin).Seconds()), nil
}

// claimLatency measures calls that claim a number of steps each, after some uncounted ones.
func (r *run) claimLatency(ctx context.Context, capacity, calls int) (*bench.Percentiles, error) {
	poll, err := r.poller(ctx, bench.Handler, capacity)
	if err != nil {
		return nil, err
	}
	took := make([]time.Duration, 0, calls)
	for range calls {
		begin := time.Now()
		if _, err := poll(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin))
	}
	return bench.Summary(took[min(throwAway, calls/10):]), nil
}

// poller registers a worker for one handler. poll claims and starts up to capacity steps, and fails when there are
// none.
func (r *run) poller(ctx context.Context, handler string, capacity int) (poll func() (int, error), err error) {
	w, err := protocol.Of(r.client()).RegisterWorker(ctx,
		protocol.WorkerRegistration{Name: "bench", Handlers: []string{handler}})
	if err != nil {
		return nil, err
	}
	return func() (int, error) {
		resp, err := protocol.Of(r.client()).Poll(ctx,
			protocol.PollRequest{WorkerID: w.WorkerID, Capacity: capacity, Start: true})
		if err == nil && len(resp.Steps) == 0 {
			err = fmt.Errorf("the queue of %s ran dry", handler)
		}
		if err != nil {
			return 0, err
		}
		return len(resp.Steps), nil
	}, nil
}

// pages measures the first pages of lists with and without filters, and one in the middle. It keeps the slowest of
// each, which an operator notices.
func (r *run) pages(ctx context.Context) (map[string]float64, error) {
	middle := time.Now().Add(-time.Second)
	filters := map[string]tasker.TaskFilter{
		"all":             {},
		"in_process":      {States: []tasker.TaskState{tasker.TaskStepsInProcess}},
		"complete":        {States: []tasker.TaskState{tasker.TaskComplete}},
		"error_none":      {States: []tasker.TaskState{tasker.TaskError}},
		"rare_name":       {Name: "bench_rare"},
		"tag":             {Tag: "rare"},
		"correlation":     {CorrelationID: "rare"},
		"initiator":       {Initiator: "rare"},
		"rare_priority":   {Priority: tasker.Low},
		"created_before":  {CreatedBefore: &middle},
		"name_and_states": {Name: bench.Handler, States: []tasker.TaskState{tasker.TaskError, tasker.TaskStepsInProcess}},
	}
	slowest := map[string]float64{}
	for name, f := range filters {
		for range pageRounds {
			begin := time.Now()
			page, err := r.client().Tasks(ctx, f)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			slowest[name] = max(slowest[name], bench.Milliseconds(time.Since(begin)))
			if f.Cursor = page.NextCursor; f.Cursor == "" {
				break
			}
		}
	}
	return slowest, nil
}
