package httpapi

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
)

func (s *server) editContext(ctx context.Context, params *TaskPath,
	body *tasker.EditContextRequest,
) (endpoint.Answer[*tasker.EditedContext], error) {
	var no endpoint.Answer[*tasker.EditedContext]
	body.Context, body.Merge = absent(body.Context), absent(body.Merge)
	body.EditedBy = cmp.Or(body.EditedBy, endpoint.Caller(ctx))
	edited, err := s.backend.EditContext(ctx, params.UUID, *body)
	if err != nil {
		return no, err
	}
	edited.EndedSteps = endpoint.List(edited.EndedSteps)
	return endpoint.OK(edited), nil
}
