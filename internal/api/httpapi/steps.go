package httpapi

import (
	"cmp"
	"context"
	"io"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

type stepPath struct {
	TaskPath
	StepUUID uuid.UUID `path:"step_uuid" doc:"The step."`
}

type stepsQuery struct {
	TaskPath
	Include string `query:"include" enum:"results" doc:"results: include the results of the steps, up to the byte limit of a page."`
}

type bareLister interface {
	BareSteps(ctx context.Context, task uuid.UUID) ([]tasker.Step, error)
}

// listSteps omits results, which may be large, unless requested: in the store if the backend can, else here.
func (s *server) listSteps(ctx context.Context, params *stepsQuery, _ *endpoint.None) ([]tasker.Step, error) {
	if lister, can := s.backend.(bareLister); can && params.Include == "" {
		return endpoint.Listed(lister.BareSteps(ctx, params.UUID))
	}
	steps, err := s.backend.Steps(ctx, params.UUID)
	for i := range steps {
		if params.Include == "" && steps[i].Results != nil {
			steps[i].Results, steps[i].ResultsOmitted = nil, true
		}
	}
	return endpoint.List(steps), err
}

func (s *server) getStep(ctx context.Context, params *stepPath, _ *endpoint.None) (*tasker.Step, error) {
	return s.backend.Step(ctx, params.UUID, params.StepUUID)
}

// openLarge masks nothing: a task with sensitive fields has no large results.
func (s *server) openLarge(ctx context.Context, params *stepPath) (io.ReadCloser, error) {
	b, can := s.backend.(protocol.LargeResultBackend)
	if !can {
		return nil, tasker.Errorf(tasker.CodeNotFound, "the server keeps no large results")
	}
	return b.LargeResult(ctx, params.UUID, params.StepUUID)
}

// listLogs does not mask texts: see docs/guides/sensitive.md.
func (s *server) listLogs(ctx context.Context, params *stepPath, _ *endpoint.None) ([]tasker.AttemptLog, error) {
	return endpoint.Listed(s.backend.StepLogs(ctx, params.UUID, params.StepUUID))
}

type stepActPath struct {
	TaskPath
	StepUUID uuid.UUID `path:"step_uuid" doc:"The step."`
	endpoint.Match
}

// actOnStep: an unknown kind of act has no actor; the backend refuses it.
func (s *server) actOnStep(ctx context.Context, params *stepActPath, act *tasker.StepAction) (*tasker.Step, error) {
	if actor := actorOf(act); actor != nil {
		*actor = cmp.Or(*actor, endpoint.Caller(ctx))
	}
	if done := act.CompletionData; done != nil {
		if err := s.masker.RefuseResult(ctx, params.UUID, "/completion_data/result", done.Result); err != nil {
			return nil, err
		}
	}
	return s.backend.ActOnStep(ctx, params.UUID, params.StepUUID, *act)
}

// actorOf returns the field of the actor; each kind of act has its own.
func actorOf(act *tasker.StepAction) *string {
	switch act.ActionType {
	case tasker.ResetForRetry:
		return &act.ResetBy
	case tasker.ResolveManually:
		return &act.ResolvedBy
	case tasker.CompleteManually:
		return &act.CompletedBy
	case tasker.Approve, tasker.Reject:
		return &act.DecidedBy
	}
	return nil
}

type childrenQuery struct {
	TaskPath
	StepUUID uuid.UUID `path:"step_uuid" doc:"The step."`

	operate.ChildFilter
}

func (s *server) listChildren(ctx context.Context, q *childrenQuery, _ *endpoint.None) (*operate.ChildPage, error) {
	return s.backend.StepChildren(ctx, q.UUID, q.StepUUID, q.ChildFilter)
}
