package queue

import (
	"context"

	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/queueapi"
)

func (f *family) listRoutes(ctx context.Context, filter *queueapi.RouteFilter, _ *endpoint.None,
) (*queueapi.RoutePage, error) {
	page, err := endpoint.NarrowedAll(ctx, &filter.Namespaces, f.backend.Routes, filter)
	if err == nil {
		page.Routes = endpoint.List(page.Routes)
	}
	return page, err
}
