package schedules

import (
	"context"

	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/schedules"
)

// Path names a schedule, to embed.
type Path struct {
	Namespace string `path:"namespace" maxLength:"255"`
	Name      string `path:"name" maxLength:"255"`
}

type actPath struct {
	Path
	endpoint.Match
}

func (f *family) list(ctx context.Context, filter *schedules.Filter, _ *endpoint.None,
) (*schedules.SchedulePage, error) {
	return endpoint.Narrowed(ctx, &filter.Namespace, f.backend.Schedules, filter)
}

func (f *family) save(ctx context.Context, _ *endpoint.Match, body *schedules.ScheduleRequest,
) (endpoint.Answer[*schedules.SavedSchedule], error) {
	var no endpoint.Answer[*schedules.SavedSchedule]
	if err := endpoint.ReachNamespace(ctx, body.Namespace, "/namespace"); err != nil {
		return no, err
	}
	if err := f.masker.RefuseScheduled(ctx, &body.Spec); err != nil {
		return no, err
	}
	saved, err := f.backend.Save(ctx, *body)
	if err != nil {
		return no, err
	}
	return endpoint.Stored(saved.Outcome == schedules.Created && !saved.DryRun, "/v1/schedules", saved), nil
}

func (f *family) get(ctx context.Context, params *Path, _ *endpoint.None) (*schedules.Schedule, error) {
	return f.backend.Schedule(ctx, params.Namespace, params.Name)
}

// removeQuery has the act in the query, since many proxies drop the body of a DELETE.
type removeQuery struct {
	Path

	Actor      string `query:"actor" maxLength:"255" doc:"Name recorded with the act. Defaults to the name of the API key."`
	Reason     string `query:"reason" maxLength:"1024" doc:"Reason of the act."`
	GivenMatch string `query:"if_match" maxLength:"1024" doc:"Same as the header If-Match."`
	endpoint.Match
}

type scheduleRemoval struct {
	Removed bool `json:"removed"`
}

func (f *family) remove(ctx context.Context, params *removeQuery, _ *endpoint.None) (scheduleRemoval, error) {
	return scheduleRemoval{true}, f.backend.Remove(ctx, params.Namespace, params.Name,
		schedules.ScheduleAct{Actor: params.Actor, Reason: params.Reason, IfMatch: params.IfMatch})
}

type firingQuery struct {
	Path
	schedules.FiringFilter
}

func (f *family) firings(ctx context.Context, params *firingQuery, _ *endpoint.None,
) (*schedules.FiringHistory, error) {
	return f.backend.Firings(ctx, params.Namespace, params.Name, params.FiringFilter)
}

func acted[B, R any](ctx context.Context, params *actPath, body *B,
	do func(ctx context.Context, namespace, name string, req B) (R, error),
) (R, error) {
	return do(ctx, params.Namespace, params.Name, *body)
}

func (f *family) pause(ctx context.Context, params *actPath, body *schedules.SchedulePauseRequest,
) (*schedules.Schedule, error) {
	return acted(ctx, params, body, f.backend.Pause)
}

func (f *family) resume(ctx context.Context, params *actPath, body *schedules.ScheduleAct,
) (*schedules.Schedule, error) {
	return acted(ctx, params, body, f.backend.Resume)
}

func (f *family) run(ctx context.Context, params *actPath, body *schedules.ScheduleRunRequest,
) (*schedules.Firing, error) {
	return acted(ctx, params, body, f.backend.Run)
}

func (f *family) backfill(ctx context.Context, params *actPath, body *schedules.BackfillRequest,
) (*schedules.Backfill, error) {
	return acted(ctx, params, body, f.backend.Backfill)
}
