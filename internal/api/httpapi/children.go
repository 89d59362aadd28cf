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

	State operate.ChildState `query:"state" enum:"running,done,error,given_up" doc:"Only children in this state."`
	From  int                `query:"from" minimum:"0" maximum:"1000000" doc:"Lowest index of the page."`
	Limit int                `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
}

func (s *server) listChildren(ctx context.Context, q *childrenQuery,
	_ *endpoint.None,
) (endpoint.Answer[*operate.ChildPage], error) {
	page, err := s.backend.StepChildren(ctx, q.UUID, q.StepUUID,
		operate.ChildFilter{State: q.State, From: q.From, Limit: q.Limit})
	return endpoint.OK(page), err
}
