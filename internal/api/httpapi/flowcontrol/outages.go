package flowcontrol

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
)

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
