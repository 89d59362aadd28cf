package local

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// EnqueueTasks implements queueapi.Backend. All or none are stored; a repeated idempotency key alone has its own
// answer. Places in the queue are optional: receipts omit them if they cannot be read, and only the first 32 queues of
// a batch are counted.
func (b *Backend) EnqueueTasks(ctx context.Context, req queueapi.EnqueueRequest) ([]queueapi.QueueReceipt, error) {
	subs := make([]engine.Submission, len(req.Tasks))
	for i := range req.Tasks {
		if err := toQueued(&req.Tasks[i], req.Caller, &subs[i]); err != nil {
			return nil, refusal.Moved(err, "", fmt.Sprintf("/tasks/%d", i))
		}
	}
	receipts, err := b.engine.Submit(ctx, subs, false)
	if err != nil {
		return nil, toQueueError(err)
	}
	steps := make([]*task.Step, len(receipts))
	for i, r := range receipts {
		steps[i] = r.Step
	}
	places, err := b.engine.QueuePlaces(ctx, steps)
	if err != nil {
		places = make([]*engine.QueuePlace, len(steps)) // the tasks are stored; their places are unknown
	}
	out := make([]queueapi.QueueReceipt, len(receipts))
	for i, r := range receipts {
		out[i] = b.toQueueReceipt(ctx, r, places[i])
	}
	return out, nil
}

// toQueueError is ToError with places in the words of the queue: the engine's problems are at /context and /initiator.
func toQueueError(err error) error {
	err = ToError(err)
	e, ok := err.(*tasker.Error) //nolint:errorlint // ToError returns it as it is
	if !ok {
		return err
	}
	for i, d := range e.Details {
		d.Location = strings.Replace(d.Location, "/context", "/parameters", 1)
		e.Details[i].Location = strings.Replace(d.Location, "/initiator", "/user_id", 1)
	}
	return e
}

var traceIDForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// toQueued converts a submission. A bare trace ID becomes a traceparent, so that the attempts are spans of the caller's
// trace. It checks only fields that this family requires or has alone. Errors are at the field of the single
// submission; EnqueueTasks moves them to the item.
func toQueued(r *queueapi.EnqueueTask, caller string, s *engine.Submission) error {
	bad := func(at, message string) error {
		return &tasker.Error{Code: tasker.CodeInvalid, Message: "nothing was stored: the submission is not valid",
			Details: []tasker.Detail{{Location: at, Message: message}}}
	}
	if r.TaskType == "" {
		return bad("/task_type", "name the handler to run")
	}
	// 604800 seconds are seven days.
	if r.EstimatedDurationSeconds < 0 || r.EstimatedDurationSeconds > 604800 {
		return bad("/estimated_duration_seconds", "must be 0 to 604800")
	}
	// Both may be given if they agree: some clients send the header to every service.
	trace := r.TraceParent
	if r.TraceID != "" {
		id := strings.ToLower(r.TraceID)
		switch {
		case trace != "" && !strings.Contains(trace, id):
			return bad("/trace_id", "is not that of traceparent: give one of them")
		case !traceIDForm.MatchString(id) || strings.Trim(id, "0") == "":
			return bad("/trace_id", "is not a W3C trace id: 32 hexadecimal digits, not all 0")
		case trace == "":
			trace = "00-" + id + "-" + spanOf(id) + "-01"
		}
	}
	*s = engine.Submission{TaskType: r.TaskType, Namespace: r.Namespace, Context: r.Parameters,
		Priority: string(r.Priority), Capabilities: r.RequiredCapabilities,
		Timeout: times(r.TimeoutSeconds, time.Second), MaxRetries: r.MaxRetries, RunAt: task.FromOptional(r.RunAt),
		IdempotencyKey: r.IdempotencyKey, CorrelationID: r.CorrelationID, Queued: true, Caller: caller,
		Meta: task.Meta{Tags: r.Tags, Initiator: r.UserID, TraceParent: trace, Estimate: r.EstimatedDurationSeconds}}
	if r.Unique != nil {
		s.Unique = toUnique(r.Unique)
	}
	return nil
}

