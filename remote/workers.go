package remote

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/api/wire"
	"github.com/taskerhq/tasker/internal/kit/query"
	"github.com/taskerhq/tasker/worker/protocol"
)

func workerPath(id uuid.UUID, verb string) string {
	return "/internal/workers/" + id.String() + "/" + verb
}

// RegisterWorker may leave an unused worker after a lost response, until the server declares it dead.
func (b *httpBackend) RegisterWorker(ctx context.Context, reg protocol.WorkerRegistration,
) (*protocol.RegisteredWorker, error) {
	return fetch[protocol.RegisteredWorker](ctx, b, call{
		verb: "register worker", method: http.MethodPost, path: "/internal/workers/register", body: reg,
	})
}

func (b *httpBackend) Workers(ctx context.Context) ([]protocol.WorkerInfo, error) {
	var all []protocol.WorkerInfo
	q := query.Values{}
	for {
		var page struct {
			Workers    []protocol.WorkerInfo `json:"workers"`
			NextCursor string                `json:"next_cursor"`
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

func (b *httpBackend) Worker(ctx context.Context, id uuid.UUID) (*protocol.WorkerInfo, error) {
	return fetch[protocol.WorkerInfo](ctx, b, call{verb: "get worker", method: http.MethodGet,
		path: "/internal/workers/" + id.String()})
}

// actBody names the actor; each act has another name for it.
func actBody(act protocol.WorkerAct, actor string) map[string]any {
	body := map[string]any{}
	if act.By != "" {
		body[actor] = act.By
	}
	if act.Reason != "" {
		body["reason"] = act.Reason
	}
	if act.Final {
		body["final"] = true
	}
	return body
}

// act sends an act on a worker: verb is its route and its name in errors, actor the member of the body for who acts.
func act[T any](ctx context.Context, b *httpBackend, verb, actor string, a protocol.WorkerAct) (*T, error) {
	return fetch[T](ctx, b, call{verb: verb + " worker", method: http.MethodPost, path: workerPath(a.WorkerID, verb),
		body: actBody(a, actor)})
}

func (b *httpBackend) ResumeWorker(ctx context.Context, a protocol.WorkerAct) (*protocol.WorkerInfo, error) {
	return act[protocol.WorkerInfo](ctx, b, "resume", "resumed_by", a)
}

func (b *httpBackend) CordonWorker(ctx context.Context, a protocol.WorkerAct) (*protocol.WorkerInfo, error) {
	return act[protocol.WorkerInfo](ctx, b, "cordon", "cordoned_by", a)
}

func (b *httpBackend) UncordonWorker(ctx context.Context, a protocol.WorkerAct) (*protocol.WorkerInfo, error) {
	return act[protocol.WorkerInfo](ctx, b, "uncordon", "uncordoned_by", a)
}

// Poll may take RequestTimeout longer than the requested wait.
func (b *httpBackend) Poll(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
	return fetch[protocol.PollResponse](ctx, b, call{
		verb: "poll", method: http.MethodPost, path: workerPath(req.WorkerID, "poll"), body: req,
		wait: time.Duration(req.WaitMS) * time.Millisecond,
	})
}

func (b *httpBackend) Start(ctx context.Context, req protocol.StartRequest) ([]protocol.LeaseAnswer, error) {
	var out struct {
		Leases []protocol.LeaseAnswer `json:"leases"`
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

func (b *httpBackend) Progress(ctx context.Context, report protocol.ProgressReport) (*protocol.LeaseAnswer, error) {
	return fetch[protocol.LeaseAnswer](ctx, b, call{
		verb: "report progress", method: http.MethodPost, path: workerPath(report.WorkerID, "progress"), body: report,
	})
}

func (b *httpBackend) Heartbeat(ctx context.Context, beat protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
	return fetch[protocol.HeartbeatResponse](ctx, b, call{
		verb: "heartbeat", method: http.MethodPost, path: workerPath(beat.WorkerID, "heartbeat"), body: beat,
	})
}

func (b *httpBackend) Drain(ctx context.Context, a protocol.WorkerAct) (*protocol.DrainResponse, error) {
	resp, err := act[protocol.DrainResponse](ctx, b, "drain", "drained_by", a)
	if a.Final {
		b.mu.Lock()
		delete(b.settles, a.WorkerID) // a final drain is the worker's last request
		b.mu.Unlock()
	}
	return resp, err
}

// Settle gathers a single result with those of the worker's other callers, and sends several results as one request.
func (b *httpBackend) Settle(ctx context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	if len(req.Results) != 1 {
		return b.settle(ctx, req)
	}
	answer, err := b.settlesOf(req.WorkerID).do(ctx, req.Results[0])
	if err != nil {
		return nil, err
	}
	return []protocol.SettleAnswer{answer}, nil
}

func (b *httpBackend) settle(ctx context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	var out struct {
		Results []protocol.SettleAnswer `json:"results"`
	}
	out.Results = make([]protocol.SettleAnswer, 0, len(req.Results))
	c := call{verb: "settle steps", method: http.MethodPost, path: workerPath(req.WorkerID, "result"), body: req}
	if err := b.do(ctx, c, &out); err != nil {
		return nil, err
	}
	if err := wire.SameLength(c.verb, len(req.Results), len(out.Results)); err != nil {
		return nil, err
	}
	return out.Results, nil
}

// settlesOf returns the gatherer of one worker, whose ID is part of the path: results of two workers cannot share a
// request.
func (b *httpBackend) settlesOf(worker uuid.UUID) *gatherer[protocol.StepResult, protocol.SettleAnswer] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g := b.settles[worker]; g != nil {
		return g
	}
	g := newGatherer(b.ctx, "settle step", gatherLanes, gatherWiden, wire.MaxItems, wire.MaxBytes, wire.ResultWeight,
		func(ctx context.Context, results []protocol.StepResult) ([]protocol.SettleAnswer, error) {
			return b.settle(ctx, protocol.SettleRequest{WorkerID: worker, Results: results})
		})
	if b.settles == nil {
		b.settles = make(map[uuid.UUID]*gatherer[protocol.StepResult, protocol.SettleAnswer])
	}
	b.settles[worker] = g
	return g
}
