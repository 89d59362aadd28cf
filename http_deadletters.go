package tasker

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"
)

func (b *httpBackend) DeadLetters(ctx context.Context, f DeadLetterFilter) (*DeadLetterPage, error) {
	q := make(query)
	q.set("resolution_status", string(f.ResolutionStatus))
	q.set("failure_reason", string(f.Reason))
	q.set("error_pattern", f.ErrorPattern)
	q.set("failed_step", f.FailedStep)
	q.set("error_message", f.ErrorMessage)
	if f.Retryable != nil {
		q.set("retryable", strconv.FormatBool(*f.Retryable))
	}
	q.set("namespace", f.Namespace)
	q.set("task_type", f.TaskType)
	q.setTime("after", given(f.After))
	q.setTime("before", given(f.Before))
	q.setInt("limit", f.Limit)
	q.set("cursor", f.Cursor)
	return fetch[DeadLetterPage](ctx, b, call{verb: "list dead letters", method: http.MethodGet, path: "/api/v1/dlq", query: url.Values(q)})
}

func (b *httpBackend) ReplayTask(ctx context.Context, task uuid.UUID, req ReplayRequest) (*Replay, error) {
	return fetch[Replay](ctx, b, call{verb: "replay task", method: http.MethodPost, path: "/api/v1/dlq/" + task.String() + "/replay", body: req})
}

func (b *httpBackend) DeadLetterPatterns(ctx context.Context, namespace string) (*DeadLetterReport, error) {
	q := make(query)
	q.set("namespace", namespace)
	return fetch[DeadLetterReport](ctx, b, call{verb: "get patterns of failures", method: http.MethodGet, path: "/api/v1/dlq/patterns", query: url.Values(q)})
}
