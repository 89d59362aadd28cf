package httpapi

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/access"
)

// stepPath names a step of a task.
type stepPath struct {
	TaskPath
	StepUUID uuid.UUID `path:"step_uuid" doc:"The step."`
}

func (s *server) listSteps(ctx context.Context, params *TaskPath, _ *none) (answer[[]tasker.Step], error) {
	if err := s.reachTask(ctx, params.UUID); err != nil {
		return answer[[]tasker.Step]{}, err
	}
	steps, err := s.backend.Steps(ctx, params.UUID)
	return ok(list(steps)), err
}

func (s *server) getStep(ctx context.Context, params *stepPath, _ *none) (answer[*tasker.Step], error) {
	if err := s.reachTask(ctx, params.UUID); err != nil {
		return answer[*tasker.Step]{}, err
	}
	step, err := s.backend.Step(ctx, params.UUID, params.StepUUID)
	return ok(step), err
}

func (s *server) actOnStep(ctx context.Context, params *stepPath, act *tasker.StepAction) (answer[*tasker.Step], error) {
	if err := s.reachTask(ctx, params.UUID); err != nil {
		return answer[*tasker.Step]{}, err
	}
	if p := access.From(ctx); p != nil {
		if actor := actorOf(act); actor != nil && *actor == "" {
			*actor = p.Name
		}
	}
	step, err := s.backend.ActOnStep(ctx, params.UUID, params.StepUUID, *act)
	return ok(step), err
}

// actorOf returns the field that names who acts, which each act has its own of.
func actorOf(act *tasker.StepAction) *string {
	switch act.ActionType {
	case tasker.ResetForRetry:
		return &act.ResetBy
	case tasker.ResolveManually:
		return &act.ResolvedBy
	case tasker.CompleteManually:
		return &act.CompletedBy
	}
	return nil
}
