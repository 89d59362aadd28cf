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
	TemplateBackend
	WorkerBackend
	// Close releases what the Backend holds. It does not wait for workers.
	Close() error
}

// TaskBackend is the part of a Backend about tasks, their steps and their events.
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

	// Steps returns all steps of a task in template order. Results that come to more bytes together than
	// the server sends at once are left out of the later steps: see ResultsOmitted.
	Steps(ctx context.Context, task uuid.UUID) ([]Step, error)
	// Step returns one step of a task.
	Step(ctx context.Context, task, step uuid.UUID) (*Step, error)
	// ActOnStep performs an operator's act; the task goes on by itself.
	ActOnStep(ctx context.Context, task, step uuid.UUID, act StepAction) (*Step, error)

	// StreamEvents returns what happens, as it happens, in batches of one event or
	// more. The first comes at once. When nothing happens an EventStreamAlive comes every
	// 15 seconds. An error ends it; it ends without one when nothing more is to come.
	// Client.Events is easier to use, and survives a lost connection.
	StreamEvents(ctx context.Context, filter EventFilter) iter.Seq2[[]Event, error]
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
