package local

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/model/task"
)

// statusOf returns the state of a task in the words of the queue. A task in error is a dead letter while its case is
// pending; without a pending case it has failed.
func statusOf(t *task.Task, steps []*task.Step) queueapi.QueueStatus {
	switch t.State {
	case task.Complete, task.ResolvedManually:
		return queueapi.QueueCompleted
	case task.Cancelled:
		return queueapi.QueueStopped
	case task.Errored:
		if t.Meta.Case == task.HasPending {
			return queueapi.QueueDeadLetter
		}
		return queueapi.QueueFailed
	}
	return statusOfSteps(steps...)
}

// statusOfSteps returns the status of an unfinished task from its most advanced step. Without a leased step it is
// queued, even if all steps wait for a time: the queue API has no status for that.
func statusOfSteps(steps ...*task.Step) queueapi.QueueStatus {
	status := queueapi.QueueQueued
	for _, s := range steps {
		switch s.State {
		case task.StepInProgress, task.StepEnqueuedForOrchestration:
			return queueapi.QueueExecuting
		case task.StepAssigned:
			status = queueapi.QueueAssigned
		}
	}
	return status
}

// QueueTask implements queueapi.Backend. It always builds the history, for the time in the present status; history only
// shows it. CodeNotFound: no such task, or one outside the key's reach.
func (b *Backend) QueueTask(ctx context.Context, id uuid.UUID, history bool) (*queueapi.QueueTask, error) {
	v, err := b.view(ctx, toID(id))
	if err != nil {
		return nil, err
	}
	t, tpl := v.task, v.tpl
	out := &queueapi.QueueTask{Damage: v.damage, TaskID: id, Namespace: tpl.Namespace, TaskType: tpl.Name,
		Status: statusOf(t, v.steps), State: tasker.TaskState(t.State), ETag: t.Seen().Version,
		Priority: tasker.Priority(b.engine.PriorityText(t)), CreatedAt: t.CreatedAt.Time(), CompletedAt: t.FinishedAt.Ptr(),
		Parameters: t.Context, IdempotencyKey: t.IdempotencyKey, UserID: t.Meta.Initiator, CorrelationID: t.CorrelationID,
		EstimatedDurationSeconds: t.Meta.Estimate, ReplayCount: t.Meta.Replays, TraceID: traceIDOf(t.Meta.TraceParent),
		Progress: int(percentage(t.Counts.Done, t.Counts.Total()))}
	states, err := v.statuses(ctx)
	if err != nil {
		return nil, err
	}
	now := b.engine.Now()
	if len(states) > 0 {
		// Clocks of two nodes may differ; the duration must not be negative.
		since := states[len(states)-1].Timestamp
		out.CurrentStateDurationSeconds = max(milli(now.Time().Sub(since)), 0)
	}
	if history {
		out.StateHistory = states
	}
	if err := v.ofSteps(ctx, out, now); err != nil {
		return nil, err
	}
	return out, nil
}

// traceIDOf returns the trace ID of a W3C traceparent; older rows may have another form, and no ID.
func traceIDOf(parent string) string {
	if parts := strings.Split(parent, "-"); len(parts) >= 4 {
		return parts[1]
	}
	return ""
}

func (v *view) ofSteps(ctx context.Context, out *queueapi.QueueTask, now task.Instant) error {
	s := v.foremost()
	if s == nil {
		return nil
	}
	out.QueuedAt, out.AssignedAt, out.StartedAt = s.ReadyAt.Ptr(), s.AssignedAt.Ptr(), s.StartedAt.Ptr()
	out.RetryCount, out.MaxRetries = retries(s), max(s.MaxAttempts-1, 0)
	out.TimeoutSeconds = int(s.Timeout / time.Second)
	out.EffectivePriority = tasker.Priority(v.b.engine.PriorityName(v.b.engine.Order().Effective(s, now)))
	// A task with several steps shows the share of completed steps; the progress of one of them would mislead.
	if len(v.steps) == 1 && !v.task.State.Terminal() {
		out.Progress = s.Progress
	}
	if s.Queue == task.Timers {
		out.NextRetryAt = task.Instant(s.Key).Ptr()
	}
	route, err := v.b.engine.RouteOf(ctx, s.RouteID)
	if err != nil {
		return ToError(err)
	}
	out.RequiredCapabilities = route.Capabilities
	if s.State.Leased() {
		if out.AssignedWorker, err = v.worker(ctx, s.WorkerNo); err != nil {
			return err
		}
		if id, known := v.workerIDs[out.AssignedWorker]; known {
			out.AssignedWorkerID = &id
		}
	}
	if s.OnRoute() {
		p, err := v.b.engine.QueuePlace(ctx, s)
		if err != nil {
			return ToError(err)
		}
		out.QueuePlace = v.b.toPlace(s, &p)
	}
	if out.Result, err = v.results(); err != nil {
		return err
	}
	out.Error = v.lastError()
	return nil
}

// retries returns the number of a step's retries: all begun attempts if another is to come, else all but the first.
func retries(s *task.Step) int {
	switch s.State {
	case task.StepPending, task.StepEnqueued, task.StepAssigned, task.StepWaitingForRetry:
		return s.Attempts
	}
	return max(s.Attempts-1, 0)
}

