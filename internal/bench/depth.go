package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
)

// DepthReport is the result of depth mode: what a long queue costs.
type DepthReport struct {
	Queued          int                `json:"queued"`
	StartUpMS       float64            `json:"start_up_ms"`          // opening the database with the queue in it
	ClaimsPerSecond float64            `json:"claims_per_s"`         // with the whole queue
	ClaimsShort     float64            `json:"claims_per_s_of_1000"` // with 1,000 queued, in the same run
	PagesMS         map[string]float64 `json:"slowest_page_ms"`      // slowest of several pages, by filter
}

const (
	claimBatch = 100
	claimed    = 1000 // per measurement: the short queue holds no more
	pageRounds = 5
)

// depth fills a queue, opens it anew, and claims and lists from it.
func (b *bed) depth(ctx context.Context, r *Report) error {
	if b.opts.Via != InProcess {
		return fmt.Errorf("depth is measured in process")
	}
	d := &DepthReport{Queued: b.opts.Tasks}
	r.Depth = d
	// a few tasks of another kind, with a tag, so that filters have to search
	if _, err := b.client.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: rareTasks()}); err != nil {
		return err
	}
	if err := b.bulk(ctx, b.opts.Tasks); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if err := b.reopen(ctx, d); err != nil {
		return fmt.Errorf("reopen: %w", err)
	}
	var err error
	if d.PagesMS, err = b.pages(ctx); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	if d.ClaimsPerSecond, err = b.claims(ctx, handler); err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	short := make([]tasker.TaskRequest, claimed)
	for i := range short {
		short[i] = tasker.TaskRequest{TaskType: "bench_short", Context: payload(b.opts.PayloadBytes)}
	}
	if _, err := b.client.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: short}); err != nil {
		return err
	}
	if err := b.reopen(ctx, nil); err != nil { // both queues are claimed cold
		return err
	}
	d.ClaimsShort, err = b.claims(ctx, "bench_short")
	return err
}

func rareTasks() []tasker.TaskRequest {
	tasks := make([]tasker.TaskRequest, 10)
	for i := range tasks {
		tasks[i] = tasker.TaskRequest{TaskType: "bench_rare", Tags: []string{"rare"}, CorrelationID: "rare", Priority: tasker.Low}
	}
	return tasks
}

func (b *bed) reopen(ctx context.Context, d *DepthReport) error {
	if err := b.client.Close(); err != nil {
		return err
	}
	begin := time.Now()
	client, err := embedded.Open(ctx, b.opts.DB, nil)
	if err != nil {
		return err
	}
	if d != nil {
		d.StartUpMS = ms(time.Since(begin))
	}
	b.done = &counter{Backend: client.Backend}
	b.client = tasker.NewClient(b.done)
	return nil
}

func ms(d time.Duration) float64 { return round3(float64(d.Microseconds()) / 1000) }

// claims measures polls of a worker that serves one handler.
func (b *bed) claims(ctx context.Context, handler string) (float64, error) {
	w, err := b.client.RegisterWorker(ctx, tasker.WorkerRegistration{Name: "bench", Handlers: []string{handler}, Capacity: claimBatch})
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	for got := 0; got < claimed; {
		resp, err := b.client.Poll(ctx, tasker.PollRequest{WorkerID: w.WorkerID, Capacity: claimBatch, Start: true})
		if err != nil {
			return 0, err
		}
		if len(resp.Steps) == 0 {
			return 0, fmt.Errorf("the queue of %s ran dry after %d", handler, got)
		}
		got += len(resp.Steps)
	}
	return round(claimed / time.Since(begin).Seconds()), nil
}

// pages measures the first pages of lists with and without filters, and one in
// the middle of the list.
func (b *bed) pages(ctx context.Context) (map[string]float64, error) {
	middle := time.Now().Add(-time.Second)
	filters := map[string]tasker.TaskFilter{
		"all":             {},
		"in_process":      {States: []tasker.TaskState{tasker.TaskStepsInProcess}},
		"error_none":      {States: []tasker.TaskState{tasker.TaskError}},
		"rare_name":       {Name: "bench_rare"},
		"tag":             {Tag: "rare"},
		"correlation":     {CorrelationID: "rare"},
		"rare_priority":   {Priority: tasker.Low},
		"created_before":  {CreatedBefore: &middle},
		"name_and_states": {Name: handler, States: []tasker.TaskState{tasker.TaskError, tasker.TaskStepsInProcess}},
	}
	slowest := map[string]float64{}
	for name, f := range filters {
		for range pageRounds {
			begin := time.Now()
			page, err := b.client.Tasks(ctx, f)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			slowest[name] = max(slowest[name], ms(time.Since(begin)))
			if f.Cursor = page.NextCursor; f.Cursor == "" {
				break
			}
		}
	}
	return slowest, nil
}
