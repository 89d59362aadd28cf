package schedules

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// server is a Backend over HTTP.
type server struct{ client *tasker.Client }

func send[T any](ctx context.Context, s server, verb, path string, body any) (*T, error) {
	return query.Ask[T](ctx, s.client, tasker.Request{Verb: verb, Method: http.MethodPost, Path: path, Body: body})
}

func fetch[T any](ctx context.Context, s server, verb, path string, q query.Values) (*T, error) {
	return query.Ask[T](ctx, s.client, tasker.Request{Verb: verb, Method: http.MethodGet, Path: path,
		Query: url.Values(q)})
}

// pathOf refuses a name that HTTP would resolve or drop, so that the request reaches no other route.
func pathOf(namespace, name string) (string, error) {
	namespace = cmp.Or(namespace, "default")
	path := "/v1/schedules"
	for _, segment := range []string{namespace, name} {
		if segment == "" || segment == "." || segment == ".." {
			return "", tasker.Errorf(tasker.CodeNotFound, "nothing is named %q", segment)
		}
		path += "/" + url.PathEscape(segment)
	}
	return path, nil
}

func act[T any](ctx context.Context, s server, verb, namespace, name, below string, body any) (*T, error) {
	path, err := pathOf(namespace, name)
	if err != nil {
		return nil, err
	}
	return send[T](ctx, s, verb, path+below, body)
}

// Save implements Backend.
func (s server) Save(ctx context.Context, req ScheduleRequest) (*SavedSchedule, error) {
	return send[SavedSchedule](ctx, s, "save schedule", "/v1/schedules", req)
}

// Schedules implements Backend.
func (s server) Schedules(ctx context.Context, f Filter) (*SchedulePage, error) {
	return fetch[SchedulePage](ctx, s, "list schedules", "/v1/schedules", query.Of(f))
}

// Schedule implements Backend.
func (s server) Schedule(ctx context.Context, namespace, name string) (*Schedule, error) {
	path, err := pathOf(namespace, name)
	if err != nil {
		return nil, err
	}
	return fetch[Schedule](ctx, s, "get schedule", path, nil)
}

// Firings implements Backend.
func (s server) Firings(ctx context.Context, namespace, name string, f FiringFilter) (*FiringHistory, error) {
	path, err := pathOf(namespace, name)
	if err != nil {
		return nil, err
	}
	return fetch[FiringHistory](ctx, s, "list firings", path+"/firings", query.Of(f))
}

// Remove implements Backend. A DELETE has no body, so the act is in the query.
func (s server) Remove(ctx context.Context, namespace, name string, a ScheduleAct) error {
	path, err := pathOf(namespace, name)
	if err != nil {
		return err
	}
	q := query.Values{}
	q.Set("actor", a.Actor)
	q.Set("reason", a.Reason)
	q.Set("if_match", a.IfMatch)
	r := tasker.Request{Verb: "remove schedule", Method: http.MethodDelete, Path: path, Query: url.Values(q)}
	return s.client.Call(ctx, r, nil)
}

// Pause implements Backend.
func (s server) Pause(ctx context.Context, namespace, name string, req SchedulePauseRequest) (*Schedule, error) {
	return act[Schedule](ctx, s, "pause schedule", namespace, name, "/pause", req)
}

// Resume implements Backend.
func (s server) Resume(ctx context.Context, namespace, name string, a ScheduleAct) (*Schedule, error) {
	return act[Schedule](ctx, s, "resume schedule", namespace, name, "/resume", a)
}

// Run implements Backend. After a lost response, look at the firings before a second call, which would run the task
// again.
func (s server) Run(ctx context.Context, namespace, name string, req ScheduleRunRequest) (*Firing, error) {
	return act[Firing](ctx, s, "run schedule", namespace, name, "/run", req)
}

// Backfill implements Backend.
func (s server) Backfill(ctx context.Context, namespace, name string, req BackfillRequest) (*Backfill, error) {
	return act[Backfill](ctx, s, "backfill schedule", namespace, name, "/backfill", req)
}
