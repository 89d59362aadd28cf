package httpapi

import (
	"context"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

type stalenessFilter struct {
	Health    string `query:"health_status" enum:"healthy,warning,stale"`
	Namespace string `query:"namespace_name" maxLength:"255"`
	TaskName  string `query:"task_name" maxLength:"255" doc:"Template name or task type."`
	Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Page size."`
}

func (s *server) staleness(ctx context.Context, params *stalenessFilter,
	_ *endpoint.None,
) (endpoint.Answer[[]operate.StaleTask], error) {
	var no endpoint.Answer[[]operate.StaleTask]
	namespace, err := endpoint.NarrowNamespace(ctx, params.Namespace)
	if err != nil {
		return no, err
	}
	tasks, err := s.backend.Staleness(ctx, operate.StalenessFilter{
		Health: operate.Health(params.Health), Namespace: namespace, TaskName: params.TaskName, Limit: params.Limit,
	})
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
