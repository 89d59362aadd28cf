package flowcontrol

import (
	"context"

	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
)

func (f *family) limits(ctx context.Context, filter *flow.LimitFilter, _ *endpoint.None) (*flow.LimitPage, error) {
	page, err := endpoint.NarrowedAll(ctx, &filter.Namespaces, f.backend.Limits, filter)
	if err == nil {
		page.Limits = endpoint.List(page.Limits)
	}
	return page, err
}

func (f *family) setLimit(ctx context.Context, _ *endpoint.None,
	body *flow.LimitRequest,
) (endpoint.Answer[*flow.Limit], error) {
	l, err := endpoint.Reaching(ctx, body.Namespace, f.backend.SetLimit, body)
	return endpoint.Stored(err == nil && l.Created, "/v1/limits", l), err
}

func (f *family) deleteLimit(ctx context.Context, _ *endpoint.None, body *flow.DeleteLimitRequest,
) (*flow.Limit, error) {
	return endpoint.Reaching(ctx, body.Namespace, f.backend.DeleteLimit, body)
}
