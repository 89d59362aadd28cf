package waiting

import (
	"context"

	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/waits"
)

type family struct{ backend waits.Backend }

// Routes adds the family to an API. Signals come from the systems that submit tasks.
func Routes(api *endpoint.API, backend waits.Backend) {
	f := &family{backend}
	endpoint.AddStored(api, endpoint.Post("/v1/signals", "send-signal", "Send a signal to the steps that wait for it",
		[]access.Permission{access.Submit}, endpoint.Hot|endpoint.Creates|endpoint.Conflicts|endpoint.Limited), f.send)
	endpoint.Add(api, endpoint.Get("/v1/signals", "list-signals", "List the signals that are kept",
		[]access.Permission{access.Read}, 0), f.signals)
	endpoint.Add(api, endpoint.Get("/v1/approvals", "list-approvals", "List the steps that wait for an approval",
		[]access.Permission{access.Read}, 0), f.approvals)
}

func (f *family) approvals(ctx context.Context, filter *waits.ApprovalFilter, _ *endpoint.None,
) (*waits.ApprovalPage, error) {
	page, err := endpoint.NarrowedAll(ctx, &filter.Namespaces, f.backend.Approvals, filter)
	if err == nil {
		page.Approvals = endpoint.List(page.Approvals)
	}
	return page, err
}

func (f *family) signals(ctx context.Context, filter *waits.SignalFilter, _ *endpoint.None,
) (*waits.SignalPage, error) {
	page, err := endpoint.NarrowedAll(ctx, &filter.Namespaces, f.backend.Signals, filter)
	if err == nil {
		page.Signals = endpoint.List(page.Signals)
	}
	return page, err
}

func (f *family) send(ctx context.Context, _ *endpoint.None, body *waits.SignalRequest,
) (endpoint.Answer[*waits.Signal], error) {
	s, err := endpoint.Reaching(ctx, body.Namespace, f.backend.SendSignal, body)
	return endpoint.Stored(err == nil && s.Created, "/v1/signals", s), err
}
