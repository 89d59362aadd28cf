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
) (endpoint.Answer[*schedules.SchedulePage], error) {
	page, err := endpoint.Narrowed(ctx, &filter.Namespace, f.backend.Schedules, filter)
	return endpoint.OK(page), err
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

func (f *family) get(ctx context.Context, params *Path, _ *endpoint.None,
) (endpoint.Answer[*schedules.Schedule], error) {
	of, err := f.backend.Schedule(ctx, params.Namespace, params.Name)
	return endpoint.OK(of), err
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

func (f *family) remove(ctx context.Context, params *removeQuery, _ *endpoint.None,
) (endpoint.Answer[scheduleRemoval], error) {
	return endpoint.OK(scheduleRemoval{true}), f.backend.Remove(ctx, params.Namespace, params.Name,
		schedules.ScheduleAct{Actor: params.Actor, Reason: params.Reason, IfMatch: params.IfMatch})
}

type firingQuery struct {
	Path
	schedules.FiringFilter
}

func (f *family) firings(ctx context.Context, params *firingQuery, _ *endpoint.None,
) (endpoint.Answer[*schedules.FiringHistory], error) {
	page, err := f.backend.Firings(ctx, params.Namespace, params.Name, params.FiringFilter)
	return endpoint.OK(page), err
}

func acted[B, R any](ctx context.Context, params *actPath, body *B,
	do func(ctx context.Context, namespace, name string, req B) (R, error),
) (endpoint.Answer[R], error) {
	out, err := do(ctx, params.Namespace, params.Name, *body)
	return endpoint.OK(out), err
}

func (f *family) pause(ctx context.Context, params *actPath, body *schedules.SchedulePauseRequest,
) (endpoint.Answer[*schedules.Schedule], error) {
	return acted(ctx, params, body, f.backend.Pause)
}

func (f *family) resume(ctx context.Context, params *actPath, body *schedules.ScheduleAct,
) (endpoint.Answer[*schedules.Schedule], error) {
	return acted(ctx, params, body, f.backend.Resume)
}

func (f *family) run(ctx context.Context, params *actPath, body *schedules.ScheduleRunRequest,
) (endpoint.Answer[*schedules.Firing], error) {
	return acted(ctx, params, body, f.backend.Run)
}

func (f *family) backfill(ctx context.Context, params *actPath, body *schedules.BackfillRequest,
) (endpoint.Answer[*schedules.Backfill], error) {
	return acted(ctx, params, body, f.backend.Backfill)
}
