package executionapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/operate"
)

// Backend is the part of the engine behind executions.
type Backend interface {
	queueapi.Backend
	SubmitTasks(ctx context.Context, req tasker.SubmitRequest) ([]tasker.TaskReceipt, error)
	Template(ctx context.Context, namespace, name, version string) (*tasker.Template, error)
	// ExpiredExecutions counts since a time, the latest hour first, at most MaxExpired entries.
	ExpiredExecutions(ctx context.Context, since time.Time) ([]Expired, error)
	ReplayTask(ctx context.Context, id uuid.UUID, req operate.ReplayRequest) (*operate.Replay, error)
}

// Projection shows tasks as executions. It has no state and is safe for concurrent use. Errors are those of the
// Backend: *tasker.Error.
type Projection struct{ backend Backend }

// New returns a Projection of a Backend.
func New(b Backend) *Projection { return &Projection{b} }

// Create stores an execution and returns it; created is false if its idempotency key named an existing one. CodeInvalid
// lists every problem with its place, and nothing is stored. CodeExhausted: the queue is full.
func (p *Projection) Create(ctx context.Context, c ExecutionRequest) (e *Execution, created bool, err error) {
	var id uuid.UUID
	_, err = p.backend.Template(ctx, c.Namespace, c.ActionRef, "")
	switch {
	case err == nil:
		id, created, err = p.submit(ctx, c)
	case tasker.ErrorCode(err) == tasker.CodeNotFound:
		id, created, err = p.enqueue(ctx, c)
	}
	if err != nil {
		return nil, false, err
	}
	e, err = p.Execution(ctx, id)
	return e, created, err
}

func (p *Projection) submit(ctx context.Context, c ExecutionRequest) (uuid.UUID, bool, error) {
	for at, given := range map[string]bool{"/required_capabilities": len(c.RequiredCapabilities) > 0,
		"/timeout_seconds": c.TimeoutSeconds > 0, "/max_retries": c.MaxRetries != nil} {
		if given {
			return uuid.Nil, false, &tasker.Error{Code: tasker.CodeInvalid,
				Message: "nothing was stored: the execution is not valid", Details: []tasker.Detail{{Location: at,
					Message: c.ActionRef + " is a template, whose steps say this: leave it out"}}}
		}
	}
	receipts, err := p.backend.SubmitTasks(ctx, tasker.SubmitRequest{Caller: c.Caller, Tasks: []tasker.TaskRequest{{
		Name: c.ActionRef, Namespace: c.Namespace, Context: c.Parameters, Priority: c.Priority, RunAt: c.RunAt,
		IdempotencyKey: c.IdempotencyKey, CorrelationID: c.CorrelationID, Initiator: c.Initiator,
		TraceParent: c.TraceParent}}})
	if err != nil {
		return uuid.Nil, false, err
	}
	if len(receipts) != 1 {
		return uuid.Nil, false, tasker.Errorf(tasker.CodeInternal, "%d receipts for one task", len(receipts))
	}
	if e := receipts[0].Error; e != nil {
		return uuid.Nil, false, e
	}
	return receipts[0].TaskUUID, receipts[0].Created, nil
}

func (p *Projection) enqueue(ctx context.Context, c ExecutionRequest) (uuid.UUID, bool, error) {
	receipts, err := p.backend.EnqueueTasks(ctx, queueapi.EnqueueRequest{Caller: c.Caller,
		Tasks: []queueapi.EnqueueTask{{TaskType: c.ActionRef, Namespace: c.Namespace, Parameters: c.Parameters,
			Priority: c.Priority, RequiredCapabilities: c.RequiredCapabilities, TimeoutSeconds: c.TimeoutSeconds,
			MaxRetries: c.MaxRetries, RunAt: c.RunAt, IdempotencyKey: c.IdempotencyKey, CorrelationID: c.CorrelationID,
			UserID: c.Initiator, TraceParent: c.TraceParent}}})
	if err != nil {
		return uuid.Nil, false, err
	}
	if len(receipts) != 1 {
		return uuid.Nil, false, tasker.Errorf(tasker.CodeInternal, "%d receipts for one task", len(receipts))
	}
	if e := receipts[0].Error; e != nil {
		return uuid.Nil, false, e
	}
	return receipts[0].TaskID, receipts[0].Created, nil
}

