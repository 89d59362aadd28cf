package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/worker/protocol"
)

const (
	claimRounds = 15
	setCalls    = 1000 // of each round at most; a tenth of them for large claims
)

// setClaims measures claims from one set, with empty other queues and then with full ones, under otherwise equal
// conditions.
func (r *run) setClaims(ctx context.Context, w *WorkersReport) error {
	batches := []int{1, claimBatch}
	alone, err := r.claimCosts(ctx, batches)
	if err != nil {
		return err
	}
	for i := range capabilitySets - 1 {
		n := r.opts.Tasks / (capabilitySets - 1)
		if err := r.queueOn(ctx, i+1, n); err != nil {
			return fmt.Errorf("queue steps on the others: %w", err)
		}
		w.Queued += n
	}
	among, err := r.claimCosts(ctx, batches)
	if err != nil {
		return err
	}
	for i, n := range batches {
		c := SetClaims{Batch: n, Alone: alone[i], Among: among[i]}
		c.Ratio = bench.Round3(among[i].BestUS / alone[i].BestUS)
		w.Claims = append(w.Claims, c)
	}
	return nil
}

// claimCosts measures several rounds for each size of a claim.
func (r *run) claimCosts(ctx context.Context, batches []int) ([]*ClaimCost, error) {
	costs := make([]*ClaimCost, len(batches))
	for i, n := range batches {
		calls := min(setCalls, max(r.opts.Tasks/capabilitySets, 20)) // a short queue is for trials
		if n > 1 {
			calls /= 10
		}
		var p50 []float64
		var cpu time.Duration
		for range claimRounds {
			if err := r.queueOn(ctx, 0, calls*n); err != nil {
				return nil, err
			}
			took, used, err := r.claimSet(ctx, 0, n, calls)
			if err != nil {
				return nil, err
			}
			slices.Sort(took)
			p50 = append(p50, float64(took[len(took)/2].Nanoseconds())/1000)
			cpu += used
		}
		slices.Sort(p50)
		costs[i] = &ClaimCost{P50US: bench.Round3(p50[len(p50)/2]), BestUS: bench.Round3(p50[0]),
			CPUUS: bench.Round3(float64(cpu.Nanoseconds()) / 1000 / float64(claimRounds*calls))}
	}
	return costs, nil
}

// claimSet claims from a set, and reports the time of each call and the CPU time of all; then it settles the steps,
// unmeasured.
func (r *run) claimSet(ctx context.Context, set, batch, calls int) ([]time.Duration, time.Duration, error) {
	w, err := protocol.Of(r.client()).RegisterWorker(ctx, protocol.WorkerRegistration{Name: "bench-claims",
		Handlers:     []string{bench.Handler},
		Capabilities: []string{setName(set)}, Capacity: batch * calls})
	if err != nil {
		return nil, 0, err
	}
	var took []time.Duration
	var done []protocol.StepResult
	before, err := r.load.Meter.CPU()
	if err != nil {
		return nil, 0, err
	}
	for range calls {
		begin := time.Now()
		resp, err := protocol.Of(r.client()).Poll(ctx,
			protocol.PollRequest{WorkerID: w.WorkerID, Capacity: batch, Start: true})
		if err != nil {
			return nil, 0, err
		}
		took = append(took, time.Since(begin))
		if len(resp.Steps) != batch {
			return nil, 0, fmt.Errorf("a claim brought %d steps of %s instead of %d", len(resp.Steps), setName(set), batch)
		}
		for _, s := range resp.Steps {
			done = append(done, protocol.StepResult{StepUUID: s.StepUUID, Token: s.Token, Status: protocol.ResultCompleted})
		}
	}
	after, err := r.load.Meter.CPU()
	if err != nil {
		return nil, 0, err
	}
	for some := range slices.Chunk(done, bench.BulkSize) {
		if _, err := protocol.Of(r.client()).Settle(ctx,
			protocol.SettleRequest{WorkerID: w.WorkerID, Results: some}); err != nil {
			return nil, 0, err
		}
	}
	_, err = protocol.Of(r.client()).Drain(ctx, protocol.WorkerAct{WorkerID: w.WorkerID, Final: true})
	return took, after - before, err
}
