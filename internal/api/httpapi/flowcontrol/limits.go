package flowcontrol

import (
	"context"

	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
)

type limitsQuery struct {
	Namespace []string `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
	Kind      string   `query:"kind" enum:"route,handler"`
	Handler   string   `query:"handler" maxLength:"255"`
	endpoint.PageQuery
}

func (f *family) limits(ctx context.Context, params *limitsQuery,
	_ *endpoint.None,
) (endpoint.Answer[*flow.LimitPage], error) {
	var no endpoint.Answer[*flow.LimitPage]
	namespaces, err := endpoint.NarrowNamespaces(ctx, params.Namespace)
	if err != nil {
		return no, err
	}
	page, err := f.backend.Limits(ctx, flow.LimitFilter{Namespaces: namespaces, Kind: flow.Kind(params.Kind),
		Handler: params.Handler, Limit: params.Limit, Cursor: params.Cursor})
	if err != nil {
		return no, err
	}
	page.Limits = endpoint.List(page.Limits)
	return endpoint.OK(page), nil
}

func (f *family) setLimit(ctx context.Context, _ *endpoint.None,
	body *flow.LimitRequest,
) (endpoint.Answer[*flow.Limit], error) {
	var no endpoint.Answer[*flow.Limit]
	if err := endpoint.ReachNamespace(ctx, body.Namespace, "/namespace"); err != nil {
		return no, err
	}
	l, err := f.backend.SetLimit(ctx, *body)
	if err != nil {
		return no, err
	}
	return endpoint.Stored(l.Created, "/v1/limits", l), nil
}

func (f *family) deleteLimit(ctx context.Context, _ *endpoint.None,
	body *flow.DeleteLimitRequest,
) (endpoint.Answer[*flow.Limit], error) {
	if err := endpoint.ReachNamespace(ctx, body.Namespace, "/namespace"); err != nil {
		return endpoint.Answer[*flow.Limit]{}, err
	}
	l, err := f.backend.DeleteLimit(ctx, *body)
	return endpoint.OK(l), err
}
