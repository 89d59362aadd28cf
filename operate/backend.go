package operate

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Backend offers the verbs of operators, on a server or on an engine in this process. Its methods are safe for
// concurrent use. They return *tasker.Error for errors that the caller can handle.
type Backend interface {
	CaseBackend
	FailureBackend
	ChildBackend
	ChainBackend
	TemplateBackend
	// Audit returns the acts of operators, newest first.
	Audit(ctx context.Context, filter AuditFilter) ([]AuditRecord, error)
}

// Of returns the Backend of a client: its server, or that of the client's own Backend if it has one, as an engine in
// this process does.
func Of(c *tasker.Client) Backend {
	if b, inProcess := c.Backend.(Backend); inProcess {
		return b
	}
	return server{c}
}

// CaseBackend is the part of a Backend about cases. A case is the investigation of a stuck task: reason, time,
// investigator and outcome. It changes neither the task nor its steps: Client.ActOnStep repairs those, and they then
// continue automatically.
type CaseBackend interface {
	// Cases returns one page of cases, newest first.
	Cases(ctx context.Context, filter CaseFilter) ([]Case, error)
	// CaseOfTask returns the latest case of a task. CodeNotFound: the task never had one.
	CaseOfTask(ctx context.Context, task uuid.UUID) (*Case, error)
	// OpenCase opens a case manually. CodeConflict: the task has a pending case.
	OpenCase(ctx context.Context, task uuid.UUID, req OpenCaseRequest) (*Case, error)
	// UpdateCase stores the findings of an investigation. CodeWrongState: the case is resolved, which is final unless
	// the update re-opens it.
	UpdateCase(ctx context.Context, id uuid.UUID, update CaseUpdate) (*CaseUpdated, error)
	// UpdateCases applies the same update to many cases, with a result for each.
	UpdateCases(ctx context.Context, req BulkCaseUpdate) (*BulkResult, error)
	// ActOnCases performs the same act on the failed steps of the tasks of many cases, with a result for
	// each.
	ActOnCases(ctx context.Context, req BulkStepAction) (*BulkResult, error)
	// CaseStats counts cases by reason, the most urgent reason first.
	CaseStats(ctx context.Context, filter CaseFilter) ([]CaseStats, error)
	// InvestigationQueue returns pending cases, most urgent first.
	InvestigationQueue(ctx context.Context, filter CaseFilter) ([]QueuedCase, error)
}

// FailureBackend is the part of a Backend about tasks that have failed for good, or may soon.
type FailureBackend interface {
	// FailedTasks returns one page of the tasks that have failed for good, with their cases, newest first.
	FailedTasks(ctx context.Context, filter FailedTaskFilter) (*FailedTaskPage, error)
	// ReplayTask runs the failed steps of a task in error again. The task keeps its ID and its history; its case stays
	// and counts the replay. CodeWrongState: the task is not in error, or none of its steps has failed.
	ReplayTask(ctx context.Context, task uuid.UUID, req ReplayRequest) (*Replay, error)
	// FailureReport returns the latest analysis of recent final failures, of one namespace or of all ("").
	// CodeNotFound: there is no analysis yet.
	FailureReport(ctx context.Context, namespace string) (*FailureReport, error)
	// Staleness returns live tasks by their time in state: stale tasks first, then those that soon will be.
	Staleness(ctx context.Context, filter StalenessFilter) ([]StaleTask, error)
	// DetectStaleness runs one cycle of the staleness detector now.
	DetectStaleness(ctx context.Context, req DetectRequest) ([]Detection, error)
}
