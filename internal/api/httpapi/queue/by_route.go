package queue

import (
	"context"

	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/queueapi"
)

type routesQuery struct {
	Namespace []string `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
	Show      string   `query:"show" enum:"waiting,stuck" doc:"waiting: routes on which steps wait; stuck: those that no worker serves as well."`
	endpoint.PageQuery
}

func (f *family) listRoutes(ctx context.Context, params *routesQuery,
	_ *endpoint.None,
) (endpoint.Answer[*queueapi.RoutePage], error) {
	var no endpoint.Answer[*queueapi.RoutePage]
	namespaces, err := endpoint.NarrowNamespaces(ctx, params.Namespace)
	if err != nil {
		return no, err
	}
	page, err := f.backend.Routes(ctx, queueapi.RouteFilter{Namespaces: namespaces,
		Show: queueapi.RouteShow(params.Show), Limit: params.Limit, Cursor: params.Cursor})
	if err != nil {
		return no, err
	}
	page.Routes = endpoint.List(page.Routes)
	return endpoint.OK(page), nil
}
