package tasker

import (
	"context"
	"iter"
	"time"

	"github.com/google/uuid"
)

// Backend is the place where the work is: a server over HTTP (Dial), or an
// engine in this process (package embedded). Methods may be called
// concurrently. They return *Error for everything the caller can act on.
// Implement it to fake Tasker in a test.
type Backend interface {
	TaskBackend
	QueueBackend
	StepBackend
	TemplateBackend
	WorkerBackend
	CaseBackend
	EventBackend
	// Close releases what the Backend holds. It does not wait for workers.
	Close() error
}

// TaskBackend is the part of a Backend about tasks.
type TaskBackend interface {
	// SubmitTasks stores tasks in one transaction and answers each in order.
	SubmitTasks(ctx context.Context, req SubmitRequest) ([]TaskReceipt, error)
	// Task returns one task. With wait > 0 it blocks until the task is settled
	// (TaskState.Settled) or wait is over, and returns it as it then is.
	Task(ctx context.Context, id uuid.UUID, wait time.Duration) (*Task, error)
	// Tasks returns one page, newest first.
	Tasks(ctx context.Context, filter TaskFilter) (*TaskPage, error)
	// TaskHistory returns transitions and attempts, oldest first.
	TaskHistory(ctx context.Context, id uuid.UUID) (*TaskHistory, error)
	// CancelTasks cancels tasks in one transaction and answers each in order.
	CancelTasks(ctx context.Context, req CancelRequest) ([]TaskReceipt, error)
	// EditContext changes the context of a task in error, and runs its failed steps
	// again unless the request says otherwise. CodeWrongState when the task is not in
	// error; CodeConflict when the context is not of the version expected.
	EditContext(ctx context.Context, id uuid.UUID, req EditContextRequest) (*EditedContext, error)
	// ExplainTask says in words why a task is where it is.
	ExplainTask(ctx context.Context, id uuid.UUID) (*Explanation, error)
}

// CaseBackend is the part of a Backend about cases. A case is the investigation
// of a task that is stuck: why, since when, who looked and what came of it. It
// changes neither the task nor its steps: those are repaired by ActOnStep, and
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
	// Staleness returns live tasks by how long they have been in their state:
	// stale ones first, then those that soon will be, then the others.
	Staleness(ctx context.Context, filter StalenessFilter) ([]StaleTask, error)
	// DetectStaleness runs one cycle of the staleness detector now.
	DetectStaleness(ctx context.Context, req DetectRequest) ([]Detection, error)
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
	// Audit returns what operators did, newest first.
	Audit(ctx context.Context, filter AuditFilter) ([]AuditRecord, error)
}

// EventBackend is the part of a Backend about events.
type EventBackend interface {
	// StreamEvents returns what happens, as it happens, in batches of one event or
	// more. The first comes at once. When nothing happens an EventStreamAlive comes every
	// 15 seconds. An error ends it; it ends without one when nothing more is to come.
	// Client.Events is easier to use, and survives a lost connection.
	StreamEvents(ctx context.Context, filter EventFilter) iter.Seq2[[]Event, error]
}

// StepBackend is the part of a Backend about steps.
type StepBackend interface {
	// Steps returns all steps of a task in template order.
	// Steps lists the steps of a task. Results that come to more bytes together than
	// the server sends at once are left out of the later steps: see ResultsOmitted.
	Steps(ctx context.Context, task uuid.UUID) ([]Step, error)
	// Step returns one step of a task.
	Step(ctx context.Context, task, step uuid.UUID) (*Step, error)
	// ActOnStep performs an operator's act; the task goes on by itself.
	ActOnStep(ctx context.Context, task, step uuid.UUID, act StepAction) (*Step, error)
}

// TemplateBackend is the part of a Backend about templates.
type TemplateBackend interface {
	// RegisterTemplate stores a version. CodeInvalid lists every problem with
	// its place; CodeConflict when the version exists with other content.
	RegisterTemplate(ctx context.Context, src TemplateSource) (*Template, error)
	// Templates returns one page.
	Templates(ctx context.Context, filter TemplateFilter) (*TemplatePage, error)
	// Template returns one version; the one registered last when version is "".
	Template(ctx context.Context, namespace, name, version string) (*Template, error)
}

// WorkerBackend is the worker protocol.
type WorkerBackend interface {
	RegisterWorker(ctx context.Context, reg WorkerRegistration) (*RegisteredWorker, error)
	// Workers lists workers, the dead ones of the last day included.
	Workers(ctx context.Context) ([]WorkerInfo, error)
	// Worker returns one worker.
	Worker(ctx context.Context, id uuid.UUID) (*WorkerInfo, error)
	// Poll claims steps that the worker can run. It blocks up to WaitMS.
	Poll(ctx context.Context, req PollRequest) (*PollResponse, error)
	Start(ctx context.Context, req StartRequest) ([]LeaseAnswer, error)
	Progress(ctx context.Context, report ProgressReport) (*LeaseAnswer, error)
	Settle(ctx context.Context, req SettleRequest) ([]SettleAnswer, error)
	Heartbeat(ctx context.Context, beat Heartbeat) (*HeartbeatResponse, error)
	// Drain ends a worker's intake: its own wish, or an operator's.
	Drain(ctx context.Context, req DrainRequest) (*DrainResponse, error)
	// ResumeWorker takes an operator's drain back and returns the worker.
	// CodeWrongState when the worker is dead.
	ResumeWorker(ctx context.Context, req ResumeRequest) (*WorkerInfo, error)
}
