package operate

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Backend is what operators can do: on a server, or on an engine in this process.
// Methods may be called concurrently. They return *tasker.Error for everything that
// the caller can act on.
type Backend interface {
	CaseBackend
	FailureBackend
	// Audit returns what operators did, newest first.
	Audit(ctx context.Context, filter AuditFilter) ([]AuditRecord, error)
}

// Of returns the operator's side of a client: that of the server to which the client
// is connected, or that of the client's Backend, when it has one. A Backend in this
// process has one.
func Of(c *tasker.Client) Backend {
	if b, inProcess := c.Backend.(Backend); inProcess {
		return b
	}
	return server{c}
}

// CaseBackend is the part of a Backend about cases. A case is the investigation
// of a task that is stuck: why, since when, who looked and what came of it. It
// changes neither the task nor its steps: those are repaired by Client.ActOnStep, and
// then go on by themselves.
type CaseBackend interface {
	// Cases returns one page, newest first.
	Cases(ctx context.Context, filter CaseFilter) ([]Case, error)
	// CaseOfTask returns the case of a task that was opened last. CodeNotFound when it never had one.
	CaseOfTask(ctx context.Context, task uuid.UUID) (*Case, error)
	// OpenCase opens a case by hand. CodeConflict when the task has one that is pending.
	OpenCase(ctx context.Context, task uuid.UUID, req OpenCaseRequest) (*Case, error)
	// UpdateCase stores what an investigation found. A resolved case is final:
	// CodeWrongState unless the update re-opens it.
	UpdateCase(ctx context.Context, id uuid.UUID, update CaseUpdate) (*CaseUpdated, error)
	// UpdateCases makes the same update to many cases, and answers each.
	UpdateCases(ctx context.Context, req BulkCaseUpdate) (*BulkResult, error)
	// ActOnCases performs the same act on the failed steps of the tasks of many cases,
	// and answers each.
	ActOnCases(ctx context.Context, req BulkStepAction) (*BulkResult, error)
	// CaseStats counts cases by reason, the most urgent reason first.
	CaseStats(ctx context.Context, filter CaseFilter) ([]CaseStats, error)
	// InvestigationQueue returns pending cases, the most urgent first.
	InvestigationQueue(ctx context.Context, filter CaseFilter) ([]QueuedCase, error)
}

// FailureBackend is the part of a Backend about tasks that have failed for good, or may
// soon.
type FailureBackend interface {
	// FailedTasks returns one page of tasks that have failed for good, with their cases,
	// newest first.
	FailedTasks(ctx context.Context, filter FailedTaskFilter) (*FailedTaskPage, error)
	// ReplayTask runs the failed steps of a task in error again. It is the same task, with
	// all its history; its case stays, and counts. CodeWrongState when the task is not in
	// error, or no step of it has failed.
	ReplayTask(ctx context.Context, task uuid.UUID, req ReplayRequest) (*Replay, error)
	// FailureReport returns the last analysis of what has failed for good lately, of one
	// namespace or of all (""). CodeNotFound before the first.
	FailureReport(ctx context.Context, namespace string) (*FailureReport, error)
	// Staleness returns live tasks by how long they have been in their state:
	// stale ones first, then those that soon will be, then the others.
	Staleness(ctx context.Context, filter StalenessFilter) ([]StaleTask, error)
	// DetectStaleness runs one cycle of the staleness detector now.
	DetectStaleness(ctx context.Context, req DetectRequest) ([]Detection, error)
}
