// Package schedules is the family /v1/schedules.
package schedules

import (
	"context"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/schedules"
)

type family struct {
	backend schedules.Backend // nil if the store keeps no schedules
	masker  Masker
}

// Masker refuses contexts that have the mask at a sensitive pointer.
type Masker interface {
	RefuseScheduled(ctx context.Context, of *schedules.Spec) error
}

// Routes adds the family to an API. With a nil backend every route answers unavailable.
//
// A key that may register templates may save schedules: both decide what runs.
func Routes(api *endpoint.API, backend schedules.Backend, masker Masker) {
	f := &family{backend, masker}
	const optional, creates, conflicts, limited = endpoint.BodyOptional, endpoint.Creates, endpoint.Conflicts,
		endpoint.Limited
	get, post, del := endpoint.Get, endpoint.Post, endpoint.Delete
	read, operate := []access.Permission{access.Read}, []access.Permission{access.Operate}

	add(api, f, get("/v1/schedules", "list-schedules", "List schedules by namespace and name", read, 0), f.list)
	endpoint.AddStored(api, post("/v1/schedules", "save-schedule", "Add or change a schedule", operate,
		creates|conflicts|limited|endpoint.Unmasked), kept(f, f.save))
	add(api, f, get("/v1/schedules/{namespace}/{name}", "get-schedule", "Get a schedule with its next ten times", read, 0),
		f.get)
	add(api, f, del("/v1/schedules/{namespace}/{name}", "remove-schedule", "Remove a schedule; its tasks stay", operate,
		conflicts), f.remove)
	add(api, f, get("/v1/schedules/{namespace}/{name}/firings", "list-firings",
		"List what became of the times of a schedule, latest first", read, 0), f.firings)
	add(api, f, post("/v1/schedules/{namespace}/{name}/pause", "pause-schedule", "Keep a schedule from firing", operate,
		optional|conflicts), f.pause)
	add(api, f, post("/v1/schedules/{namespace}/{name}/resume", "resume-schedule", "End the pause of a schedule", operate,
		optional|conflicts), f.resume)
	add(api, f, post("/v1/schedules/{namespace}/{name}/run", "run-schedule", "Submit the task of a schedule now", operate,
		optional|conflicts|limited), f.run)
	add(api, f, post("/v1/schedules/{namespace}/{name}/backfill", "backfill-schedule",
		"Fire the times of a range in the past", operate, conflicts|limited), f.backfill)
}

func add[P, B, R any](api *endpoint.API, f *family, e endpoint.Endpoint,
	h func(ctx context.Context, params *P, body *B) (R, error),
) {
	endpoint.Add(api, e, kept(f, h))
}

func kept[P, B, R any](f *family, h func(ctx context.Context, params *P, body *B) (R, error),
) func(context.Context, *P, *B) (R, error) {
	return func(ctx context.Context, params *P, body *B) (answer R, err error) {
		if f.backend == nil {
			return answer, &tasker.Error{Code: tasker.CodeUnavailable, Message: "this server keeps no schedules",
				Hint: "schedules need a SQL store: start the server with a store of sqlite: or postgres:"}
		}
		return h(ctx, params, body)
	}
}
