package httpapi

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker/operate"

	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
)

// updateCases changes one page of cases per request; the caller continues with the cursor.
func (s *server) updateCases(ctx context.Context, _ *endpoint.None, body *operate.BulkCaseUpdate,
) (*operate.BulkResult, error) {
	if err := narrowBody(ctx, &body.Filter); err != nil {
		return nil, err
	}
	body.Update.ResolvedBy = cmp.Or(body.Update.ResolvedBy, endpoint.Caller(ctx))
	body.Update.Metadata = absent(body.Update.Metadata)
	return bulkAnswer(s.backend.UpdateCases(ctx, *body))
}

// actOnCases: each kind of act has its own field for the actor, which defaults to the key's name.
func (s *server) actOnCases(ctx context.Context, _ *endpoint.None, body *operate.BulkStepAction,
) (*operate.BulkResult, error) {
	if err := narrowBody(ctx, &body.Filter); err != nil {
		return nil, err
	}
	if actor := actorOf(&body.Action); actor != nil {
		*actor = cmp.Or(*actor, endpoint.Caller(ctx))
	}
	return bulkAnswer(s.backend.ActOnCases(ctx, *body))
}

// NarrowNamespace names a place in the query; narrowBody moves it to the body.
func narrowBody(ctx context.Context, f *operate.CaseFilter) (err error) {
	f.Namespace, err = endpoint.NarrowNamespace(ctx, f.Namespace)
	return endpoint.Moved(err, "query.namespace", "/filter/namespace")
}

func bulkAnswer(result *operate.BulkResult, err error) (*operate.BulkResult, error) {
	if err != nil {
		return nil, err
	}
	result.Results = endpoint.List(result.Results)
	return result, nil
}
