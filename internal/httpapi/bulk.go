package httpapi

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker/operate"
)

func (s *server) updateCases(ctx context.Context, _ *none, body *operate.BulkCaseUpdate,
) (answer[*operate.BulkResult], error) {
	if err := narrowBody(ctx, &body.Filter); err != nil {
		return answer[*operate.BulkResult]{}, err
	}
	body.Update.ResolvedBy = cmp.Or(body.Update.ResolvedBy, callerOf(ctx))
	body.Update.Metadata = absent(body.Update.Metadata)
	return bulkAnswer(s.backend.UpdateCases(ctx, *body))
}

func (s *server) actOnCases(ctx context.Context, _ *none, body *operate.BulkStepAction,
) (answer[*operate.BulkResult], error) {
	if err := narrowBody(ctx, &body.Filter); err != nil {
		return answer[*operate.BulkResult]{}, err
	}
	if actor := actorOf(&body.Action); actor != nil {
		*actor = cmp.Or(*actor, callerOf(ctx))
	}
	return bulkAnswer(s.backend.ActOnCases(ctx, *body))
}

// narrowBody is narrow for a filter in a body.
func narrowBody(ctx context.Context, f *operate.CaseFilter) (err error) {
	f.Namespace, err = narrow(ctx, f.Namespace)
	return moved(err, "query.namespace", "/filter/namespace")
}

func bulkAnswer(result *operate.BulkResult, err error) (answer[*operate.BulkResult], error) {
	if err != nil {
		return answer[*operate.BulkResult]{}, err
	}
	result.Results = list(result.Results)
	return ok(result), nil
}
