package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

// producers measures each way to open cases for n tasks, without cases and with, by the same work on the same database.
func (s *stage) producers(ctx context.Context, c *CasesReport, n int) error {
	ways := []struct {
		reason  tasker.CaseReason
		produce func(ctx context.Context, n int) (*bench.Phase, error)
		alone   bool // without cases there is no work
	}{
		{tasker.ReasonMaxRetries, s.exhaust, false},
		{tasker.ReasonStaleness, s.growStale, false},
		{tasker.ReasonCycle, s.submitRings, false},
		{tasker.ReasonWorkerUnavailable, s.leaveUnserved, true},
		{tasker.ReasonManual, s.openByHand, true},
	}
	costs := make([]CaseCost, len(ways))
	for _, cases := range []settings.Switch{withoutCases, withCases} {
		if err := s.open(ctx, cases); err != nil {
			return err
		}
		for i, w := range ways {
			if w.alone && cases == withoutCases {
				continue
			}
			phase, err := w.produce(ctx, n)
			if err != nil {
				return fmt.Errorf("%s: %w", w.reason, err)
			}
			costs[i].Reason, costs[i].Tasks = string(w.reason), n
			if cases == withCases {
				costs[i].With = phase
			} else {
				costs[i].Without = phase
			}
		}
	}
	c.Producers = costs
	return nil
}

// exhaust lets tasks fail for good, up to 1,000 results a call. It measures the results, not the claims.
func (s *stage) exhaust(ctx context.Context, n int) (*bench.Phase, error) {
	if _, err := s.submit(ctx, failing, n, time.Minute); err != nil {
		return nil, err
	}
	w, err := protocol.Of(s.client).RegisterWorker(ctx, protocol.WorkerRegistration{Name: "bench",
		Namespaces: []string{protocol.AllNamespaces}, Handlers: []string{string(failing)},
		Capacity: n})
	if err != nil {
		return nil, err
	}
	final := false
	failure := &tasker.Failure{Retryable: &final, Type: "DeclinedError",
		Message: "the card was declined: insufficient funds", Code: "DECLINED",
		Details: json.RawMessage(`{"gateway":"bench","reference":"4711"}`)}
	var calls []protocol.SettleRequest
	for got := 0; got < n; {
		resp, err := protocol.Of(s.client).Poll(ctx,
			protocol.PollRequest{WorkerID: w.WorkerID, Capacity: min(bench.BulkSize, n-got),
				Start: true})
		if err != nil {
			return nil, err
		}
		if len(resp.Steps) == 0 {
			return nil, fmt.Errorf("the queue of %s ran dry", failing)
		}
		req := protocol.SettleRequest{WorkerID: w.WorkerID}
		for _, a := range resp.Steps {
			req.Results = append(req.Results, protocol.StepResult{StepUUID: a.StepUUID, Token: a.Token,
				Status: protocol.ResultFailed, Error: failure})
		}
		calls = append(calls, req)
		got += len(resp.Steps)
	}
	s.pass(time.Second)
	return s.run.load.Measure(n, func() error { return s.settle(ctx, calls) })
}

// settle reports results, and makes sure that each of them opened the way to a case: a step in error.
func (s *stage) settle(ctx context.Context, calls []protocol.SettleRequest) error {
	for _, req := range calls {
		answers, err := protocol.Of(s.client).Settle(ctx, req)
		if err != nil {
			return err
		}
		for _, a := range answers {
			if a.Error != nil {
				return a.Error
			}
			if a.State != tasker.StepError {
				return fmt.Errorf("a step that failed for good is %s", a.State)
			}
		}
	}
	return nil
}

// growStale makes tasks stale; one cycle finds them all. The first look at each task comes before: it is not a part of
// the price.
func (s *stage) growStale(ctx context.Context, n int) (*bench.Phase, error) {
	if _, err := s.submit(ctx, dying, n, 0); err != nil {
		return nil, err
	}
	s.pass(lookedAt)
	if _, err := s.survey(ctx, n); err != nil {
		return nil, err
	}
	s.pass(threshold - lookedAt + time.Second)
	return s.run.load.Measure(n, func() error {
		_, err := s.detect(ctx, n, nil)
		return err
	})
}

func (s *stage) submitRings(ctx context.Context, n int) (*bench.Phase, error) {
	return s.run.load.Measure(n, func() error {
		_, err := s.submit(ctx, ringed, n, time.Minute)
		return err
	})
}

// leaveUnserved leaves tasks without a worker until they are found, 1,000 at a time.
func (s *stage) leaveUnserved(ctx context.Context, n int) (*bench.Phase, error) {
	if _, err := s.submit(ctx, waiting, n, time.Minute); err != nil {
		return nil, err
	}
	e, err := s.engine(ctx)
	if err != nil {
		return nil, err
	}
	s.pass(10 * time.Minute)
	// The other handlers are served.
	others := []string{string(living), string(dying), string(failing), string(ringed)}
	if _, err := protocol.Of(s.client).RegisterWorker(ctx, protocol.WorkerRegistration{Name: "bench",
		Namespaces: []string{protocol.AllNamespaces}, Handlers: others,
		Capacity: 1}); err != nil {
		return nil, err
	}
	return s.run.load.Measure(n, func() error {
		for {
			if found, err := e.FindUnserved(ctx, bench.BulkSize); err != nil || found < bench.BulkSize {
				return err
			}
		}
	})
}

func (s *stage) openByHand(ctx context.Context, n int) (*bench.Phase, error) {
	tasks, err := s.submit(ctx, living, n, time.Minute)
	if err != nil {
		return nil, err
	}
	req := operate.OpenCaseRequest{OpenedBy: "bench", Reason: "a customer has called about it"}
	return s.run.load.Measure(n, func() error {
		return s.each(ctx, tasks, func(ctx context.Context, _ int, id uuid.UUID) error {
			_, err := operate.Of(s.client).OpenCase(ctx, id, req)
			return err
		})
	})
}

// each calls fn for each ID, by concurrent producers. The first error ends it.
func (s *stage) each(ctx context.Context, ids []uuid.UUID,
	fn func(ctx context.Context, i int, id uuid.UUID) error,
) error {
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range s.run.opts.Producers {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(ids); i = int(next.Add(1)) - 1 {
				if err := fn(ctx, i, ids[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}
