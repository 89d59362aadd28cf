package httpapi

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/strictjson"
	"github.com/taskerhq/tasker/internal/web"
)

// workerPath names a worker.
type workerPath struct {
	ID uuid.UUID `path:"id" doc:"worker_id of the registration."`
}

// workerList is the body of the list of workers.
type workerList struct {
	Workers    []tasker.WorkerInfo `json:"workers"`
	NextCursor string              `json:"next_cursor,omitempty" doc:"cursor of the next page. Even a short or empty page may have one."`
}

// workerFilter is the paging of the list of workers.
type workerFilter struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"Page size."`
	Cursor string `query:"cursor" maxLength:"64" doc:"next_cursor of the previous page."`
}

// leaseList is the body of the answer to start.
type leaseList struct {
	Leases []tasker.LeaseAnswer `json:"leases"`
}

// startBody is a tasker.StartRequest, or one bare lease.
type startBody struct {
	tasker.LeaseRef
	Steps []tasker.LeaseRef `json:"steps"`
}

// Schema documents both forms.
func (startBody) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{schemaOf[tasker.StartRequest](r), schemaOf[tasker.LeaseRef](r)}}
}

// resultBody is a tasker.SettleRequest, or one bare result.
type resultBody struct {
	tasker.StepResult
	Results []tasker.StepResult `json:"results"`
	refused refusals
}

// Schema documents both forms.
func (resultBody) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{schemaOf[tasker.SettleRequest](r), schemaOf[tasker.StepResult](r)}}
}

// salvager accepts the valid results of a request.
func (*resultBody) salvager() func([]byte) (any, bool) {
	type head struct {
		Results []json.RawMessage `json:"results" minItems:"1"`
	}
	whole, item := shapeOf[head](), shapeOf[tasker.StepResult]()
	return func(data []byte) (any, bool) {
		var h head
		if err := strictjson.Decode(data, whole, &h); err != nil || len(h.Results) > maxSalvaged {
			return nil, false
		}
		b := &resultBody{}
		b.Results, b.refused = salvageItems[tasker.StepResult](item, h.Results, "results")
		return b, true
	}
}

func (s *server) registerWorker(ctx context.Context, _ *none,
	reg *tasker.WorkerRegistration,
) (answer[*tasker.RegisteredWorker], error) {
	var no answer[*tasker.RegisteredWorker]
	if err := narrowWorker(ctx, reg); err != nil {
		return no, err
	}
	registered, err := s.backend.RegisterWorker(ctx, *reg)
	if err != nil {
		return no, err
	}
	s.workers.note(registered.WorkerID, reg.Namespaces)
	return ok(registered), nil
}

func (s *server) listWorkers(ctx context.Context, params *workerFilter, _ *none) (answer[workerList], error) {
	workers, next, err := s.backend.WorkerPage(ctx, params.Cursor, params.Limit)
	if err != nil {
		return answer[workerList]{}, err
	}
	return ok(workerList{list(reachedWorkers(ctx, workers)), next}), nil
}

func (s *server) getWorker(ctx context.Context, params *workerPath, _ *none) (answer[*tasker.WorkerInfo], error) {
	found, err := s.backend.Worker(ctx, params.ID)
	if err == nil && len(reachedWorkers(ctx, []tasker.WorkerInfo{*found})) == 0 {
		err = tasker.Errorf(tasker.CodeNotFound, "there is no worker %s", params.ID)
	}
	return ok(found), err
}

func (s *server) resumeWorker(ctx context.Context, params *workerPath,
	body *tasker.ResumeRequest,
) (answer[*tasker.WorkerInfo], error) {
	if err := s.reachWorker(ctx, params.ID); err != nil {
		return answer[*tasker.WorkerInfo]{}, err
	}
	body.WorkerID, body.ResumedBy = params.ID, cmp.Or(body.ResumedBy, callerOf(ctx))
	resumed, err := s.backend.ResumeWorker(ctx, *body)
	return ok(resumed), err
}

func (s *server) poll(ctx context.Context, params *workerPath,
	body *tasker.PollRequest,
) (answer[tasker.PollResponse], error) {
	var no answer[tasker.PollResponse]
	if err := s.reachWorker(ctx, params.ID); err != nil {
		return no, err
	}
	body.WorkerID = params.ID
	body.WaitMS = min(body.WaitMS, int(web.MaxWait.Milliseconds()))
	waiting, cut, cancel := web.Patient(ctx)
	defer cancel()
	polled, err := s.backend.Poll(waiting, *body)
	if err != nil && cut() {
		// The server is stopping. An empty answer sends the worker to its next poll, which another server takes.
		return ok(tasker.PollResponse{Steps: []tasker.Assignment{}}), nil
	}
	if err != nil {
		return no, err
	}
	return ok(tasker.PollResponse{Steps: list(polled.Steps), ShouldDrain: polled.ShouldDrain,
		BreakerNote: polled.BreakerNote}), nil
}

func (s *server) start(ctx context.Context, params *workerPath, body *startBody) (answer[leaseList], error) {
	var no answer[leaseList]
	if err := s.reachWorker(ctx, params.ID); err != nil {
		return no, err
	}
	steps, single := body.Steps, len(body.Steps) == 0
	if single {
		steps = []tasker.LeaseRef{body.LeaseRef}
	}
	leases, err := s.backend.Start(ctx, tasker.StartRequest{WorkerID: params.ID, Steps: steps})
	if err != nil {
		return no, err
	}
	if single && len(leases) == 1 && leases[0].Error != nil {
		return no, moved(leases[0].Error, "/steps/0", "")
	}
	return ok(leaseList{list(leases)}), nil
}

func (s *server) progress(ctx context.Context, params *workerPath,
	body *tasker.ProgressReport,
) (answer[*tasker.LeaseAnswer], error) {
	if err := s.reachWorker(ctx, params.ID); err != nil {
		return answer[*tasker.LeaseAnswer]{}, err
	}
	body.WorkerID = params.ID
	lease, err := s.backend.Progress(ctx, *body)
	return ok(lease), err
}

// result settles steps. A refused bare result is answered with the status of its problem, so that a worker of one step
// at a time need not read the body.
func (s *server) result(ctx context.Context, params *workerPath,
	body *resultBody,
) (answer[results[tasker.SettleAnswer]], error) {
	var no answer[results[tasker.SettleAnswer]]
	if err := s.reachWorker(ctx, params.ID); err != nil {
		return no, err
	}
	if len(body.Results) > 0 {
		settled, err := s.settle(ctx, params.ID, body)
		return ok(results[tasker.SettleAnswer]{settled}), err
	}
	settled, err := s.backend.Settle(ctx, tasker.SettleRequest{WorkerID: params.ID,
		Results: []tasker.StepResult{body.StepResult}})
	if err != nil {
		return no, moved(err, "/results/0", "")
	}
	if len(settled) == 1 && settled[0].Error != nil {
		return no, moved(settled[0].Error, "/results/0", "")
	}
	return ok(results[tasker.SettleAnswer]{list(settled)}), nil
}

// settle settles the valid results and answers the others.
func (s *server) settle(ctx context.Context, worker uuid.UUID, body *resultBody) ([]tasker.SettleAnswer, error) {
	kept, places := sift(body.Results, body.refused)
	var settled []tasker.SettleAnswer
	if len(kept) > 0 {
		var err error
		if settled, err = s.backend.Settle(ctx, tasker.SettleRequest{WorkerID: worker, Results: kept}); err != nil {
			return nil, err
		}
	}
	for k, i := range places { // the Backend got the results in other places
		if k < len(settled) {
			settled[k].Error = movedItem(settled[k].Error, place("results", k), place("results", i))
		}
	}
	return merge(len(body.Results), places, settled, body.refused, func(i int, e *tasker.Error) tasker.SettleAnswer {
		return tasker.SettleAnswer{StepUUID: body.Results[i].StepUUID, Error: e}
	}), nil
}

func (s *server) heartbeat(ctx context.Context, params *workerPath,
	body *tasker.Heartbeat,
) (answer[*tasker.HeartbeatResponse], error) {
	if err := s.reachWorker(ctx, params.ID); err != nil {
		return answer[*tasker.HeartbeatResponse]{}, err
	}
	body.WorkerID = params.ID
	beat, err := s.backend.Heartbeat(ctx, *body)
	return ok(beat), err
}

func (s *server) drain(ctx context.Context, params *workerPath,
	body *tasker.DrainRequest,
) (answer[*tasker.DrainResponse], error) {
	if err := s.reachWorker(ctx, params.ID); err != nil {
		return answer[*tasker.DrainResponse]{}, err
	}
	body.WorkerID = params.ID
	// A key without the work permission is not a worker's: the worker whose session it ends did not sign off itself.
	if p := access.From(ctx); !body.Final || p != nil && !p.Can(access.Work) {
		body.DrainedBy = cmp.Or(body.DrainedBy, callerOf(ctx))
	}
	drained, err := s.backend.Drain(ctx, *body)
	return ok(drained), err
}