// Execution returns one execution. CodeNotFound: there is no such task.
func (p *Projection) Execution(ctx context.Context, id uuid.UUID) (*Execution, error) {
	t, err := p.backend.QueueTask(ctx, id, false)
	if err != nil {
		return nil, err
	}
	outcome := ""
	if t.Error != nil {
		outcome = t.Error.FailureReason
	}
	e := &Execution{ID: t.TaskID, ActionRef: t.TaskType, Namespace: t.Namespace,
		Status: statusOf(t.Status, t.QueueScore != nil, outcome), State: t.State, ETag: t.ETag, Parameters: t.Parameters,
		Result: t.Result, Worker: t.AssignedWorker, WorkerID: t.AssignedWorkerID, Created: t.CreatedAt,
		StartedAt: t.StartedAt, FinishedAt: t.CompletedAt, RetryCount: t.RetryCount, MaxRetries: t.MaxRetries,
		NextRetryAt: t.NextRetryAt, Priority: t.Priority, IdempotencyKey: t.IdempotencyKey, CorrelationID: t.CorrelationID,
		Initiator: t.UserID, Damage: t.Damage, RetryReason: reasonOf(t.RetryCount, t.ReplayCount, t.Error)}
	if failed(t.Status) && t.Error != nil {
		e.Result, err = failedResult(t.Error)
	}
	return e, err
}

func failedResult(f *queueapi.QueueError) (json.RawMessage, error) {
	out := struct {
		Error     string     `json:"error"`
		Message   string     `json:"message"`
		Code      string     `json:"code,omitempty"`
		Worker    string     `json:"worker,omitempty"`
		ExpiredAt *time.Time `json:"expired_at,omitempty"`
	}{Error: f.Message, Message: f.Message, Code: f.Code}
	var of struct {
		Worker    string     `json:"worker"`
		Name      string     `json:"worker_name"`
		ExpiredAt *time.Time `json:"expired_at"`
	}
	if f.FailureReason == outcomeExpired && json.Unmarshal(f.Details, &of) == nil {
		out.Worker, out.ExpiredAt = of.Worker, of.ExpiredAt
		out.Message = fmt.Sprintf("worker %s (%s) did not start the execution in time: it is unavailable or overloaded",
			of.Name, of.Worker)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode the result of a failed execution: %w", err)
	}
	return raw, nil
}

// Cancel cancels an execution and returns it. CodeWrongState: it has ended in another way.
func (p *Projection) Cancel(ctx context.Context, id uuid.UUID, c ExecutionCancel, match string) (*Execution, error) {
	if _, err := p.backend.CancelQueueTask(ctx, id, queueapi.QueueCancel{CancelledBy: c.CancelledBy, Reason: c.Reason,
		IfMatch: match}); err != nil {
		return nil, err
	}
	return p.Execution(ctx, id)
}

// Retry runs the failed steps of an execution again and returns it. CodeWrongState: it has not failed.
func (p *Projection) Retry(ctx context.Context, id uuid.UUID, r ExecutionRetry, match string) (*Execution, error) {
	if _, err := p.backend.ReplayTask(ctx, id, operate.ReplayRequest{ReplayedBy: r.RetriedBy, Reason: r.Reason,
		ResetRetryCount: r.ResetRetryCount, IfMatch: match}); err != nil {
		return nil, err
	}
	return p.Execution(ctx, id)
}

// Stats counts the executions of namespaces; none means all. The numbers may be some seconds old.
func (p *Projection) Stats(ctx context.Context, namespaces []string) (*ExecutionStats, error) {
	s, err := p.backend.QueueStats(ctx, queueapi.QueueFilter{Namespaces: namespaces})
	if err != nil {
		return nil, err
	}
	out := &ExecutionStats{At: s.At, Scheduling: s.Queue.TotalDepth, Completed: s.Throughput.CompletedLastMinute,
		Failed: s.Throughput.FailedLastMinute, OldestAgeSeconds: s.Queue.OldestAgeSeconds, Capped: s.Queue.Capped}
	for _, level := range s.Queues {
		out.Scheduled += level.Assigned
		out.Running += level.Executing
	}
	return out, nil
}

// ChangeOf converts an event of a task; nil for an event about something else.
func ChangeOf(e *tasker.Event) *ExecutionChange {
	c := &ExecutionChange{ID: e.ID, Type: string(e.Type), At: e.At, Execution: e.TaskUUID, ActionRef: e.Name,
		Namespace: e.Namespace, Cause: e.Cause}
	switch e.Type {
	case tasker.EventTaskSubmitted:
		c.Type, c.Status = "execution.created", StatusOfState(e.ToState)
	case tasker.EventTaskState:
		c.Type, c.Status = "execution.status", StatusOfState(e.ToState)
	case tasker.EventStreamOpen, tasker.EventStreamGap, tasker.EventStreamAlive, tasker.EventStreamEnd:
	default:
		return nil
	}
	return c
}

func knownStatus(s Status) error {
	if slices.Contains(Statuses, s) {
		return nil
	}
	return &tasker.Error{Code: tasker.CodeInvalid, Message: "the filter is not valid", Details: []tasker.Detail{{
		Location: "query.status", Message: fmt.Sprintf("there is no status %q: use one of %v", string(s), Statuses)}}}
}
