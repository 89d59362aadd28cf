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
)

// Backend is the part of the engine that the verbs need.
type Backend interface {
	tasker.WorkerBackend
	// WorkerPage returns a page of Workers and the next cursor, "" at the end.
	WorkerPage(ctx context.Context, cursor string, limit int) ([]tasker.WorkerInfo, string, error)
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
	Workers    []tasker.WorkerInfo `json:"workers"`
	NextCursor string              `json:"next_cursor,omitempty" doc:"cursor of the next page. Even a short or empty page may have one."`
}

// WorkerFilter is the paging of the list of workers.
type WorkerFilter struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"Page size."`
	Cursor string `query:"cursor" maxLength:"64" doc:"next_cursor of the previous page."`
}

// LeaseList is the body of the answer to start.
type LeaseList struct {
	Leases []tasker.LeaseAnswer `json:"leases"`
}

// StartBody is a tasker.StartRequest, or one bare lease.
type StartBody struct {
	tasker.LeaseRef
	Steps []tasker.LeaseRef `json:"steps"`
}

func (StartBody) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{endpoint.SchemaOf[tasker.StartRequest](r),
		endpoint.SchemaOf[tasker.LeaseRef](r)}}
}

// ResultBody is a tasker.SettleRequest, or one bare result.
type ResultBody struct {
	tasker.StepResult
	Results []tasker.StepResult `json:"results"`
	refused endpoint.Refusals
}

func (ResultBody) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{endpoint.SchemaOf[tasker.SettleRequest](r),
		endpoint.SchemaOf[tasker.StepResult](r)}}
}

func (*ResultBody) Salvager() func([]byte) (any, bool) {
	type head struct {
		Results []json.RawMessage `json:"results" minItems:"1"`
	}
	whole, item := endpoint.ShapeOf[head](), endpoint.ShapeOf[tasker.StepResult]()
	return func(data []byte) (any, bool) {
		var h head
		if err := strictjson.Decode(data, whole, &h); err != nil || len(h.Results) > endpoint.MaxSalvaged {
			return nil, false
		}
		b := &ResultBody{}
		b.Results, b.refused = endpoint.SalvageItems[tasker.StepResult](item, h.Results, "results")
		return b, true
	}
}

// Register registers a worker for namespaces that the key reaches.
func (v *Verbs) Register(ctx context.Context, _ *endpoint.None,
	reg *tasker.WorkerRegistration,
) (endpoint.Answer[*tasker.RegisteredWorker], error) {
	var no endpoint.Answer[*tasker.RegisteredWorker]
	if err := narrowWorker(ctx, reg); err != nil {
		return no, err
	}
	registered, err := v.backend.RegisterWorker(ctx, *reg)
	if err != nil {
		return no, err
	}
	return endpoint.OK(registered), nil
}

// List returns a page of the workers that serve a namespace of the key.
func (v *Verbs) List(ctx context.Context, params *WorkerFilter, _ *endpoint.None) (endpoint.Answer[WorkerList], error) {
	workers, next, err := v.backend.WorkerPage(ctx, params.Cursor, params.Limit)
	if err != nil {
		return endpoint.Answer[WorkerList]{}, err
	}
	return endpoint.OK(WorkerList{endpoint.List(reachedWorkers(ctx, workers)), next}), nil
}

// Get returns a worker that serves a namespace of the key.
func (v *Verbs) Get(ctx context.Context, params *Path, _ *endpoint.None) (endpoint.Answer[*tasker.WorkerInfo], error) {
	found, err := v.backend.Worker(ctx, params.ID)
	if err == nil && len(reachedWorkers(ctx, []tasker.WorkerInfo{*found})) == 0 {
		err = tasker.Errorf(tasker.CodeNotFound, "there is no worker %s", params.ID)
	}
	return endpoint.OK(found), err
}

// Resume ends the drain of a worker.
func (v *Verbs) Resume(ctx context.Context, params *Path,
	body *tasker.ResumeRequest,
) (endpoint.Answer[*tasker.WorkerInfo], error) {
	body.WorkerID, body.ResumedBy = params.ID, cmp.Or(body.ResumedBy, endpoint.Caller(ctx))
	resumed, err := v.backend.ResumeWorker(ctx, *body)
	return endpoint.OK(resumed), err
}

// Cordon stops handing steps to a worker until it is uncordoned.
func (v *Verbs) Cordon(ctx context.Context, params *Path,
	body *tasker.CordonRequest,
) (endpoint.Answer[*tasker.WorkerInfo], error) {
	body.WorkerID, body.CordonedBy = params.ID, cmp.Or(body.CordonedBy, endpoint.Caller(ctx))
	cordoned, err := v.backend.CordonWorker(ctx, *body)
	return endpoint.OK(cordoned), err
}

// Uncordon ends the cordon of a worker.
func (v *Verbs) Uncordon(ctx context.Context, params *Path,
	body *tasker.UncordonRequest,
) (endpoint.Answer[*tasker.WorkerInfo], error) {
	body.WorkerID, body.UncordonedBy = params.ID, cmp.Or(body.UncordonedBy, endpoint.Caller(ctx))
	uncordoned, err := v.backend.UncordonWorker(ctx, *body)
	return endpoint.OK(uncordoned), err
}

// Poll claims steps; it waits at most web.MaxWait for one.
func (v *Verbs) Poll(ctx context.Context, params *Path,
	body *tasker.PollRequest,
) (endpoint.Answer[tasker.PollResponse], error) {
	var no endpoint.Answer[tasker.PollResponse]
	body.WorkerID = params.ID
	body.WaitMS = min(body.WaitMS, int(web.MaxWait.Milliseconds()))
	waiting, cut, cancel := web.Patient(ctx)
	defer cancel()
	polled, err := v.backend.Poll(waiting, *body)
	if err != nil && cut() {
		// The server is stopping. After an empty answer the worker polls again, on another server.
		return endpoint.OK(tasker.PollResponse{Steps: []tasker.Assignment{}}), nil
	}
	if err != nil {
		return no, err
	}
	return endpoint.OK(tasker.PollResponse{Steps: endpoint.List(polled.Steps), ShouldDrain: polled.ShouldDrain,
		BreakerNote: polled.BreakerNote}), nil
}

// Start answers a refused bare lease with the status of its problem.
func (v *Verbs) Start(ctx context.Context, params *Path, body *StartBody) (endpoint.Answer[LeaseList], error) {
	var no endpoint.Answer[LeaseList]
	steps, single := body.Steps, len(body.Steps) == 0
	if single {
		steps = []tasker.LeaseRef{body.LeaseRef}
	}
	leases, err := v.backend.Start(ctx, tasker.StartRequest{WorkerID: params.ID, Steps: steps})
	if err != nil {
		return no, err
	}
	if single && len(leases) == 1 && leases[0].Error != nil {
		return no, endpoint.Moved(leases[0].Error, "/steps/0", "")
	}
	return endpoint.OK(LeaseList{endpoint.List(leases)}), nil
}

// Progress reports the progress of a step.
func (v *Verbs) Progress(ctx context.Context, params *Path,
	body *tasker.ProgressReport,
) (endpoint.Answer[*tasker.LeaseAnswer], error) {
	body.WorkerID = params.ID
	lease, err := v.backend.Progress(ctx, *body)
	return endpoint.OK(lease), err
}

// Result answers a refused bare result with the status of its problem, so that a worker of one step at a time need not
// read the body.
func (v *Verbs) Result(ctx context.Context, params *Path,
	body *ResultBody,
) (endpoint.Answer[endpoint.Results[tasker.SettleAnswer]], error) {
	var no endpoint.Answer[endpoint.Results[tasker.SettleAnswer]]
	if len(body.Results) > 0 {
		settled, err := v.settle(ctx, params.ID, body)
		return endpoint.OK(endpoint.ResultsOf(settled)), err
	}
	settled, err := v.backend.Settle(ctx, tasker.SettleRequest{WorkerID: params.ID,
		Results: []tasker.StepResult{body.StepResult}})
	if err != nil {
		return no, endpoint.Moved(err, "/results/0", "")
	}
	if len(settled) == 1 && settled[0].Error != nil {
		return no, endpoint.Moved(settled[0].Error, "/results/0", "")
	}
	return endpoint.OK(endpoint.ResultsOf(settled)), nil
}

func (v *Verbs) settle(ctx context.Context, worker uuid.UUID, body *ResultBody) ([]tasker.SettleAnswer, error) {
	kept, places := endpoint.Sift(body.Results, body.refused)
	var settled []tasker.SettleAnswer
	if len(kept) > 0 {
		var err error
		if settled, err = v.backend.Settle(ctx, tasker.SettleRequest{WorkerID: worker, Results: kept}); err != nil {
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
		func(i int, e *tasker.Error) tasker.SettleAnswer {
			return tasker.SettleAnswer{StepUUID: body.Results[i].StepUUID, Error: e}
		}), nil
}

// Heartbeat renews leases.
func (v *Verbs) Heartbeat(ctx context.Context, params *Path,
	body *tasker.Heartbeat,
) (endpoint.Answer[*tasker.HeartbeatResponse], error) {
	body.WorkerID = params.ID
	beat, err := v.backend.Heartbeat(ctx, *body)
	return endpoint.OK(beat), err
}

// Drain drains a worker, or ends its session.
func (v *Verbs) Drain(ctx context.Context, params *Path,
	body *tasker.DrainRequest,
) (endpoint.Answer[*tasker.DrainResponse], error) {
	body.WorkerID = params.ID
	// A key without the work permission is not a worker's: the worker did not sign off itself.
	if p := access.From(ctx); !body.Final || p != nil && !p.Can(access.Work) {
		body.DrainedBy = cmp.Or(body.DrainedBy, endpoint.Caller(ctx))
	}
	drained, err := v.backend.Drain(ctx, *body)
	return endpoint.OK(drained), err
}
