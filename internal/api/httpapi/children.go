package httpapi

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/operate"
)

type childrenQuery struct {
	TaskPath
	StepUUID uuid.UUID `path:"step_uuid" doc:"The step."`

	operate.ChildFilter
}

func (s *server) listChildren(ctx context.Context, q *childrenQuery, _ *endpoint.None) (*operate.ChildPage, error) {
	return s.backend.StepChildren(ctx, q.UUID, q.StepUUID, q.ChildFilter)
}
