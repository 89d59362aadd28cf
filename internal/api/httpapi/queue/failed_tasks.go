package queue

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/operate"
)

type failedTaskFilter struct {
	Status      string    `query:"resolution_status" enum:"pending,manually_resolved,permanently_failed,cancelled" default:"pending" doc:"Status of the case. pending selects tasks in error with an unresolved case."`
	Reason      string    `query:"failure_reason" enum:"staleness_timeout,max_retries_exceeded,dependency_cycle_detected,worker_unavailable,manual_dlq"`
	Fingerprint string    `query:"error_pattern" maxLength:"255" doc:"Fingerprint of the failure."`
	FailedStep  string    `query:"failed_step" maxLength:"255" doc:"Name of the failed step that stops the task."`
	Message     string    `query:"error_message" maxLength:"255" doc:"A literal part of the error message. Step and message are searched in the first 20,000 entries that match the other filters."`
	Retryable   string    `query:"retryable" enum:"true,false"`
	Namespace   string    `query:"namespace" maxLength:"255"`
	TaskType    string    `query:"task_type" maxLength:"255" doc:"Task type or template name."`
	After       time.Time `query:"after" doc:"Failed at or after this time."`
	Before      time.Time `query:"before" doc:"Failed before this time."`
	Limit       int       `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor      string    `query:"cursor" maxLength:"64" doc:"next_cursor of the previous page."`
}

// listFailedTasks has retryable as text, because its absence means both.
func (f *family) listFailedTasks(ctx context.Context, params *failedTaskFilter, _ *endpoint.None,
) (*operate.FailedTaskPage, error) {
	namespace, err := endpoint.NarrowNamespace(ctx, params.Namespace)
	if err != nil {
		return nil, err
	}
	filter := operate.FailedTaskFilter{
		ResolutionStatus: tasker.CaseResolution(params.Status), Reason: tasker.CaseReason(params.Reason),
		Fingerprint: params.Fingerprint, FailedStep: params.FailedStep, ErrorMessage: params.Message, Namespace: namespace,
		TaskType: params.TaskType, After: params.After, Before: params.Before, Limit: params.Limit, Cursor: params.Cursor,
	}
	if params.Retryable != "" {
		retryable := params.Retryable == "true"
		filter.Retryable = &retryable
	}
	page, err := f.backend.FailedTasks(ctx, filter)
	if err != nil {
		return nil, err
	}
	page.Tasks = endpoint.List(page.Tasks)
	return page, nil
}

type replayPath struct {
	ID uuid.UUID `path:"task_id" doc:"The task."`
	endpoint.Match
}

// replayTask: the actor defaults to the name of the key.
func (f *family) replayTask(ctx context.Context, params *replayPath, body *operate.ReplayRequest,
) (*operate.Replay, error) {
	body.ReplayedBy = cmp.Or(body.ReplayedBy, endpoint.Caller(ctx))
	return f.backend.ReplayTask(ctx, params.ID, *body)
}

type failureReportQuery struct {
	Namespace string `query:"namespace" maxLength:"255" doc:"Namespace to count."`
}

func (f *family) failureReport(ctx context.Context, params *failureReportQuery, _ *endpoint.None,
) (*operate.FailureReport, error) {
	namespace, err := endpoint.NarrowNamespace(ctx, params.Namespace)
	if err != nil {
		return nil, err
	}
	report, err := f.backend.FailureReport(ctx, namespace)
	if err != nil {
		return nil, err
	}
	report.Reasons, report.Fingerprints, report.Alarms = endpoint.List(report.Reasons), endpoint.List(report.Fingerprints),
		endpoint.List(report.Alarms)
	return report, nil
}
