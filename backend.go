package tasker

import (
	"context"
	"iter"
	"time"

	"github.com/google/uuid"
)

// Backend stores tasks and serves workers: a server over HTTP (Dial), or an engine in this process (package
// embedded). Its methods are safe for concurrent use. They return *Error for everything that the caller can
// act on. A test may implement Backend to fake Tasker.
type Backend interface {
	TaskBackend
	TemplateBackend
	WorkerBackend
	// Close releases the resources of the Backend. It does not wait for workers.
	Close() error
}

// TaskBackend is the part of a Backend about tasks, their steps and their events.
type TaskBackend interface {
	// SubmitTasks stores tasks in one transaction and returns one receipt per task, in request order.
	SubmitTasks(ctx context.Context, req SubmitRequest) ([]TaskReceipt, error)
	// Task returns one task. With wait > 0 it blocks until the task is settled (TaskState.Settled) or wait
	// has passed, and returns the task in its state at that time.
	Task(ctx context.Context, id uuid.UUID, wait time.Duration) (*Task, error)
	// Tasks returns one page, newest first.
	Tasks(ctx context.Context, filter TaskFilter) (*TaskPage, error)
	// TaskHistory returns the transitions and attempts of a task, oldest first.
	TaskHistory(ctx context.Context, id uuid.UUID) (*TaskHistory, error)
	// CancelTasks cancels tasks in one transaction and returns one receipt per task, in request order.
	CancelTasks(ctx context.Context, req CancelRequest) ([]TaskReceipt, error)
	// EditContext changes the context of a task in error and, unless the request forbids it, runs the failed
	// steps again. CodeWrongState: the task is not in error. CodeConflict: the context has another version
	// than expected.
	EditContext(ctx context.Context, id uuid.UUID, req EditContextRequest) (*EditedContext, error)
	// ExplainTask explains in sentences why a task is in its state.
	ExplainTask(ctx context.Context, id uuid.UUID) (*Explanation, error)

	// Steps returns all steps of a task in template order. When the results exceed the server's limit of
	// bytes for one response, the later steps come without theirs: see ResultsOmitted.
	Steps(ctx context.Context, task uuid.UUID) ([]Step, error)
	// Step returns one step of a task.
	Step(ctx context.Context, task, step uuid.UUID) (*Step, error)
	// ActOnStep performs an operator's act on a step; the task then continues automatically.
	ActOnStep(ctx context.Context, task, step uuid.UUID, act StepAction) (*Step, error)

	// StreamEvents yields events as they happen, in batches of at least one event. It yields the first batch
	// at once, and an EventStreamAlive every 15 seconds while nothing happens. An error ends the stream;
	// without an error the stream ends when no more events can follow. Client.Events is easier to use and
	// reconnects after a lost connection.
	StreamEvents(ctx context.Context, filter EventFilter) iter.Seq2[[]Event, error]
}

// TemplateBackend is the part of a Backend about templates.
type TemplateBackend interface {
	// RegisterTemplate stores a version of a template. CodeInvalid lists every problem with its place.
	// CodeConflict: the version exists with other content.
	RegisterTemplate(ctx context.Context, src TemplateSource) (*Template, error)
	// Templates returns one page of templates.
	Templates(ctx context.Context, filter TemplateFilter) (*TemplatePage, error)
	// Template returns one version, or with version "" the version registered last.
	Template(ctx context.Context, namespace, name, version string) (*Template, error)
}

// WorkerBackend is the part of a Backend about workers: the worker protocol.
type WorkerBackend interface {
	RegisterWorker(ctx context.Context, reg WorkerRegistration) (*RegisteredWorker, error)
	// Workers lists workers, including those that died within the last day.
	Workers(ctx context.Context) ([]WorkerInfo, error)
	// Worker returns one worker.
	Worker(ctx context.Context, id uuid.UUID) (*WorkerInfo, error)
	// Poll claims steps that the worker can run. It blocks for up to WaitMS milliseconds.
	Poll(ctx context.Context, req PollRequest) (*PollResponse, error)
	Start(ctx context.Context, req StartRequest) ([]LeaseAnswer, error)
	Progress(ctx context.Context, report ProgressReport) (*LeaseAnswer, error)
	Settle(ctx context.Context, req SettleRequest) ([]SettleAnswer, error)
	Heartbeat(ctx context.Context, beat Heartbeat) (*HeartbeatResponse, error)
	// Drain ends the intake of a worker, on its own request or an operator's.
	Drain(ctx context.Context, req DrainRequest) (*DrainResponse, error)
	// ResumeWorker revokes an operator's drain and returns the worker. CodeWrongState: the worker is dead.
	ResumeWorker(ctx context.Context, req ResumeRequest) (*WorkerInfo, error)
}
