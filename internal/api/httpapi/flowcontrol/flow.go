package flowcontrol

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
)

type family struct{ backend flow.Backend }

// Routes adds the families to an API. Pauses and limits have no identifiers: a target has at most one.
func Routes(api *endpoint.API, backend flow.Backend) {
	get, post := endpoint.Get, endpoint.Post
	may := func(p ...access.Permission) []access.Permission { return p }
	read, operating := may(access.Read), may(access.Operate)
	f := &family{backend}
	endpoint.Add(api, get("/v1/pauses", "list-pauses", "List what is paused", read, 0), f.pauses)
	endpoint.AddStored(api, post("/v1/pauses", "pause", "Pause a route, a handler, a template or a namespace", operating,
		endpoint.Creates|endpoint.Limited), f.pause)
	endpoint.Add(api, post("/v1/pauses/resume", "resume", "Resume what is paused", operating, endpoint.Finds), f.resume)
	endpoint.Add(api, get("/v1/limits", "list-limits", "List the limits of operators on handlers and routes", read, 0),
		f.limits)
	endpoint.AddStored(api, post("/v1/limits", "set-limit", "Limit how many steps of a handler or a route run at once, "+
		"or begin in a time", operating, endpoint.Creates|endpoint.Limited), f.setLimit)
	endpoint.Add(api, post("/v1/limits/delete", "delete-limit", "Delete the limit of a handler or a route", operating,
		endpoint.Finds), f.deleteLimit)
	endpoint.Add(api, get("/v1/outages", "list-outages", "List outages of routes", read, 0), f.outages)
	endpoint.Add(api, get("/v1/outages/{outage_uuid}", "get-outage", "Get an outage", read, 0), f.outage)
	endpoint.Add(api, post("/v1/outages/{outage_uuid}/close", "close-outage", "Close an outage", operating,
		endpoint.Conflicts), f.closeOutage)
}

func (f *family) pauses(ctx context.Context, filter *flow.PauseFilter, _ *endpoint.None) (*flow.PausePage, error) {
	page, err := endpoint.NarrowedAll(ctx, &filter.Namespaces, f.backend.Pauses, filter)
	if err == nil {
		page.Pauses = endpoint.List(page.Pauses)
	}
	return page, err
}

func (f *family) pause(ctx context.Context, _ *endpoint.None, body *flow.PauseRequest,
) (endpoint.Answer[*flow.Pause], error) {
	p, err := endpoint.Reaching(ctx, body.Namespace, f.backend.Pause, body)
	return endpoint.Stored(err == nil && p.Created, "/v1/pauses", p), err
}

func (f *family) resume(ctx context.Context, _ *endpoint.None, body *flow.ResumePausedRequest) (*flow.Pause, error) {
	return endpoint.Reaching(ctx, body.Namespace, f.backend.ResumePaused, body)
}

func (f *family) limits(ctx context.Context, filter *flow.LimitFilter, _ *endpoint.None) (*flow.LimitPage, error) {
	page, err := endpoint.NarrowedAll(ctx, &filter.Namespaces, f.backend.Limits, filter)
	if err == nil {
		page.Limits = endpoint.List(page.Limits)
	}
	return page, err
}

func (f *family) setLimit(ctx context.Context, _ *endpoint.None, body *flow.LimitRequest,
) (endpoint.Answer[*flow.Limit], error) {
	l, err := endpoint.Reaching(ctx, body.Namespace, f.backend.SetLimit, body)
	return endpoint.Stored(err == nil && l.Created, "/v1/limits", l), err
}

func (f *family) deleteLimit(ctx context.Context, _ *endpoint.None, body *flow.DeleteLimitRequest,
) (*flow.Limit, error) {
	return endpoint.Reaching(ctx, body.Namespace, f.backend.DeleteLimit, body)
}

func (f *family) outages(ctx context.Context, filter *flow.OutageFilter, _ *endpoint.None) (*flow.OutagePage, error) {
	page, err := endpoint.NarrowedAll(ctx, &filter.Namespaces, f.backend.Outages, filter)
	if err == nil {
		page.Outages = endpoint.List(page.Outages)
	}
	return page, err
}

// OutagePath names an outage.
type OutagePath struct {
	UUID uuid.UUID `path:"outage_uuid"`
}

func (f *family) outage(ctx context.Context, params *OutagePath, _ *endpoint.None) (*flow.Outage, error) {
	return f.backend.Outage(ctx, params.UUID)
}

type closingPath struct {
	OutagePath
	endpoint.Match
}

func (f *family) closeOutage(ctx context.Context, params *closingPath, body *flow.OutageCloseRequest,
) (*flow.Outage, error) {
	return f.backend.CloseOutage(ctx, params.UUID, *body)
}
