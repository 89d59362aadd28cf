package remote

import (
	"context"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

func stepsPath(task uuid.UUID) string { return "/v1/tasks/" + task.String() + "/workflow_steps" }

// Steps asks for the results, which the server omits from lists by default.
func (b *httpBackend) Steps(ctx context.Context, task uuid.UUID) ([]tasker.Step, error) {
	return query.List[tasker.Step](ctx, b, tasker.Request{Verb: "list steps", Method: http.MethodGet,
		Path: stepsPath(task), Query: url.Values{"include": {"results"}}})
}

func (b *httpBackend) Step(ctx context.Context, task, step uuid.UUID) (*tasker.Step, error) {
	return fetch[tasker.Step](ctx, b, call{verb: "get step", method: http.MethodGet,
		path: stepsPath(task) + "/" + step.String()})
}

func (b *httpBackend) StepLogs(ctx context.Context, task, step uuid.UUID) ([]tasker.AttemptLog, error) {
	return query.List[tasker.AttemptLog](ctx, b, tasker.Request{Verb: "list logs", Method: http.MethodGet,
		Path: stepsPath(task) + "/" + step.String() + "/logs"})
}

// ActOnStep is never retried: an act whose response was lost may have been done.
func (b *httpBackend) ActOnStep(ctx context.Context, task, step uuid.UUID, act tasker.StepAction,
) (*tasker.Step, error) {
	return fetch[tasker.Step](ctx, b, call{
		verb: "act on step", method: http.MethodPatch, path: stepsPath(task) + "/" + step.String(), body: act,
	})
}