// foremost returns the step that represents a task: a leased one, else a ready one, else one that waits for a time,
// else an unfinished one, else the last. Among equals the one that ended last counts. nil without readable steps.
func (v *view) foremost() *task.Step {
	rank := func(s *task.Step) int {
		switch {
		case s.State == task.StepInProgress:
			return 5
		case s.State == task.StepAssigned:
			return 4
		case s.State == task.StepEnqueued:
			return 3
		case s.Queue == task.Timers:
			return 2
		case s.State == task.StepErrored:
			return 1
		}
		return 0
	}
	var best *task.Step
	for _, s := range v.steps {
		if best == nil || rank(s) > rank(best) || rank(s) == rank(best) && s.FinishedAt > best.FinishedAt {
			best = s
		}
	}
	return best
}

// results returns the result of the only step, or an object with the results of several; nil without any.
func (v *view) results() (json.RawMessage, error) {
	if len(v.steps) == 1 {
		return shownResult(v.steps[0]), nil
	}
	all := map[string]json.RawMessage{}
	for _, s := range v.steps {
		if s.Result != nil {
			all[v.spec(s).Name] = shownResult(s)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("gather results of task %s: %w", v.task.ID, err)
	}
	return raw, nil
}

// lastError returns the last failure of the task's steps, or nil. An attempt without a failure report counts only after
// a time-out or a lost lease, which decides the class.
func (v *view) lastError() *queueapi.QueueError {
	for _, a := range slices.Backward(v.records.Attempts) {
		switch {
		case a.Failure != nil:
			return &queueapi.QueueError{Message: a.Failure.Message, Code: a.Failure.Code, Type: a.Failure.Type,
				Class: tasker.FailureClass(task.ClassOf(a.Failure)), Retryable: a.Failure.Retryable,
				FailureReason: string(a.Outcome), Details: a.Failure.Details}
		case v.givenUpAt(a.FinishedAt):
			continue // the attempt was ended from outside: the failure is an earlier one
		case a.Outcome == task.TimedOut, a.Outcome == task.LeaseExpired:
			class := tasker.ClassResource
			if a.Outcome == task.LeaseExpired {
				class = tasker.ClassWorker
			}
			return &queueapi.QueueError{Message: "the attempt ended without a result: " + string(a.Outcome), Class: class,
				Retryable: true, FailureReason: string(a.Outcome)}
		}
	}
	for _, a := range slices.Backward(v.records.Acts) { // no attempt failed, but no worker took the step
		if a.Kind == task.ActGiveUp {
			return &queueapi.QueueError{Message: a.Reason, Retryable: true, FailureReason: string(task.TimedOut)}
		}
	}
	return nil
}

// givenUpAt reports whether the task was given up at a time. That ends the running attempts in its transaction, so both
// have the same time.
func (v *view) givenUpAt(at task.Instant) bool {
	return slices.ContainsFunc(v.records.Acts, func(a task.Act) bool { return a.Kind == task.ActGiveUp && a.At == at })
}

// statuses returns each status of a task with its time: it replays the transitions and notes each change. WorkerID is
// set if the transition names a worker that still exists.
func (v *view) statuses(ctx context.Context) ([]queueapi.QueueStateAt, error) {
	h := &history{view: v, out: &tasker.TaskHistory{}}
	if err := h.tell(ctx); err != nil {
		return nil, err
	}
	of := map[uuid.UUID]*task.Step{} // steps reduced to their states at a time
	steps := make([]*task.Step, 0, len(v.steps))
	t := &task.Task{Meta: v.task.Meta}
	var out []queueapi.QueueStateAt
	var worker string // the worker named by skipped transitions of the same transaction
	list := h.out.Transitions
	for i, tr := range list {
		if tr.StepUUID == nil {
			t.State = task.State(tr.To)
		} else {
			s := of[*tr.StepUUID]
			if s == nil {
				s = &task.Step{}
				of[*tr.StepUUID] = s
				steps = append(steps, s)
			}
			s.State = task.StepState(tr.To)
		}
		status := statusOf(t, steps)
		if i > 0 && !list[i-1].At.Equal(tr.At) {
			worker = ""
		}
		worker = cmp.Or(tr.Worker, worker)
		if n := len(out); n > 0 && out[n-1].State == status {
			continue
		}
		// The steps change before the task, in the same transaction: the moment between is never observable.
		if status == queueapi.QueueQueued && i+1 < len(list) && list[i+1].At.Equal(tr.At) && i > 0 {
			continue
		}
		at := queueapi.QueueStateAt{State: status, Timestamp: tr.At}
		if id, known := v.workerIDs[worker]; known {
			at.WorkerID = &id
		}
		out = append(out, at)
	}
	if now := statusOf(v.task, v.steps); len(out) > 0 && out[len(out)-1].State != now {
		// Records and rows were read one after the other; the rows count.
		out = append(out, queueapi.QueueStateAt{State: now, Timestamp: v.task.StateAt.Time()})
	}
	return out, nil
}
