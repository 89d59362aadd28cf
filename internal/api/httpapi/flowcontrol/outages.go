package flowcontrol

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
)

type outagesQuery struct {
	Namespace []string `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
	State     string   `query:"state" enum:"open,closed" doc:"Defaults to both."`
	endpoint.PageQuery
}

func (f *family) outages(ctx context.Context, params *outagesQuery,
	_ *endpoint.None,
) (endpoint.Answer[*flow.OutagePage], error) {
	var no endpoint.Answer[*flow.OutagePage]
	namespaces, err := endpoint.NarrowNamespaces(ctx, params.Namespace)
	if err != nil {
		return no, err
	}
	page, err := f.backend.Outages(ctx, flow.OutageFilter{Namespaces: namespaces, State: flow.OutageState(params.State),
		Limit: params.Limit, Cursor: params.Cursor})
	if err != nil {
		return no, err
	}
	page.Outages = endpoint.List(page.Outages)
	return endpoint.OK(page), nil
}

// OutagePath names an outage.
type OutagePath struct {
	UUID uuid.UUID `path:"outage_uuid"`
}

func (f *family) outage(ctx context.Context, params *OutagePath,
	_ *endpoint.None,
) (endpoint.Answer[*flow.Outage], error) {
	o, err := f.backend.Outage(ctx, params.UUID)
	return endpoint.OK(o), err
}

type closingPath struct {
	OutagePath
	endpoint.Match
}

func (f *family) closeOutage(ctx context.Context, params *closingPath,
	body *flow.OutageCloseRequest,
) (endpoint.Answer[*flow.Outage], error) {
	o, err := f.backend.CloseOutage(ctx, params.UUID, *body)
	return endpoint.OK(o), err
}
