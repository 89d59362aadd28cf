package queue

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/httpapi/taskworker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

// Backend is the part of the engine that the family needs.
type Backend interface {
	queueapi.Backend
	FailedTasks(ctx context.Context, filter operate.FailedTaskFilter) (*operate.FailedTaskPage, error)
	FailureReport(ctx context.Context, namespace string) (*operate.FailureReport, error)
	ReplayTask(ctx context.Context, id uuid.UUID, req operate.ReplayRequest) (*operate.Replay, error)
}

type family struct{ backend Backend }

// Routes adds the family to an API. The handlers of workers are those of /internal/workers in the words of the queue,
// so both families lease from the same queue under the same rules.
func Routes(api *endpoint.API, backend Backend, workers *taskworker.Verbs) {
	const hot, batch, creates, optional = endpoint.Hot, endpoint.Batch, endpoint.Creates, endpoint.BodyOptional
	const finds, conflicts, limited = endpoint.Finds, endpoint.Conflicts, endpoint.Limited
	get, post, del := endpoint.Get, endpoint.Post, endpoint.Delete
	may := func(p ...access.Permission) []access.Permission { return p }
	submit, read, work := may(access.Submit), may(access.Read), may(access.Work)
	operating, cancel, leave := may(access.Operate), may(access.Submit, access.Operate), may(access.Work, access.Operate)
	f := &family{backend}
	// Before the operations that use the type.
	taskworker.DocumentStatus(api)
	api.OlderNames("/api/v1/dlq", map[string]string{"reason": "failure_reason", "error": "error_pattern"})

	// Here "dlq" holds tasks that failed permanently; in /v1/dlq it holds their cases.
	endpoint.Add(api, get("/api/v1/dlq", "list-failed-tasks", "List permanently failed tasks, newest first", read, 0),
		f.listFailedTasks)
	endpoint.Add(api, get("/api/v1/dlq/patterns", "get-failure-report",
		"Analyse recent permanent failures by reason and by error", read, finds), f.failureReport)
	endpoint.Add(api, post("/api/v1/dlq/{task_id}/replay", "replay-task", "Run the failed steps of a task again",
		operating, optional|conflicts), f.replayTask)

	endpoint.AddStored(api, post("/api/v1/tasks", "enqueue-task", "Submit a task to the queue", submit,
		hot|creates|finds|conflicts|limited), f.enqueueTask)
	endpoint.Add(api, post("/api/v1/tasks/batch", "enqueue-tasks", "Submit many tasks to the queue in one transaction",
		submit, hot|batch|finds|conflicts|limited), f.enqueueTasks)
	endpoint.Add(api, get("/api/v1/tasks", "list-queue-tasks", "List tasks with their queue status, newest first", read,
		0), f.queueTasks)
	endpoint.Add(api, get("/api/v1/tasks/{id}", "get-queue-task", "Get a task with its position in the queue", read, hot),
		f.queueTask)
	endpoint.Add(api, del("/api/v1/tasks/{id}", "cancel-queue-task", "Cancel a task and report who is notified", cancel,
		conflicts), f.cancelQueueTask)
	endpoint.Add(api, get("/api/v1/queue/stats", "get-queue-stats", "Get queue statistics", read, limited), f.queueStats)
	endpoint.Add(api, get("/v1/routes", "list-routes", "List the queues by route, those that nobody serves first", read,
		0), f.listRoutes)

	// Handlers of package taskworker. A worker may drain itself; an operator may drain any.
	endpoint.Add(api, post("/api/v1/workers/register", "register-queue-worker", "Register a worker of the queue", work,
		optional|limited), workers.Register)
	endpoint.Add(api, post("/api/v1/workers/{id}/poll", "poll-queue", "Claim tasks (long poll)", work, hot|optional),
		workers.Poll)
	endpoint.Add(api, post("/api/v1/workers/{id}/start", "start-queue-task", "Start a claimed task", work, hot|conflicts),
		workers.Start)
	endpoint.Add(api, post("/api/v1/workers/{id}/progress", "progress-of-queue-task", "Report the progress of a task",
		work, hot|conflicts), workers.Progress)
	endpoint.Add(api, post("/api/v1/workers/{id}/result", "result-of-queue-task", "Report the result of a task", work,
		hot|conflicts), workers.Result)
	endpoint.Add(api, post("/api/v1/workers/{id}/heartbeat", "heartbeat-of-queue-worker",
		"Send a heartbeat and keep tasks", work, hot|optional), workers.Heartbeat)
	endpoint.Add(api, post("/api/v1/workers/{id}/drain", "drain-queue-worker", "Drain a worker: assign it no more tasks",
		leave, optional), workers.Drain)
	endpoint.Add(api, get("/api/v1/workers", "list-fleet", "List workers with their health", read, 0), workers.Fleet)
	endpoint.Add(api, get("/api/v1/workers/{id}", "get-fleet-worker", "Get a worker with its health", read, 0),
		workers.Member)
	endpoint.Add(api, post("/api/v1/workers/{id}/cordon", "cordon-fleet-worker",
		"Cordon a worker: hand it no more tasks until it is uncordoned", operating, optional), workers.Cordon)
	endpoint.Add(api, post("/api/v1/workers/{id}/uncordon", "uncordon-fleet-worker", "Uncordon a worker", operating,
		optional), workers.Uncordon)
	endpoint.Add(api, del("/api/v1/workers/{id}", "dismiss-queue-worker", "Deregister a worker and release its tasks "+
		"without charging attempts", leave, 0), workers.Dismiss)
}
