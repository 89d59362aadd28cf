package httpapi

import (
	"context"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

func (s *server) staleness(ctx context.Context, filter *operate.StalenessFilter,
	_ *endpoint.None,
) (endpoint.Answer[[]operate.StaleTask], error) {
	tasks, err := endpoint.Narrowed(ctx, &filter.Namespace, s.backend.Staleness, filter)
	return endpoint.OK(endpoint.List(tasks)), err
}

// detectStaleness checks the tasks of all namespaces, so a limited key may not run it, not even as a dry run.
func (s *server) detectStaleness(ctx context.Context, _ *endpoint.None,
	body *operate.DetectRequest,
) (endpoint.Answer[[]operate.Detection], error) {
	var no endpoint.Answer[[]operate.Detection]
	if p := access.From(ctx); p.Limited() {
		return no, endpoint.OutsideNamespaces(p, tasker.Detail{Message: "the detector looks at the tasks of all namespaces"})
	}
	detections, err := s.backend.DetectStaleness(ctx, *body)
	return endpoint.OK(endpoint.List(detections)), err
}
