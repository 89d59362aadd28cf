package local

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// view is a task with the data to show its steps, read for one answer. Its parts are read one after the other, records
// last, so they are never older than the rows.
type view struct {
	b     *Backend
	task  *task.Task
	steps []*task.Step
	// tpl is a stand-in without steps if the template cannot be read; see viewOf.
	tpl         *task.Template
	records     engine.Records
	checkpoints map[task.ID]task.Checkpoint
	// waits are the events that steps wait for, by step.
	waits map[task.ID]task.StepWait
	// damage describes unreadable data, which is omitted.
	damage string
	// workers caches names by number.
	workers   map[int64]string
	workerIDs map[string]uuid.UUID
}

// view reads a task with all its steps and records. NotFound: there is no such task.
func (b *Backend) view(ctx context.Context, id task.ID) (*view, error) {
	t, steps, err := b.engine.Steps(ctx, id)
	if err != nil {
		return nil, ToError(err)
	}
	return b.viewOf(ctx, t, steps, true)
}

// viewOf adds template and records to rows, and leaves out damaged parts. With rows missing, steps have no names: their
// places in the template are not reliable. Damage is not an error: an operator must be able to look at a damaged task.
func (b *Backend) viewOf(ctx context.Context, t *task.Task, steps []*task.Step, payloads bool) (_ *view, err error) {
	v := &view{b: b, workers: map[int64]string{}, workerIDs: map[string]uuid.UUID{}}
	if v.tpl, err = b.engine.TemplateOf(ctx, t.DefID); err != nil {
		return nil, ToError(err)
	}
	if v.tpl.Unread == "" && len(steps) != len(v.tpl.Steps) { // rows are missing: places are meaningless
		bare := *v.tpl
		bare.Steps, bare.Unread = nil, fmt.Sprintf("there are %d of its %d steps", len(steps), len(v.tpl.Steps))
		v.tpl = &bare
	}
	v.task, v.damage = t.Shown()
	var wrong string
	v.steps, wrong = shownSteps(steps, v.tpl)
	v.damage = damages(v.damage, wrong, v.tpl.Unread)
	if v.records, err = b.engine.Records(ctx, t.ID); err != nil {
		return nil, ToError(err)
	}
	if v.checkpoints, err = b.engine.Checkpoints(ctx, t, steps, payloads); err != nil {
		return nil, ToError(err)
	}
	if v.waits, err = b.engine.WaitsOf(ctx, steps); err != nil {
		return nil, ToError(err)
	}
	for i := range v.records.Attempts {
		a, wrong := v.records.Attempts[i].Shown()
		v.records.Attempts[i], v.damage = *a, damages(v.damage, wrong)
	}
	for i := range v.records.Acts {
		a, wrong := v.records.Acts[i].Shown()
		v.records.Acts[i], v.damage = *a, damages(v.damage, wrong)
	}
	return v, nil
}

// shownSteps returns a step for each row, in order, without unreadable parts, and an explanation of these.
func shownSteps(rows []*task.Step, tpl *task.Template) (steps []*task.Step, damage string) {
	for _, s := range rows {
		shown, wrong := s.Shown(tpl)
		if steps = append(steps, shown); wrong != "" {
			damage = damages(damage, "step "+s.ID.String()+": "+wrong)
		}
	}
	return steps, damage
}

// worker returns a worker's name with its ID, since names need not be unique; "" for no worker, "forgotten" for a
// deleted row.
func (v *view) worker(ctx context.Context, no int64) (string, error) {
	if no == 0 {
		return "", nil
	}
	if name, ok := v.workers[no]; ok {
		return name, nil
	}
	w, err := v.b.rows.FindWorkerByNo(ctx, no)
	if err != nil {
		return "", ToError(err)
	}
	name := "forgotten"
	if w != nil {
		name = w.Name + " (" + w.ID.String() + ")"
		v.workerIDs[name] = toUUID(w.ID)
	}
	v.workers[no] = name
	return name, nil
}

// spec is the zero value if the template cannot be read.
func (v *view) spec(s *task.Step) task.StepSpec { return v.tpl.Spec(s) }

// Steps implements tasker.TaskBackend, in the order of the template. Results are included up to the bytes of a page;
// ResultsOmitted marks the others, which Step returns one at a time. CodeNotFound: no such task, or one outside the
// key's reach.
func (b *Backend) Steps(ctx context.Context, id uuid.UUID) ([]tasker.Step, error) {
	return b.listSteps(ctx, id, true)
}

// BareSteps is Steps without results, which are not read: callers that poll for states do not need them.
func (b *Backend) BareSteps(ctx context.Context, id uuid.UUID) ([]tasker.Step, error) {
	return b.listSteps(ctx, id, false)
}

