package httpapi

import (
	"net/http"

	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/operate"
)

// routes is the whole API: method, path, operation, permissions and traits. A list of permissions means that one of
// them suffices.
func (s *server) routes() {
	const get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	may := func(p ...access.Permission) []access.Permission { return p }
	submit, read, work := may(access.Submit), may(access.Read), may(access.Work)
	operating, cancel, leave := may(access.Operate), may(access.Submit, access.Operate), may(access.Work, access.Operate)

	add(s, endpoint{post, "/v1/tasks", "submit-task", "Submit a task", submit,
		hot | creates | finds | conflicts | limited}, s.submitTask)
	add(s, endpoint{post, "/v1/tasks/batch", "submit-tasks", "Submit many tasks in one transaction", submit,
		hot | batch | finds | conflicts | limited}, s.submitTasks)
	add(s, endpoint{get, "/v1/tasks", "list-tasks", "List tasks, newest first", read, 0}, s.listTasks)
	add(s, endpoint{get, "/v1/tasks/{uuid}", "get-task", "Get a task, now or when it is settled", read, hot}, s.getTask)
	add(s, endpoint{get, "/v1/tasks/{uuid}/history", "get-task-history", "Get the history of a task", read, 0},
		s.getHistory)
	add(s, endpoint{get, "/v1/tasks/{uuid}/explain", "explain-task", "Explain the state of a task", read, 0},
		s.explainTask)
	add(s, endpoint{patch, "/v1/tasks/{uuid}/context", "edit-task-context", "Change the context of a task in error and " +
		"run its failed steps again", operating, conflicts}, s.editContext)
	add(s, endpoint{del, "/v1/tasks/{uuid}", "cancel-task", "Cancel a task", cancel, conflicts}, s.cancelTask)
	add(s, endpoint{post, "/v1/tasks/cancel", "cancel-tasks", "Cancel many tasks in one transaction", cancel,
		batch | finds | conflicts}, s.cancelTasks)

	add(s, endpoint{get, "/v1/tasks/{uuid}/workflow_steps", "list-steps", "List the steps of a task", read, 0},
		s.listSteps)
	add(s, endpoint{get, "/v1/tasks/{uuid}/workflow_steps/{step_uuid}", "get-step", "Get a step and its readiness", read,
		0}, s.getStep)
	add(s, endpoint{patch, "/v1/tasks/{uuid}/workflow_steps/{step_uuid}", "act-on-step",
		"Reset, resolve or complete a step", operating, conflicts}, s.actOnStep)

	addStream(s, endpoint{get, "/v1/events", "stream-events", "Stream events of tasks, cases and the queue", read,
		hot | finds | limited}, s.streamEvents)

	// A snapshot is sent as stored; the document shows its form too.
	schemaOf[operate.CaseSnapshot](s.registry)
	add(s, endpoint{get, "/v1/dlq", "list-cases", "List cases, newest first", read, 0}, s.listCases)
	add(s, endpoint{get, "/v1/dlq/task/{task_uuid}", "get-case", "Get the latest case of a task with its snapshot", read,
		0}, s.getCase)
	add(s, endpoint{post, "/v1/dlq/task/{task_uuid}", "open-case", "Open a case manually", operating, creates | conflicts},
		s.openCase)
	add(s, endpoint{patch, "/v1/dlq/entry/{dlq_entry_uuid}", "update-case", "Add notes to a case, resolve it or reopen it",
		operating, conflicts}, s.updateCase)
	add(s, endpoint{post, "/v1/dlq/update", "update-cases", "Update many cases", operating, conflicts}, s.updateCases)
	add(s, endpoint{post, "/v1/dlq/act", "act-on-cases", "Reset, resolve or complete the failed steps of the tasks of " +
		"many cases", operating, batch | conflicts}, s.actOnCases)
	add(s, endpoint{get, "/v1/dlq/stats", "get-case-stats", "Count cases by reason", read, 0}, s.caseStats)
	add(s, endpoint{get, "/v1/dlq/investigation-queue", "get-investigation-queue", "List pending cases, most urgent first",
		read, 0}, s.investigationQueue)
	add(s, endpoint{get, "/v1/dlq/staleness", "get-staleness", "List live tasks by staleness, stale tasks first", read, 0},
		s.staleness)
	add(s, endpoint{post, "/v1/dlq/staleness/detect", "detect-staleness", "Run the staleness detector now", operating,
		bare}, s.detectStaleness)

	add(s, endpoint{get, "/api/v1/dlq", "list-failed-tasks", "List permanently failed tasks, newest first", read, 0},
		s.listFailedTasks)
	add(s, endpoint{get, "/api/v1/dlq/patterns", "get-failure-report",
		"Analyse recent permanent failures by reason and by error", read, finds}, s.failureReport)
	add(s, endpoint{post, "/api/v1/dlq/{task_id}/replay", "replay-task", "Run the failed steps of a task again", operating,
		bare | conflicts}, s.replayTask)

	add(s, endpoint{get, "/v1/audit", "list-audit", "List acts of operators, newest first", read, finds}, s.listAudit)
	add(s, endpoint{get, "/v1/tasks/{uuid}/audit", "list-task-audit", "List acts on a task, its steps and its cases", read,
		0}, s.listTaskAudit)
	add(s, endpoint{get, "/v1/dlq/entry/{dlq_entry_uuid}/audit", "list-case-audit", "List acts on a case", read, 0},
		s.listCaseAudit)

	add(s, endpoint{post, "/v1/templates", "register-template", "Register a version of a template", operating,
		creates | conflicts}, s.registerTemplate)
	add(s, endpoint{get, "/v1/templates", "list-templates", "List templates", read, 0}, s.listTemplates)
	add(s, endpoint{get, "/v1/templates/{namespace}/{name}", "get-template",
		"Get the last registered version of a template", read, 0}, s.getTemplate)
	add(s, endpoint{get, "/v1/templates/{namespace}/{name}/{version}", "get-template-version",
		"Get a version of a template", read, 0}, s.getTemplateVersion)

	add(s, endpoint{post, "/internal/workers/register", "register-worker", "Register a worker", work, bare | limited},
		s.registerWorker)
	add(s, endpoint{get, "/internal/workers", "list-workers", "List workers", read, 0}, s.listWorkers)
	add(s, endpoint{get, "/internal/workers/{id}", "get-worker", "Get a worker", read, 0}, s.getWorker)
	add(s, endpoint{post, "/internal/workers/{id}/poll", "poll", "Claim steps (long poll)", work, hot | bare},
		s.pollEither)
	add(s, endpoint{post, "/internal/workers/{id}/start", "start", "Start claimed steps", work, hot | batch | conflicts},
		s.startEither)
	add(s, endpoint{post, "/internal/workers/{id}/progress", "progress", "Report the progress of a step", work,
		hot | conflicts}, s.progressEither)
	add(s, endpoint{post, "/internal/workers/{id}/result", "result", "Settle steps", work, hot | batch | conflicts},
		s.resultEither)
	add(s, endpoint{post, "/internal/workers/{id}/heartbeat", "heartbeat", "Send a heartbeat and renew leases", work,
		hot | batch | bare}, s.heartbeat)
	add(s, endpoint{post, "/internal/workers/{id}/drain", "drain", "Drain a worker: assign it no more steps", leave, bare},
		s.drain)
	add(s, endpoint{post, "/internal/workers/{id}/resume", "resume-worker", "Resume a drained worker", operating,
		bare | conflicts}, s.resumeWorker)

	s.queueRoutes()

	add(s, endpoint{get, "/health/live", "live", "Check that the process is alive", nil, hot}, s.getLive)
	add(s, endpoint{get, "/health/ready", "ready", "Check that the server is ready", nil, hot}, s.getReady)
	add(s, endpoint{get, "/version", "version", "Get the version of the server", nil, 0}, s.getVersion)
}

