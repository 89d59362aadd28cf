package httpapi

import (
	"context"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

func (s *server) staleness(ctx context.Context, filter *operate.StalenessFilter, _ *endpoint.None,
) ([]operate.StaleTask, error) {
	return endpoint.Listed(endpoint.Narrowed(ctx, &filter.Namespace, s.backend.Staleness, filter))
}

// detectStaleness checks the tasks of all namespaces, so a limited key may not run it, not even as a dry run.
func (s *server) detectStaleness(ctx context.Context, _ *endpoint.None, body *operate.DetectRequest,
) ([]operate.Detection, error) {
	if p := access.From(ctx); p.Limited() {
		return nil, endpoint.OutsideNamespaces(p, tasker.Detail{Message: "the detector looks at the tasks of all namespaces"})
	}
	return endpoint.Listed(s.backend.DetectStaleness(ctx, *body))
}