func (b *Backend) listSteps(ctx context.Context, id uuid.UUID, results bool) ([]tasker.Step, error) {
	t, steps, omitted, err := b.engine.ListSteps(ctx, toID(id), results)
	if err != nil {
		return nil, ToError(err)
	}
	v, err := b.viewOf(ctx, t, steps, results)
	if err != nil {
		return nil, err
	}
	out := make([]tasker.Step, len(v.steps))
	for i, s := range v.steps {
		if out[i], err = v.step(ctx, s); err != nil {
			return nil, err
		}
		out[i].ResultsOmitted = omitted[s.ID]
	}
	return out, nil
}

// Step implements tasker.TaskBackend. It reads the siblings, too: name and dependencies depend on them.
func (b *Backend) Step(ctx context.Context, taskID, stepID uuid.UUID) (*tasker.Step, error) {
	v, err := b.view(ctx, toID(taskID))
	if err != nil {
		return nil, err
	}
	for _, s := range v.steps {
		if s.ID == toID(stepID) {
			out, err := v.step(ctx, s)
			return &out, err
		}
	}
	return nil, tasker.Errorf(tasker.CodeNotFound, "the task %s has no step %s", taskID, stepID)
}

// StepLogs implements tasker.TaskBackend. CodeNotFound: no such step, or its task is outside the key's reach.
func (b *Backend) StepLogs(ctx context.Context, taskID, stepID uuid.UUID) ([]tasker.AttemptLog, error) {
	logs, err := b.engine.Logs(ctx, toID(taskID), toID(stepID))
	if err != nil {
		return nil, ToError(err)
	}
	return each(logs, func(l *task.AttemptLog) tasker.AttemptLog {
		return tasker.AttemptLog{StepUUID: stepID, Attempt: l.Attempt, Lease: l.Token, At: l.At.Time(), Bytes: l.Bytes,
			Text: l.Text}
	}), nil
}

// step converts a step, which may be newer than the view, with its last failure and the last act on it.
func (v *view) step(ctx context.Context, s *task.Step) (tasker.Step, error) {
	spec := v.spec(s)
	s, damage := s.Shown(v.tpl)
	route, err := v.b.engine.RouteOf(ctx, s.RouteID)
	if err != nil {
		return tasker.Step{}, ToError(err)
	}
	worker, err := v.worker(ctx, s.WorkerNo)
	if err != nil {
		return tasker.Step{}, err
	}
	out := tasker.Step{Damage: damages(damage, v.tpl.Unread, route.Unread), StepUUID: toUUID(s.ID),
		TaskUUID: toUUID(s.TaskID), Name: spec.Name, Handler: spec.Handler, State: tasker.StepState(s.State),
		Dependencies: spec.Dependencies, TotalParents: len(spec.Parents), CompletedParents: len(spec.Parents) - s.OpenParents,
		DependenciesSatisfied: s.OpenParents == 0, RetryEligible: v.retryEligible(s),
		ReadyForExecution: s.OnRoute(), Attempts: s.Attempts, MaxAttempts: s.MaxAttempts,
		Priority:             tasker.Priority(v.b.engine.PriorityName(s.Priority)),
		EffectivePriority:    tasker.Priority(v.b.engine.PriorityName(v.b.engine.EffectivePriority(s))),
		RequiredCapabilities: route.Capabilities,
		TimeoutSeconds:       int(s.Timeout / time.Second), CreatedAt: v.task.CreatedAt.Time(), ReadyAt: s.ReadyAt.Ptr(),
		LastAttemptedAt: s.StartedAt.Ptr(), Worker: worker, LeaseExpiresAt: s.LeaseUntil.Ptr(), StatusMessage: s.Note,
		Results: s.Result, OnFailure: spec.OnFailure, ETag: s.Seen().Version}
	if large := task.LargeResultOf(s.ID, s.Result); large != nil {
		out.Results, out.LargeResult = nil, fromLarge(large)
	}
	switch {
	case s.State == task.StepWaiting:
		out.Wait = v.waitOf(s)
	case s.Queue == task.Timers:
		out.NextRetryAt = task.Instant(s.Key).Ptr()
	}
	if s.State.Satisfies() {
		out.CompletedAt = s.FinishedAt.Ptr()
	}
	if s.Progress > 0 || s.State == task.StepInProgress {
		out.ProgressPercent = &s.Progress
	}
	if c, ok := v.checkpoints[s.ID]; ok && !s.State.Satisfies() {
		out.Checkpoint = &tasker.Checkpoint{At: c.At.Time(), Bytes: c.Bytes, Lease: c.Token, Value: c.Body}
	}
	v.failureOf(s, &out)
	v.actOn(s, &out)
	return out, v.children(ctx, s, &out)
}

