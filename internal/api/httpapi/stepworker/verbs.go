package stepworker

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/strictjson"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Backend is the part of the engine that the verbs need.
type Backend interface {
	protocol.WorkerBackend
	// WorkerPage returns a page of Workers, and the cursor of the next one, "" at the end.
	WorkerPage(ctx context.Context, cursor string, limit int) ([]protocol.WorkerInfo, string, error)
}

// Verbs are the verbs of the worker protocol. They are safe for concurrent use.
type Verbs struct {
	backend Backend
}

// New returns the verbs over a Backend.
func New(backend Backend) *Verbs { return &Verbs{backend: backend} }

// Path names a worker.
type Path struct {
	ID uuid.UUID `path:"id" doc:"worker_id of the registration."`
}

// WorkerList is the body of the list of workers.
type WorkerList struct {
	Workers    []protocol.WorkerInfo `json:"workers"`
	NextCursor string                `json:"next_cursor,omitempty" doc:"cursor of the next page. Even a short or empty page may have one."`
}

// WorkerFilter is the paging of the list of workers.
type WorkerFilter struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"Page size."`
	Cursor string `query:"cursor" maxLength:"64" doc:"next_cursor of the previous page."`
}

// LeaseList is the body of the answer to start.
type LeaseList struct {
	Leases []protocol.LeaseAnswer `json:"leases"`
}

// StartBody is a protocol.StartRequest, or one bare lease.
type StartBody struct {
	protocol.LeaseRef
	Steps []protocol.LeaseRef `json:"steps"`
}

// Schema documents both forms.
func (StartBody) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{endpoint.SchemaOf[protocol.StartRequest](r),
		endpoint.SchemaOf[protocol.LeaseRef](r)}}
}

// ResultBody is a protocol.SettleRequest, or one bare result.
type ResultBody struct {
	protocol.StepResult
	Results []protocol.StepResult `json:"results"`
	refused endpoint.Refusals
}

// Schema documents both forms.
func (ResultBody) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{endpoint.SchemaOf[protocol.SettleRequest](r),
		endpoint.SchemaOf[protocol.StepResult](r)}}
}

// Salvager accepts the valid results of a request.
func (*ResultBody) Salvager() func([]byte) (any, bool) {
	type head struct {
		Results []json.RawMessage `json:"results" minItems:"1"`
	}
	whole, item := endpoint.ShapeOf[head](), endpoint.ShapeOf[protocol.StepResult]()
	return func(data []byte) (any, bool) {
		var h head
		if err := strictjson.Decode(data, whole, &h); err != nil || len(h.Results) > endpoint.MaxSalvaged {
			return nil, false
		}
		b := &ResultBody{}
		b.Results, b.refused = endpoint.SalvageItems[protocol.StepResult](item, h.Results, "results")
		return b, true
	}
}

// Register registers a worker for namespaces that the key reaches.
func (v *Verbs) Register(ctx context.Context, _ *endpoint.None, reg *protocol.WorkerRegistration,
) (*protocol.RegisteredWorker, error) {
	if err := narrowWorker(ctx, reg); err != nil {
		return nil, err
	}
	return v.backend.RegisterWorker(ctx, *reg)
}

// List returns a page of the workers that serve a namespace of the key.
func (v *Verbs) List(ctx context.Context, params *WorkerFilter, _ *endpoint.None) (WorkerList, error) {
	workers, next, err := v.backend.WorkerPage(ctx, params.Cursor, params.Limit)
	if err != nil {
		return WorkerList{}, err
	}
	return WorkerList{endpoint.List(reachedWorkers(ctx, workers)), next}, nil
}

// Get returns a worker that serves a namespace of the key.
func (v *Verbs) Get(ctx context.Context, params *Path, _ *endpoint.None) (*protocol.WorkerInfo, error) {
	found, err := v.backend.Worker(ctx, params.ID)
	if err == nil && len(reachedWorkers(ctx, []protocol.WorkerInfo{*found})) == 0 {
		err = tasker.Errorf(tasker.CodeNotFound, "there is no worker %s", params.ID)
	}
	return found, err
}

// Resume ends the drain of a worker.
func (v *Verbs) Resume(ctx context.Context, params *Path, body *ResumeRequest) (*protocol.WorkerInfo, error) {
	act := protocol.WorkerAct{WorkerID: params.ID, By: cmp.Or(body.ResumedBy, endpoint.Caller(ctx)), Reason: body.Reason}
	return v.backend.ResumeWorker(ctx, act)
}

// Cordon stops handing steps to a worker until it is uncordoned.
func (v *Verbs) Cordon(ctx context.Context, params *Path, body *CordonRequest) (*protocol.WorkerInfo, error) {
	act := protocol.WorkerAct{WorkerID: params.ID, By: cmp.Or(body.CordonedBy, endpoint.Caller(ctx)), Reason: body.Reason}
	return v.backend.CordonWorker(ctx, act)
}

// Uncordon ends the cordon of a worker.
func (v *Verbs) Uncordon(ctx context.Context, params *Path, body *UncordonRequest) (*protocol.WorkerInfo, error) {
	act := protocol.WorkerAct{WorkerID: params.ID, By: cmp.Or(body.UncordonedBy, endpoint.Caller(ctx)),
		Reason: body.Reason}
	return v.backend.UncordonWorker(ctx, act)
}

// Poll claims steps; it waits at most web.MaxWait for one.
func (v *Verbs) Poll(ctx context.Context, params *Path, body *protocol.PollRequest) (protocol.PollResponse, error) {
	var no protocol.PollResponse
	body.WorkerID = params.ID
	body.WaitMS = min(body.WaitMS, int(web.MaxWait.Milliseconds()))
	waiting, cut, cancel := web.Patient(ctx)
	defer cancel()
	polled, err := v.backend.Poll(waiting, *body)
	if err != nil && cut() {
		// The server is stopping. An empty answer sends the worker to its next poll, which another server takes.
		return protocol.PollResponse{Steps: []protocol.Assignment{}}, nil
	}
	if err != nil {
		return no, err
	}
	return protocol.PollResponse{Steps: endpoint.List(polled.Steps), ShouldDrain: polled.ShouldDrain,
		BreakerNote: polled.BreakerNote}, nil
}

// Start answers a refused bare lease with the status of its problem.
func (v *Verbs) Start(ctx context.Context, params *Path, body *StartBody) (LeaseList, error) {
	var no LeaseList
	steps, single := body.Steps, len(body.Steps) == 0
	if single {
		steps = []protocol.LeaseRef{body.LeaseRef}
	}
	leases, err := v.backend.Start(ctx, protocol.StartRequest{WorkerID: params.ID, Steps: steps})
	if err != nil {
		return no, err
	}
	if single && len(leases) == 1 && leases[0].Error != nil {
		return no, endpoint.Moved(leases[0].Error, "/steps/0", "")
	}
	return LeaseList{endpoint.List(leases)}, nil
}

// Progress reports the progress of a step.
func (v *Verbs) Progress(ctx context.Context, params *Path, body *protocol.ProgressReport,
) (*protocol.LeaseAnswer, error) {
	body.WorkerID = params.ID
	return v.backend.Progress(ctx, *body)
}

// Result answers a refused bare result with the status of its problem, so that a worker of one step at a time need not
// read the body.
func (v *Verbs) Result(ctx context.Context, params *Path, body *ResultBody,
) (endpoint.Results[protocol.SettleAnswer], error) {
	var no endpoint.Results[protocol.SettleAnswer]
	if len(body.Results) > 0 {
		settled, err := v.settle(ctx, params.ID, body)
		return endpoint.ResultsOf(settled), err
	}
	settled, err := v.backend.Settle(ctx, protocol.SettleRequest{WorkerID: params.ID,
		Results: []protocol.StepResult{body.StepResult}})
	if err != nil {
		return no, endpoint.Moved(err, "/results/0", "")
	}
	if len(settled) == 1 && settled[0].Error != nil {
		return no, endpoint.Moved(settled[0].Error, "/results/0", "")
	}
	return endpoint.ResultsOf(settled), nil
}

// settle settles the valid results and answers the others.
func (v *Verbs) settle(ctx context.Context, worker uuid.UUID, body *ResultBody) ([]protocol.SettleAnswer, error) {
	kept, places := endpoint.Sift(body.Results, body.refused)
	var settled []protocol.SettleAnswer
	if len(kept) > 0 {
		var err error
		if settled, err = v.backend.Settle(ctx, protocol.SettleRequest{WorkerID: worker, Results: kept}); err != nil {
			return nil, err
		}
	}
	for k, i := range places { // the Backend got the results in other places
		if k < len(settled) {
			settled[k].Error = endpoint.MovedItem(settled[k].Error, endpoint.ItemPath("results", k),
				endpoint.ItemPath("results", i))
		}
	}
	return endpoint.Merge(len(body.Results), places, settled, body.refused,
		func(i int, e *tasker.Error) protocol.SettleAnswer {
			return protocol.SettleAnswer{StepUUID: body.Results[i].StepUUID, Error: e}
		}), nil
}

// Heartbeat renews leases.
func (v *Verbs) Heartbeat(ctx context.Context, params *Path, body *protocol.Heartbeat,
) (*protocol.HeartbeatResponse, error) {
	body.WorkerID = params.ID
	return v.backend.Heartbeat(ctx, *body)
}

// Drain drains a worker, or ends its session.
func (v *Verbs) Drain(ctx context.Context, params *Path, body *DrainRequest) (*protocol.DrainResponse, error) {
	act := protocol.WorkerAct{WorkerID: params.ID, By: body.DrainedBy, Reason: body.Reason, Final: body.Final}
	// A key without the work permission is not a worker's: the worker whose session it ends did not sign off itself.
	if p := access.From(ctx); !body.Final || p != nil && !p.Can(access.Work) {
		act.By = cmp.Or(act.By, endpoint.Caller(ctx))
	}
	return v.backend.Drain(ctx, act)
}
