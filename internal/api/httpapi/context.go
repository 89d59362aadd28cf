package httpapi

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
)

// editContext cannot set a context to null, which means a missing value here; callers use an empty object.
func (s *server) editContext(ctx context.Context, params *TaskPath, body *tasker.EditContextRequest,
) (*tasker.EditedContext, error) {
	body.Context, body.Merge = absent(body.Context), absent(body.Merge)
	body.EditedBy = cmp.Or(body.EditedBy, endpoint.Caller(ctx))
	err := s.masker.RefuseContext(ctx, params.UUID, "/context", body.Context)
	if err == nil {
		err = s.masker.RefuseContext(ctx, params.UUID, "/merge", body.Merge)
	}
	if err != nil {
		return nil, err
	}
	edited, err := s.backend.EditContext(ctx, params.UUID, *body)
	if err != nil {
		return nil, err
	}
	edited.EndedSteps = endpoint.List(edited.EndedSteps)
	return edited, nil
}