// waitOf returns nil without a wait in the template.
func (v *view) waitOf(s *task.Step) *tasker.StepWait {
	wait := v.spec(s).Wait
	if wait == nil {
		return nil
	}
	out := &tasker.StepWait{Kind: string(wait.Kind()), Approval: wait.Approval, Signal: wait.Signal,
		Key: v.waits[s.ID].Key}
	if s.Queue == task.Timers {
		out.Until = task.Instant(s.Key).Ptr()
	}
	return out
}

// retryEligible reports whether a failed step may run again now. The state implies a retryable failure and attempts
// left; its back-off must be over.
func (v *view) retryEligible(s *task.Step) bool {
	return s.State == task.StepWaitingForRetry && task.Instant(s.Key) <= v.b.engine.Now()
}

func (v *view) failureOf(s *task.Step, out *tasker.Step) {
	if a := v.lastFailure(s); a != nil {
		out.LastError, out.LastFailureAt = fromFailure(a.Failure), a.FinishedAt.Ptr()
	}
}

// actOn adds the operator who last changed the step. Records are sorted, so the last match remains. Giving up is an act
// of the system.
func (v *view) actOn(s *task.Step, out *tasker.Step) {
	for _, a := range v.records.Acts {
		if a.StepID == s.ID && a.Kind != task.ActGiveUp {
			out.ResolvedBy, out.ResolvedByKey, out.ResolutionReason = a.Actor, a.Key, a.Reason
		}
	}
}

// fromFailure shows the derived class of a failure without one. The store keeps RetryAfterSeconds in whole
// milliseconds.
func fromFailure(f *task.Failure) *tasker.Failure {
	retryable := f.Retryable
	return &tasker.Failure{Type: f.Type, Message: f.Message, Stack: f.Stack, Code: f.Code, HTTPStatus: f.HTTPStatus,
		ResponseBody: f.ResponseBody, Retryable: &retryable, RetryAfterSeconds: float64(f.RetryAfterMS) / 1000,
		Class: tasker.FailureClass(task.ClassOf(f)), Details: f.Details}
}

// toFailure: Retryable defaults to true; the pause is cut to the longest delay, and a negative one counts as none. The
// engine cuts texts (Failure.Trim), because a failure is never refused for its form.
func toFailure(f *tasker.Failure) *task.Failure {
	if f == nil {
		return nil
	}
	after := min(max(f.RetryAfterSeconds, 0), task.MaxDelay.Seconds())
	return &task.Failure{Type: f.Type, Message: f.Message, Stack: f.Stack, Code: f.Code, HTTPStatus: f.HTTPStatus,
		ResponseBody: f.ResponseBody, Retryable: f.Retryable == nil || *f.Retryable, RetryAfterMS: int64(after * 1000),
		Class: failure.Class(f.Class), Details: f.Details}
}

// toStepAct also returns the pointer of the actor's field: each kind of act has its own, and a problem must be at the
// field that the caller used. The engine refuses an unknown kind.
func toStepAct(act tasker.StepAction) (a engine.StepAct, field string, err error) {
	a = engine.StepAct{Kind: engine.ActKind(act.ActionType), Reason: act.Reason, DiscardCheckpoint: act.DiscardCheckpoint}
	field = "/resolved_by"
	switch act.ActionType {
	case tasker.ResetForRetry:
		a.Actor, field = act.ResetBy, "/reset_by"
	case tasker.CompleteManually:
		a.Actor, field = act.CompletedBy, "/completed_by"
	case tasker.Approve, tasker.Reject:
		a.Actor, field = act.DecidedBy, "/decided_by"
	default:
		a.Actor = act.ResolvedBy
	}
	if act.CompletionData != nil {
		a.Result, a.Metadata = act.CompletionData.Result, act.CompletionData.Metadata
	}
	a.Expect, err = expectation(act.ExpectedState, act.IfMatch)
	return a, field, err
}

// ActOnStep implements tasker.TaskBackend. CodeWrongState: the step is settled, or its task is terminal. CodeConflict:
// the step is not as expected. The act and its effect on the task are one transaction.
func (b *Backend) ActOnStep(ctx context.Context, taskID, stepID uuid.UUID, act tasker.StepAction,
) (*tasker.Step, error) {
	a, field, err := toStepAct(act)
	if err != nil {
		return nil, err
	}
	after, err := b.engine.Operate(ctx, toID(taskID), toID(stepID), a)
	if err != nil {
		return nil, refusal.Moved(ToError(err), "/actor", field)
	}
	v, err := b.view(ctx, toID(taskID))
	if err != nil {
		return nil, err
	}
	// the step after the act: it may have changed since
	out, err := v.step(ctx, after)
	return &out, err
}
