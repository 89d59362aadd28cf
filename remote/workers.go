package remote

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
	"github.com/taskerhq/tasker/internal/wire"
)

// workerPath is the path of a call by or about one worker.
func workerPath(id uuid.UUID, verb string) string {
	return "/internal/workers/" + id.String() + "/" + verb
}

// RegisterWorker implements WorkerBackend. After a lost response the server keeps a worker that
// nobody uses, until it is declared dead.
func (b *httpBackend) RegisterWorker(ctx context.Context, reg tasker.WorkerRegistration,
) (*tasker.RegisteredWorker, error) {
	return fetch[tasker.RegisteredWorker](ctx, b, call{
		verb: "register worker", method: http.MethodPost, path: "/internal/workers/register", body: reg,
	})
}

// Workers implements WorkerBackend. It reads all pages.
func (b *httpBackend) Workers(ctx context.Context) ([]tasker.WorkerInfo, error) {
	var all []tasker.WorkerInfo
	q := query.Values{}
	for {
		var page struct {
			Workers    []tasker.WorkerInfo `json:"workers"`
			NextCursor string              `json:"next_cursor"`
		}
		err := b.do(ctx, call{verb: "list workers", method: http.MethodGet, path: "/internal/workers", query: url.Values(q)},
			&page)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Workers...)
		if page.NextCursor == "" {
			return all, nil
		}
		q.Set("cursor", page.NextCursor)
	}
}

// Worker implements WorkerBackend.
func (b *httpBackend) Worker(ctx context.Context, id uuid.UUID) (*tasker.WorkerInfo, error) {
	return fetch[tasker.WorkerInfo](ctx, b, call{verb: "get worker", method: http.MethodGet,
		path: "/internal/workers/" + id.String()})
}

// ResumeWorker implements WorkerBackend.
func (b *httpBackend) ResumeWorker(ctx context.Context, req tasker.ResumeRequest) (*tasker.WorkerInfo, error) {
	return fetch[tasker.WorkerInfo](ctx, b, call{verb: "resume worker", method: http.MethodPost,
		path: workerPath(req.WorkerID, "resume"), body: req})
}

// CordonWorker implements WorkerBackend.
func (b *httpBackend) CordonWorker(ctx context.Context, req tasker.CordonRequest) (*tasker.WorkerInfo, error) {
	return fetch[tasker.WorkerInfo](ctx, b, call{verb: "cordon worker", method: http.MethodPost,
		path: workerPath(req.WorkerID, "cordon"), body: req})
}

// UncordonWorker implements WorkerBackend.
func (b *httpBackend) UncordonWorker(ctx context.Context, req tasker.UncordonRequest) (*tasker.WorkerInfo, error) {
	return fetch[tasker.WorkerInfo](ctx, b, call{verb: "uncordon worker", method: http.MethodPost,
		path: workerPath(req.WorkerID, "uncordon"), body: req})
}

// Poll implements WorkerBackend. Its time limit is RequestTimeout after the end of the
// requested wait.
func (b *httpBackend) Poll(ctx context.Context, req tasker.PollRequest) (*tasker.PollResponse, error) {
	return fetch[tasker.PollResponse](ctx, b, call{
		verb: "poll", method: http.MethodPost, path: workerPath(req.WorkerID, "poll"), body: req,
		wait: time.Duration(req.WaitMS) * time.Millisecond,
	})
}

// Start implements WorkerBackend.
func (b *httpBackend) Start(ctx context.Context, req tasker.StartRequest) ([]tasker.LeaseAnswer, error) {
	var out struct {
		Leases []tasker.LeaseAnswer `json:"leases"`
	}
	c := call{verb: "start steps", method: http.MethodPost, path: workerPath(req.WorkerID, "start"), body: req}
	if err := b.do(ctx, c, &out); err != nil {
		return nil, err
	}
	if err := wire.SameLength(c.verb, len(req.Steps), len(out.Leases)); err != nil {
		return nil, err
	}
	return out.Leases, nil
}

// Progress implements WorkerBackend.
func (b *httpBackend) Progress(ctx context.Context, report tasker.ProgressReport) (*tasker.LeaseAnswer, error) {
	return fetch[tasker.LeaseAnswer](ctx, b, call{
		verb: "report progress", method: http.MethodPost, path: workerPath(report.WorkerID, "progress"), body: report,
	})
}

// Heartbeat implements WorkerBackend.
func (b *httpBackend) Heartbeat(ctx context.Context, beat tasker.Heartbeat) (*tasker.HeartbeatResponse, error) {
	return fetch[tasker.HeartbeatResponse](ctx, b, call{
		verb: "heartbeat", method: http.MethodPost, path: workerPath(beat.WorkerID, "heartbeat"), body: beat,
	})
}

// Drain implements WorkerBackend.
func (b *httpBackend) Drain(ctx context.Context, req tasker.DrainRequest) (*tasker.DrainResponse, error) {
	resp, err := fetch[tasker.DrainResponse](ctx, b, call{
		verb: "drain worker", method: http.MethodPost, path: workerPath(req.WorkerID, "drain"), body: req,
	})
	if req.Final {
		b.mu.Lock()
		delete(b.settles, req.WorkerID) // a final drain is the worker's last request
		b.mu.Unlock()
	}
	return resp, err
}

// Settle gathers a single result with those of the worker's other callers, and sends several results as one
// request.
func (b *httpBackend) Settle(ctx context.Context, req tasker.SettleRequest) ([]tasker.SettleAnswer, error) {
	if len(req.Results) != 1 {
		return b.settle(ctx, req)
	}
	answer, err := b.settlesOf(req.WorkerID).do(ctx, req.Results[0])
	if err != nil {
		return nil, err
	}
	return []tasker.SettleAnswer{answer}, nil
}

// settle sends results as one request.
func (b *httpBackend) settle(ctx context.Context, req tasker.SettleRequest) ([]tasker.SettleAnswer, error) {
	var out struct {
		Results []tasker.SettleAnswer `json:"results"`
	}
	out.Results = make([]tasker.SettleAnswer, 0, len(req.Results))
	c := call{verb: "settle steps", method: http.MethodPost, path: workerPath(req.WorkerID, "result"), body: req}
	if err := b.do(ctx, c, &out); err != nil {
		return nil, err
	}
	if err := wire.SameLength(c.verb, len(req.Results), len(out.Results)); err != nil {
		return nil, err
	}
	return out.Results, nil
}

// settlesOf returns the gatherer of one worker. The worker's ID is part of the path, so results of two
// workers cannot share a request.
func (b *httpBackend) settlesOf(worker uuid.UUID) *gatherer[tasker.StepResult, tasker.SettleAnswer] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g := b.settles[worker]; g != nil {
		return g
	}
	g := newGatherer(b.ctx, "settle step", gatherLanes, gatherWiden, wire.MaxItems, wire.MaxBytes, wire.ResultWeight,
		func(ctx context.Context, results []tasker.StepResult) ([]tasker.SettleAnswer, error) {
			return b.settle(ctx, tasker.SettleRequest{WorkerID: worker, Results: results})
		})
	if b.settles == nil {
		b.settles = make(map[uuid.UUID]*gatherer[tasker.StepResult, tasker.SettleAnswer])
	}
	b.settles[worker] = g
	return g
}