// spanOf derives the parent span of a trace from its ID: W3C trace context requires one that is not all 0, and the
// caller named none. A repeated submission gets the same. If one half of a valid trace ID is all 0, the other is not.
func spanOf(traceID string) string {
	if span := traceID[16:]; strings.Trim(span, "0") != "" {
		return span
	}
	return traceID[:16]
}

// toQueueReceipt converts a receipt, with the status and the place of the only step. Step is nil for a task that
// existed; then its rows are read.
func (b *Backend) toQueueReceipt(ctx context.Context, r engine.Receipt, p *engine.QueuePlace) queueapi.QueueReceipt {
	out := queueapi.QueueReceipt{TaskID: toUUID(r.ID), Created: r.Created, Status: queueapi.QueueQueued,
		Error: itemError(r.Err), Unique: fromUniqueMatch(r.Unique)}
	if r.Step != nil {
		out.Status = statusOfSteps(r.Step)
		out.QueuePlace = b.toPlace(r.Step, p)
		return out
	}
	// The key named an existing task, even if it cannot be read.
	t, steps, err := b.engine.Steps(ctx, r.ID)
	if err != nil {
		t = &task.Task{State: r.State}
	}
	out.Status = statusOf(t, steps)
	if len(steps) == 1 && steps[0].OnRoute() {
		if p, err := b.engine.QueuePlace(ctx, steps[0]); err == nil {
			out.QueuePlace = b.toPlace(steps[0], &p)
		}
	}
	return out
}

// toPlace returns the place of a ready step; p is nil if unknown. The score is the sort key in seconds. QueuePosition
// repeats PositionInQueue for clients with the older name. Without a measured rate there is no estimate.
func (b *Backend) toPlace(s *task.Step, p *engine.QueuePlace) queueapi.QueuePlace {
	if !s.OnRoute() {
		return queueapi.QueuePlace{}
	}
	score := float64(s.Key) / 1e6
	out := queueapi.QueuePlace{QueueScore: &score}
	if p == nil {
		return out
	}
	position := p.Ahead + 1
	out.PositionInQueue, out.QueuePosition, out.PositionIsMinimum = &position, &position, p.Least
	if p.Wait >= 0 {
		wait, at := milli(p.Wait), b.engine.Now().Add(p.Wait).Time()
		out.EstimatedWaitSeconds, out.EstimatedStartTime = &wait, &at
	}
	return out
}

func milli(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// CancelQueueTask implements queueapi.Backend. WorkerNotified: a worker held the step; it learns of the cancellation
// with its next heartbeat, by NotifiedBy at the latest if it keeps its interval. CodeWrongState: the task has ended in
// another way. A second cancellation succeeds and reports the first one.
func (b *Backend) CancelQueueTask(ctx context.Context, id uuid.UUID, req queueapi.QueueCancel,
) (*queueapi.QueueCancelled, error) {
	expect, err := expectation(string(req.ExpectedState), req.IfMatch)
	if err != nil {
		return nil, err
	}
	receipts, err := b.engine.Cancel(ctx, []task.ID{toID(id)},
		engine.Cancellation{Actor: req.CancelledBy, Reason: req.Reason, Expect: expect})
	if err != nil {
		return nil, refusal.Moved(ToError(err), "/actor", "/cancelled_by")
	}
	if receipts[0].Err != nil {
		return nil, ToError(receipts[0].Err)
	}
	// The attempts that the cancellation ended are recorded.
	v, err := b.view(ctx, toID(id))
	if err != nil {
		return nil, err
	}
	out := &queueapi.QueueCancelled{TaskID: id, Status: queueapi.QueueStopped, CancellationTime: v.task.FinishedAt.Time()}
	for _, a := range v.records.Attempts {
		if a.Outcome == task.Interrupted && a.FinishedAt == v.task.FinishedAt {
			out.WorkerNotified = true
			out.WasExecuting = out.WasExecuting || a.StartedAt != 0
		}
	}
	if out.WorkerNotified {
		by := v.task.FinishedAt.Add(b.engine.Config().Leases.HeartbeatInterval).Time()
		out.NotifiedBy = &by
	}
	return out, nil
}
