package httpapi

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker"
)

func (s *server) editContext(ctx context.Context, params *TaskPath,
	body *tasker.EditContextRequest,
) (answer[*tasker.EditedContext], error) {
	var no answer[*tasker.EditedContext]
	body.Context, body.Merge = absent(body.Context), absent(body.Merge)
	body.EditedBy = cmp.Or(body.EditedBy, callerOf(ctx))
	edited, err := s.backend.EditContext(ctx, params.UUID, *body)
	if err != nil {
		return no, err
	}
	edited.EndedSteps = list(edited.EndedSteps)
	return ok(edited), nil
}
