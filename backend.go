package tasker

import (
	"context"
	"iter"
	"time"

	"github.com/google/uuid"
)

// Backend stores tasks: a server over HTTP (package remote), or an engine in this process (package embedded). Its
// methods are safe for concurrent use and return *Error for everything that the caller can act on. A test can embed
// the interface and define only the methods that it needs. The Backends of this module also serve workers: see
// package worker/protocol.
//
// New parts of the API get separate interfaces, such as operate.Backend, so that other implementations continue to
// compile.
type Backend interface {
	TaskBackend
	TemplateBackend
	// Close releases the resources of the Backend. It does not wait for workers.
	Close() error
}

// TaskBackend is the part of a Backend about tasks, their steps and their events.
type TaskBackend interface {
	// SubmitTasks stores tasks in one transaction and returns one receipt per task, in request order. The default
	// limit is 1,000 tasks. CodeInvalid lists every problem; nothing is then stored. CodeExhausted: the queue is full
	// for the priority of a task, or a user's quota is used up; see Error.RetryAfter.
	SubmitTasks(ctx context.Context, req SubmitRequest) ([]TaskReceipt, error)
	// Task returns one task. With wait > 0 it blocks until the task is settled (TaskState.Settled) or wait, which the
	// server may shorten, has passed. CodeNotFound: no such task, or retention has deleted it.
	Task(ctx context.Context, id uuid.UUID, wait time.Duration) (*Task, error)
	// Tasks returns one page, newest first.
	Tasks(ctx context.Context, filter TaskFilter) (*TaskPage, error)
	// TaskHistory returns the transitions and attempts of a task, oldest first. Retention deletes them with the task.
	TaskHistory(ctx context.Context, id uuid.UUID) (*TaskHistory, error)
	// CancelTasks cancels tasks in one transaction and returns one receipt per task, in request order; that of a task
	// that cannot be cancelled has an error.
	CancelTasks(ctx context.Context, req CancelRequest) ([]TaskReceipt, error)
	// EditContext changes the context of a task in error and, unless the request forbids it, runs the failed steps
	// again. CodeWrongState: the task is not in error. CodeConflict: the context has another version than expected.
	EditContext(ctx context.Context, id uuid.UUID, req EditContextRequest) (*EditedContext, error)
	// ExplainTask explains a task's state to people, in sentences that may change in any release; programs should
	// read Task and Steps.
	ExplainTask(ctx context.Context, id uuid.UUID) (*Explanation, error)

	// Steps returns all steps of a task in template order. If the results exceed the server's limit, later steps come
	// without theirs: see ResultsOmitted.
	Steps(ctx context.Context, task uuid.UUID) ([]Step, error)
	// Step returns one step with its whole result. CodeNotFound: the task has no such step.
	Step(ctx context.Context, task, step uuid.UUID) (*Step, error)
	// StepLogs returns the logs of the last attempts of a step, the last one first. CodeNotFound: there is no such
	// step.
	StepLogs(ctx context.Context, task, step uuid.UUID) ([]AttemptLog, error)
	// ActOnStep performs an operator's act on a step; the task then continues automatically. CodeWrongState: the
	// state of the step does not allow the act. CodeConflict: StepAction.ExpectedState or IfMatch does not hold.
	ActOnStep(ctx context.Context, task, step uuid.UUID, act StepAction) (*Step, error)

	// StreamEvents yields events as they happen, in batches of at least one, the first immediately, and an
	// EventStreamAlive every 15 seconds while nothing happens. An error ends the stream; without one it ends when no
	// more events can follow. Client.Events is easier to use and reconnects.
	StreamEvents(ctx context.Context, filter EventFilter) iter.Seq2[[]Event, error]
}

// TemplateBackend is the part of a Backend about templates.
type TemplateBackend interface {
	// RegisterTemplate stores a version of a template. CodeInvalid lists every problem. CodeConflict: the version
	// exists with other content.
	RegisterTemplate(ctx context.Context, src TemplateSource) (*Template, error)
	// Templates returns one page of templates.
	Templates(ctx context.Context, filter TemplateFilter) (*TemplatePage, error)
	// Template returns one version, or with version "" the version registered last. CodeNotFound: no such template or
	// version.
	Template(ctx context.Context, namespace, name, version string) (*Template, error)
}