// queueRoutes are the compatibility family: the same tasks as one priority queue, in the words of systems with queues
// only.
func (s *server) queueRoutes() {
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	may := func(p ...access.Permission) []access.Permission { return p }
	submit, read, work, cancel := may(access.Submit), may(access.Read), may(access.Work),
		may(access.Submit, access.Operate)
	leave := may(access.Work, access.Operate)

	add(s, endpoint{post, "/api/v1/tasks", "enqueue-task", "Submit a task to the queue", submit,
		hot | creates | finds | conflicts | limited}, s.enqueueTask)
	add(s, endpoint{post, "/api/v1/tasks/batch", "enqueue-tasks", "Submit many tasks to the queue in one transaction",
		submit, hot | batch | finds | conflicts | limited}, s.enqueueTasks)
	add(s, endpoint{get, "/api/v1/tasks", "list-queue-tasks", "List tasks with their queue status, newest first", read, 0},
		s.queueTasks)
	add(s, endpoint{get, "/api/v1/tasks/{id}", "get-queue-task", "Get a task with its position in the queue", read, hot},
		s.queueTask)
	add(s, endpoint{del, "/api/v1/tasks/{id}", "cancel-queue-task", "Cancel a task and report who is notified", cancel,
		conflicts}, s.cancelQueueTask)
	add(s, endpoint{get, "/api/v1/queue/stats", "get-queue-stats", "Get queue statistics", read, limited}, s.queueStats)

	add(s, endpoint{post, "/api/v1/workers/register", "register-queue-worker", "Register a worker of the queue", work,
		bare | limited}, s.registerQueueWorker)
	add(s, endpoint{post, "/api/v1/workers/{id}/poll", "poll-queue", "Claim tasks (long poll)", work, hot | bare},
		s.pollQueue)
	add(s, endpoint{post, "/api/v1/workers/{id}/start", "start-queue-task", "Start a claimed task", work, hot | conflicts},
		s.startQueueTask)
	add(s, endpoint{post, "/api/v1/workers/{id}/progress", "progress-of-queue-task", "Report the progress of a task", work,
		hot | conflicts}, s.progressOfQueueTask)
	add(s, endpoint{post, "/api/v1/workers/{id}/result", "result-of-queue-task", "Report the result of a task", work,
		hot | conflicts}, s.resultOfQueueTask)
	add(s, endpoint{post, "/api/v1/workers/{id}/heartbeat", "heartbeat-of-queue-worker", "Send a heartbeat and keep tasks",
		work, hot | bare}, s.heartbeatOfQueueWorker)
	add(s, endpoint{post, "/api/v1/workers/{id}/drain", "drain-queue-worker", "Drain a worker: assign it no more tasks",
		leave, bare}, s.drain)
	add(s, endpoint{del, "/api/v1/workers/{id}", "dismiss-queue-worker", "Deregister a worker and release its tasks " +
		"without charging attempts", leave, 0}, s.dismissQueueWorker)
}
