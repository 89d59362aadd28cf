package waiting

import (
	"context"

	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
	"github.com/taskerhq/tasker/waits"
)

// family are the handlers of the family.
type family struct{ backend waits.Backend }

// Routes adds the routes of the family to an API. Signals come from the systems that submit tasks.
func Routes(api *endpoint.API, backend waits.Backend) {
	f := &family{backend}
	endpoint.Add(api, endpoint.Post("/v1/signals", "send-signal", "Send a signal to the steps that wait for it",
		[]access.Permission{access.Submit}, endpoint.Hot|endpoint.Creates|endpoint.Conflicts|endpoint.Limited), f.send)
}

// send serves POST /v1/signals: 201 for a new signal, 200 for one whose ID is known.
func (f *family) send(ctx context.Context, _ *endpoint.None,
	body *waits.SignalRequest,
) (endpoint.Answer[*waits.Signal], error) {
	var no endpoint.Answer[*waits.Signal]
	if err := endpoint.ReachNamespace(ctx, body.Namespace, "/namespace"); err != nil {
		return no, err
	}
	s, err := f.backend.SendSignal(ctx, *body)
	if err != nil {
		return no, err
	}
	return endpoint.Stored(s.Created, "/v1/signals", s), nil
}
