package httpapi

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// CancelParams are the actor, the reason and the expectation of a cancellation. They are exported for the same reason
// as TaskPath.
type CancelParams struct {
	CancelledBy   string `query:"cancelled_by" maxLength:"255" doc:"Actor. Defaults to the name of the API key, else to anonymous."`
	Reason        string `query:"reason" maxLength:"1024" doc:"Reason for the act. Defaults to \"no reason given\"."`
	ExpectedState string `query:"expected_state" enum:"pending,initializing,enqueuing_steps,steps_in_process,evaluating_results,waiting_for_dependencies,waiting_for_retry,blocked_by_failures,complete,error,cancelled,resolved_manually" doc:"Expected state of the task. In any other state the act is refused with conflict."`
	GivenMatch    string `query:"if_match" maxLength:"1024" doc:"Same as the header If-Match."`
	Match
}

// cancelQuery is TaskPath with the parameters of a cancellation.
type cancelQuery struct {
	TaskPath
	CancelParams
}

func (s *server) cancelTask(ctx context.Context, params *cancelQuery, _ *none) (answer[tasker.TaskReceipt], error) {
	var no answer[tasker.TaskReceipt]
	match, err := params.with(params.GivenMatch)
	if err != nil {
		return no, err
	}
	receipts, err := s.cancel(ctx, tasker.CancelRequest{
		TaskUUIDs: []uuid.UUID{params.UUID}, CancelledBy: params.CancelledBy, Reason: params.Reason,
		ExpectedState: params.ExpectedState, IfMatch: match,
	})
	if err != nil {
		return no, moved(err, "/task_uuids/0", "")
	}
	receipt, err := first(receipts)
	if err != nil {
		return no, err
	}
	if receipt.Error != nil {
		return no, moved(receipt.Error, "/task_uuids/0", "")
	}
	return ok(receipt), nil
}

func (s *server) cancelTasks(ctx context.Context, _ *none,
	body *tasker.CancelRequest,
) (answer[results[tasker.TaskReceipt]], error) {
	receipts, err := s.cancel(ctx, *body)
	return ok(results[tasker.TaskReceipt]{list(receipts)}), err
}

func (s *server) cancel(ctx context.Context, req tasker.CancelRequest) ([]tasker.TaskReceipt, error) {
	req.CancelledBy = cmp.Or(req.CancelledBy, callerOf(ctx))
	return s.backend.CancelTasks(ctx, req)
}
