package httpapi

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
)

type cancelQuery struct {
	TaskPath
	endpoint.CancelParams
}

// cancelTask cancels a batch of one, so the item's error is the request's.
func (s *server) cancelTask(ctx context.Context, params *cancelQuery, _ *endpoint.None) (tasker.TaskReceipt, error) {
	var no tasker.TaskReceipt
	receipts, err := s.cancel(ctx, tasker.CancelRequest{
		TaskUUIDs: []uuid.UUID{params.UUID}, CancelledBy: params.CancelledBy, Reason: params.Reason,
		ExpectedState: params.ExpectedState, IfMatch: params.IfMatch,
	})
	if err != nil {
		return no, endpoint.Moved(err, "/task_uuids/0", "")
	}
	receipt, err := endpoint.First(receipts)
	if err != nil {
		return no, err
	}
	if receipt.Error != nil {
		return no, endpoint.Moved(receipt.Error, "/task_uuids/0", "")
	}
	return receipt, nil
}

// cancelTasks decides task by task; a refused task has its error in its receipt.
func (s *server) cancelTasks(ctx context.Context, _ *endpoint.None, body *tasker.CancelRequest,
) (endpoint.Results[tasker.TaskReceipt], error) {
	receipts, err := s.cancel(ctx, *body)
	return endpoint.ResultsOf(receipts), err
}

func (s *server) cancel(ctx context.Context, req tasker.CancelRequest) ([]tasker.TaskReceipt, error) {
	req.CancelledBy = cmp.Or(req.CancelledBy, endpoint.Caller(ctx))
	return s.backend.CancelTasks(ctx, req)
}
