package local

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/operate"
)

// FailedTasks implements operate.FailureBackend. Without a resolution status it lists tasks in error with a pending
// case; with another one, the tasks of such cases in any state. The page ends early when the failures exceed the bytes
// of a page; the cursor continues it. The total stops at a bound (TotalCapped).
func (b *Backend) FailedTasks(ctx context.Context, f operate.FailedTaskFilter) (*operate.FailedTaskPage, error) {
	filter, err := b.toCaseFilter(operate.CaseFilter{ResolutionStatus: cmp.Or(f.ResolutionStatus, tasker.CasePending),
		Reason: f.Reason, Namespace: f.Namespace, TaskName: f.TaskType, After: f.After, Before: f.Before, Limit: f.Limit,
		CaseFailureFilter: operate.CaseFailureFilter{FailedStep: f.FailedStep, ErrorMessage: f.ErrorMessage}}, defaultPage)
	if err != nil {
		return nil, err
	}
	// The fingerprint has another parameter name in this list, and so another place of its fault.
	filter.Fingerprint, filter.Retryable = f.Fingerprint, f.Retryable
	var faults filterFaults
	faults.name("error_pattern", f.Fingerprint)
	if err := faults.err(); err != nil {
		return nil, err
	}
	if f.Cursor != "" {
		if filter.Below, err = task.ParseID(f.Cursor); err != nil {
			return nil, noCursor("cursor")
		}
	}
	found, err := b.engine.FailedTasks(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	page := &operate.FailedTaskPage{Tasks: make([]operate.FailedTask, len(found.Tasks)), TotalCount: found.Total,
		TotalCapped: found.Capped}
	for i := range found.Tasks {
		if page.Tasks[i], err = b.fromFailedTask(ctx, &found.Tasks[i]); err != nil {
			return nil, err
		}
	}
	if !found.Next.IsZero() {
		page.NextCursor = found.Next.String()
	}
	return page, nil
}

// fromFailedTask joins a case, its task and the last failure. Retries are those of the failed attempt. Failed is nil
// without a failed attempt, such as for a task past its deadline.
func (b *Backend) fromFailedTask(ctx context.Context, l *engine.FailedTask) (operate.FailedTask, error) {
	tpl, err := b.engine.TemplateOf(ctx, l.Task.DefID)
	if err != nil {
		return operate.FailedTask{}, ToError(err)
	}
	t, damage := l.Task.Shown()
	c, wrong := l.Case.Shown()
	l = &engine.FailedTask{Task: t, Case: c, Failed: l.Failed}
	m := l.Task.Meta
	out := operate.FailedTask{Damage: damages(damage, wrong, tpl.Unread), TaskID: toUUID(l.Task.ID),
		CaseID: toUUID(l.Case.ID), Namespace: tpl.Namespace, TaskType: tpl.Name, State: tasker.TaskState(l.Task.State),
		Priority: tasker.Priority(b.engine.PriorityText(l.Task)), CreatedAt: l.Task.CreatedAt.Time(),
		MovedToDLQAt: l.Case.OpenedAt.Time(), FailureReason: tasker.CaseReason(l.Case.Reason),
		Cause: operate.CaseCause(l.Case.Cause), OccurrenceCount: l.Case.Occurrences,
		LastOccurredAt: l.Case.OccurredAt.Time(), FailedStep: l.Case.Step, Fingerprint: l.Case.Fingerprint,
		ErrorMessage: l.Case.Message, Retryable: l.Case.Retryable, ResolutionStatus: tasker.CaseResolution(l.Case.Status),
		ReplayCount: m.Replays, LastReplayedAt: m.ReplayedAt.Ptr(), LastReplayedBy: m.ReplayedBy,
		LastReplayedByKey: m.ReplayedKey}
	if l.Failed != nil {
		a, wrong := l.Failed.Shown()
		out.Damage = damages(out.Damage, wrong)
		out.LastError, out.LastFailureAt, out.RetryCount = fromFailure(a.Failure), a.FinishedAt.Ptr(), max(a.Number-1, 0)
	}
	return out, nil
}

// ReplayTask implements operate.FailureBackend. CodeWrongState: the task is not in error, or has no failed step.
// CodeConflict: the task is not as expected. The response shows the state after the replay, which may have changed
// since.
func (b *Backend) ReplayTask(ctx context.Context, id uuid.UUID, req operate.ReplayRequest) (*operate.Replay, error) {
	expect, err := expectation(string(req.ExpectedState), req.IfMatch)
	if err != nil {
		return nil, err
	}
	r, err := b.engine.Replay(ctx, toID(id), engine.Replay{Expect: expect, Actor: req.ReplayedBy, Reason: req.Reason,
		ResetAttempts: req.ResetRetryCount, Priority: string(req.NewPriority)})
	if err != nil {
		return nil, ToError(err)
	}
	m := r.Task.Meta
	return &operate.Replay{TaskID: id, CaseID: optionalUUID(r.Case), State: tasker.TaskState(r.Task.State),
		Priority: tasker.Priority(b.engine.PriorityText(r.Task)), ReplayedSteps: r.Steps, ReplayCount: m.Replays,
		ReplayedAt: m.ReplayedAt.Time(), ReplayedBy: m.ReplayedBy, ReplayedByKey: m.ReplayedKey}, nil
}

// FailureReport implements operate.FailureBackend: the last analysis of the loop, which is up to its interval old
// (AnalyzedAt). CodeNotFound: no analysis has run yet. An empty namespace means all.
func (b *Backend) FailureReport(ctx context.Context, namespace string) (*operate.FailureReport, error) {
	var faults filterFaults
	faults.name("namespace", namespace)
	if err := faults.err(); err != nil {
		return nil, err
	}
	r, err := b.engine.FailureReport(ctx, namespace)
	if err != nil {
		return nil, ToError(err)
	}
	out := &operate.FailureReport{AnalyzedAt: r.At.Time(), Since: r.Since.Time(), Replayable: r.Replayable,
		Reasons:      make([]operate.ReasonCount, len(r.Reasons)),
		Fingerprints: make([]operate.FingerprintCount, len(r.Fingerprints)),
		Alarms:       make([]operate.FailureAlarm, len(r.Alarms))}
	for i, c := range r.Reasons {
		out.TotalCount += c.Cases
		out.Reasons[i] = operate.ReasonCount{FailureReason: tasker.CaseReason(c.Reason), Count: c.Cases,
			Replayable: c.Replayable}
	}
	for i, c := range r.Fingerprints {
		out.Fingerprints[i] = operate.FingerprintCount{Namespace: c.Namespace, FailureReason: tasker.CaseReason(c.Reason),
			Fingerprint: c.Fingerprint, Count: c.Cases,
			Replayable: c.Replayable, FirstAt: c.First.Time(), LastAt: c.Last.Time(), New: c.New}
	}
	for i, a := range r.Alarms {
		out.Alarms[i] = operate.FailureAlarm{Kind: operate.FailureAlarmKind(a.Kind), Message: a.Message(),
			Namespace: a.Namespace, FailureReason: tasker.CaseReason(a.Reason), Fingerprint: a.Fingerprint, Count: a.Cases}
	}
	return out, nil
}
