package httpapi

import (
	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/executionapi"
	"github.com/taskerhq/tasker/internal/api/httpapi/dlq"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/httpapi/executions"
	"github.com/taskerhq/tasker/internal/api/httpapi/flowcontrol"
	"github.com/taskerhq/tasker/internal/api/httpapi/inbox"
	"github.com/taskerhq/tasker/internal/api/httpapi/queue"
	"github.com/taskerhq/tasker/internal/api/httpapi/schedules"
	"github.com/taskerhq/tasker/internal/api/httpapi/stepworker"
	"github.com/taskerhq/tasker/internal/api/httpapi/taskworker"
	"github.com/taskerhq/tasker/internal/api/httpapi/topics"
	"github.com/taskerhq/tasker/internal/api/httpapi/waiting"
	"github.com/taskerhq/tasker/internal/api/httpapi/workers"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

// routes is the whole API: method, path, operation, permissions (one suffices) and traits.
func (s *server) routes() {
	const hot, batch, creates, optional = endpoint.Hot, endpoint.Batch, endpoint.Creates, endpoint.BodyOptional
	const finds, conflicts, limited = endpoint.Finds, endpoint.Conflicts, endpoint.Limited
	api := s.api
	get, post, patch, del := endpoint.Get, endpoint.Post, endpoint.Patch, endpoint.Delete
	may := func(p ...access.Permission) []access.Permission { return p }
	// Submitters may cancel tasks, too; every other act on a task is an operator's.
	submit, read := may(access.Submit), may(access.Read)
	operating, cancel := may(access.Operate), may(access.Submit, access.Operate)

	// Submitting and reading one task happen for every task, so they are logged at level debug.
	endpoint.AddStored(api, post("/v1/tasks", "submit-task", "Submit a task", submit,
		hot|creates|finds|conflicts|limited), s.submitTask)
	endpoint.Add(api, post("/v1/tasks/batch", "submit-tasks", "Submit many tasks in one transaction", submit,
		hot|batch|finds|conflicts|limited), s.submitTasks)
	endpoint.Add(api, get("/v1/tasks", "list-tasks", "List tasks, newest first", read, 0), s.listTasks)
	endpoint.Add(api, get("/v1/tasks/{uuid}", "get-task", "Get a task, now or when it is settled", read, hot), s.getTask)
	endpoint.Add(api, get("/v1/tasks/{uuid}/history", "get-task-history", "Get the history of a task", read, 0),
		s.getHistory)
	endpoint.Add(api, get("/v1/tasks/{uuid}/explain", "explain-task", "Explain the state of a task", read, 0),
		s.explainTask)
	endpoint.Add(api, patch("/v1/tasks/{uuid}/context", "edit-task-context", "Change the context of a task in error and "+
		"run its failed steps again", operating, conflicts|endpoint.Unmasked), s.editContext)
	endpoint.Add(api, del("/v1/tasks/{uuid}", "cancel-task", "Cancel a task", cancel, conflicts), s.cancelTask)
	endpoint.Add(api, post("/v1/tasks/cancel", "cancel-tasks", "Cancel many tasks in one transaction", cancel,
		batch|finds|conflicts), s.cancelTasks)

	// All acts on a step are one operation, which the body chooses.
	endpoint.Add(api, get("/v1/tasks/{uuid}/workflow_steps", "list-steps", "List the steps of a task", read, 0),
		s.listSteps)
	endpoint.Add(api, get("/v1/tasks/{uuid}/workflow_steps/{step_uuid}", "get-step", "Get a step and its readiness", read,
		0), s.getStep)
	endpoint.Add(api, get("/v1/tasks/{uuid}/workflow_steps/{step_uuid}/logs", "list-step-logs",
		"List the logs of the last attempts of a step", read, 0), s.listLogs)
	endpoint.AddDownload(api, get("/v1/tasks/{uuid}/workflow_steps/{step_uuid}/large_result", "get-large-result",
		"Get the large result of a step", read, 0), "The result: a JSON document.", s.openLarge)
	endpoint.Add(api, get("/v1/tasks/{uuid}/workflow_steps/{step_uuid}/children", "list-children",
		"List the child tasks of a step", read, 0), s.listChildren)
	endpoint.Add(api, patch("/v1/tasks/{uuid}/workflow_steps/{step_uuid}", "act-on-step",
		"Reset, resolve, complete, approve or reject a step", operating, conflicts|endpoint.Unmasked), s.actOnStep)

	// A stream is open for hours, so its number is limited, not its time.
	endpoint.AddStream[tasker.Event](api, get("/v1/events", "stream-events",
		"Stream events of tasks, cases, the inbox and the queue",
		read, hot|finds|limited), eventType, eventsDoc, s.serveEvents)
	endpoint.AddStream[executionapi.ExecutionChange](api, get("/api/v1/executions/stream", "stream-executions",
		"Stream the statuses of executions", read, hot|finds|limited), eventType, changesDoc, s.serveExecutions)

	// A snapshot is sent as stored; the document shows its form anyway.
	endpoint.SchemaOf[operate.CaseSnapshot](api.Registry())
	// Cases: the paths are older than the word.
	endpoint.Add(api, get("/v1/dlq", "list-cases", "List cases, newest first", read, 0), s.listCases)
	endpoint.Add(api, get("/v1/dlq/task/{task_uuid}", "get-case", "Get the latest case of a task with its snapshot", read,
		0), s.getCase)
	endpoint.AddStored(api, post("/v1/dlq/task/{task_uuid}", "open-case", "Open a case manually", operating,
		creates|conflicts), s.openCase)
	endpoint.Add(api, patch("/v1/dlq/entry/{dlq_entry_uuid}", "update-case",
		"Add notes to a case, resolve it or reopen it", operating, conflicts), s.updateCase)
	// Each item has its own result, so these answer 200 even if all were refused.
	endpoint.Add(api, post("/v1/dlq/update", "update-cases", "Update many cases", operating, conflicts), s.updateCases)
	endpoint.Add(api, post("/v1/dlq/act", "act-on-cases", "Reset, resolve or complete the failed steps of the tasks of "+
		"many cases", operating, batch|conflicts), s.actOnCases)
	endpoint.Add(api, get("/v1/dlq/stats", "get-case-stats", "Count cases by reason", read, 0), s.caseStats)
	endpoint.Add(api, get("/v1/dlq/investigation-queue", "get-investigation-queue",
		"List pending cases, most urgent first", read, 0), s.investigationQueue)
	endpoint.Add(api, get("/v1/dlq/staleness", "get-staleness", "List live tasks by staleness, stale tasks first", read,
		0), s.staleness)
	endpoint.Add(api, post("/v1/dlq/staleness/detect", "detect-staleness", "Run the staleness detector now", operating,
		optional), s.detectStaleness)

	// The audit trail outlives its objects.
	endpoint.Add(api, get("/v1/audit", "list-audit", "List acts of operators, newest first", read, finds), s.listAudit)
	endpoint.Add(api, get("/v1/audit/chain", "list-audit-chain", "List the hash chain of the audit trail, with its acts",
		read, 0), s.auditChain)
	endpoint.Add(api, get("/v1/audit/loose", "list-loose-acts", "List acts outside of the hash chain", read, 0),
		s.looseActs)
	endpoint.Add(api, get("/v1/tasks/{uuid}/audit", "list-task-audit", "List acts on a task, its steps and its cases",
		read, 0), s.listTaskAudit)
	endpoint.Add(api, get("/v1/dlq/entry/{dlq_entry_uuid}/audit", "list-case-audit", "List acts on a case", read, 0),
		s.listCaseAudit)

	// No route changes or deletes a template: a version is immutable, and tasks refer to it.
	endpoint.AddStored(api, post("/v1/templates", "register-template", "Register a version of a template", operating,
		creates|conflicts), s.registerTemplate)
	endpoint.Add(api, get("/v1/templates", "list-templates", "List templates", read, 0), s.listTemplates)
	endpoint.Add(api, get("/v1/templates/{namespace}/{name}", "get-template",
		"Get the last registered version of a template", read, 0), s.getTemplate)
	endpoint.Add(api, get("/v1/templates/{namespace}/{name}/{version}", "get-template-version",
		"Get a version of a template", read, 0), s.getTemplateVersion)
	endpoint.Add(api, get("/v1/templates/{namespace}/{name}/{version}/stats", "get-template-stats",
		"Get durations and failures of the steps of a template", read, 0), s.getTemplateStats)

	// Both forms of the worker protocol share the verbs, and thus the cache of namespaces.
	steps := stepworker.New(s.backend)
	tasks := taskworker.New(s.backend, steps)
	workers.Routes(api, steps, tasks)            // /internal/workers
	queue.Routes(api, s.backend, tasks)          // /api/v1
	flowcontrol.Routes(api, s.backend)           // /v1/pauses, /v1/limits, /v1/outages
	waiting.Routes(api, s.backend)               // /v1/signals, /v1/approvals
	executions.Routes(api, s.backend)            // /api/v1/executions
	dlq.Routes(api, s.jobs, s.dlq)               // /api/dlq
	topics.Routes(api, s.messages)               // /api/v1/dlq/stats, messages, topics, retry, retry-policy
	schedules.Routes(api, s.schedules, s.masker) // /v1/schedules
	inbox.Routes(api, s.letters, s.masker)       // /v1/groups, /v1/dead-letters, /v1/redrives, /v1/sources, /v1/policies

	endpoint.Add(api, get("/health/live", "live", "Check that the process is alive", nil, hot), s.getLive)
	endpoint.Add(api, get("/health/ready", "ready", "Check that the server is ready", nil, hot), s.getReady)
	endpoint.Add(api, get("/version", "version", "Get the version of the server", nil, 0), s.getVersion)
}
