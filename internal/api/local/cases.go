package local

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/operate"
)

// Default sizes of pages, cut to the server's limit. Operators read these lists to the end, most urgent first.
const (
	defaultQueue     = 100
	defaultStaleness = 100
)

// Cases implements operate.CaseBackend. The cases come without snapshots, notes and occurrences, newest first.
// CodeInvalid: the filter, or a page outside of the server's limits.
func (b *Backend) Cases(ctx context.Context, f operate.CaseFilter) ([]operate.Case, error) {
	filter, err := b.toCaseFilter(f, defaultPage)
	if err != nil {
		return nil, err
	}
	list, err := b.engine.Cases(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	out, err := eachOr(list, func(c *task.Case) (*operate.Case, error) { return b.fromCase(ctx, c) })
	if err != nil {
		return nil, err
	}
	return out, b.addStates(ctx, out)
}

// addStates adds the present states of the tasks; "" for a deleted task. It reads them after the cases, so a task may
// be newer than its case. It changes the slice in place.
func (b *Backend) addStates(ctx context.Context, cases []operate.Case) error {
	if len(cases) == 0 {
		return nil
	}
	ids := make([]task.ID, len(cases))
	for i := range cases {
		ids[i] = toID(cases[i].TaskUUID)
	}
	found, err := b.engine.Read().TaskStatuses(ctx, ids)
	if err != nil {
		return ToError(err)
	}
	states := make(map[task.ID]task.State, len(found))
	for _, t := range found {
		states[t.ID] = t.State
	}
	for i := range cases {
		cases[i].CurrentState = tasker.TaskState(states[ids[i]])
	}
	return nil
}

// toCaseFilter reports every fault at its query parameter. page is the default size of a page; the engine checks the
// limit.
func (b *Backend) toCaseFilter(f operate.CaseFilter, page int) (engine.CaseFilter, error) {
	out := engine.CaseFilter{Status: task.Resolution(f.ResolutionStatus), Reason: task.CaseReason(f.Reason),
		Namespace: f.Namespace, TaskName: f.TaskName, Step: f.FailedStep, Handler: f.Handler, Fingerprint: f.Fingerprint,
		Message: f.ErrorMessage, State: task.State(f.CurrentState), After: task.FromFilter(f.After),
		Before: task.FromFilter(f.Before), Offset: f.Offset}
	if len(f.CaseUUIDs) > 0 {
		out.IDs = toIDs(f.CaseUUIDs)
	}
	var faults filterFaults
	faults.names("namespace", f.Namespace, "task_name", f.TaskName, "failed_step", f.FailedStep, "handler", f.Handler,
		"error_pattern", f.Fingerprint, "error_message", f.ErrorMessage)
	faults.instant("after", out.After)
	faults.instant("before", out.Before)
	if out.Status != "" && !slices.Contains(task.Resolutions, out.Status) {
		faults.add("resolution_status", "must be pending, manually_resolved, permanently_failed or cancelled")
	}
	if out.State != "" && !knownState(out.State) {
		faults.add("current_state", "there is no task state \""+string(out.State)+"\"")
	}
	if out.Reason != "" && !slices.Contains(task.CaseReasons, out.Reason) {
		faults.add("dlq_reason", "must be staleness_timeout, max_retries_exceeded, dependency_cycle_detected, "+
			"worker_unavailable or manual_dlq")
	}
	out.Limit = b.page(f.Limit, page)
	return out, faults.err()
}

// CaseOfTask implements operate.CaseBackend: the latest case, with its snapshot. CodeNotFound: the task has no case, or
// the key does not reach it.
func (b *Backend) CaseOfTask(ctx context.Context, id uuid.UUID) (*operate.Case, error) {
	c, err := b.engine.CaseOfTask(ctx, toID(id))
	if err != nil {
		return nil, ToError(err)
	}
	shown, err := b.fromCase(ctx, c)
	if err != nil {
		return nil, err
	}
	one := []operate.Case{*shown}
	return &one[0], b.addStates(ctx, one)
}

// Case returns a case with its snapshot. It is not part of operate.CaseBackend: the HTTP API decides with it whether a
// key reaches a case.
func (b *Backend) Case(ctx context.Context, id uuid.UUID) (*operate.Case, error) {
	c, err := b.engine.Case(ctx, toID(id))
	if err != nil {
		return nil, ToError(err)
	}
	return b.fromCase(ctx, c)
}

// OpenCase implements operate.CaseBackend. CodeConflict: the task has a pending case. The task continues unchanged.
func (b *Backend) OpenCase(ctx context.Context, id uuid.UUID, req operate.OpenCaseRequest) (*operate.Case, error) {
	c, err := b.engine.OpenCase(ctx, toID(id), engine.CaseRequest{Actor: req.OpenedBy, Reason: req.Reason,
		Metadata: req.Metadata})
	if err != nil {
		return nil, ToError(err)
	}
	return b.fromCase(ctx, c)
}

// UpdateCase implements operate.CaseBackend. CodeWrongState: the case is resolved and the update does not reopen it.
// CodeConflict: the case is not as expected. Problems are at the fields of the update.
func (b *Backend) UpdateCase(ctx context.Context, id uuid.UUID, u operate.CaseUpdate) (*operate.CaseUpdated, error) {
	change, err := toCaseChange(u)
	if err != nil {
		return nil, err
	}
	c, err := b.engine.UpdateCase(ctx, toID(id), change)
	if err != nil {
		return nil, ToError(err)
	}
	return &operate.CaseUpdated{Success: true, CaseUUID: id, Message: updated(c, u)}, nil
}

func toCaseChange(u operate.CaseUpdate) (task.CaseChange, error) {
	expect, err := expectation(u.ExpectedState, u.IfMatch)
	return task.CaseChange{Status: task.Resolution(u.ResolutionStatus), Notes: u.ResolutionNotes, Actor: u.ResolvedBy,
		Metadata: u.Metadata, Reopen: u.Reopen, Expect: expect}, err
}

// updated is the message of the response. Its words are part of the API: programs may compare them.
func updated(c *task.Case, u operate.CaseUpdate) string {
	switch {
	case u.Reopen:
		return "DLQ entry opened again"
	case c.Status != task.CasePending && u.ResolutionStatus == "":
		return "note added to the resolved DLQ entry"
	case c.Status != task.CasePending:
		return "DLQ entry resolved: " + string(c.Status)
	default:
		return "DLQ entry updated"
	}
}

// CaseStats implements operate.CaseBackend. It refuses filters by step, handler and message, which are not columns.
// Reasons come in order of urgency; a reason without cases is omitted. Limit and offset have no effect.
func (b *Backend) CaseStats(ctx context.Context, f operate.CaseFilter) ([]operate.CaseStats, error) {
	if f.CaseFailureFilter != (operate.CaseFailureFilter{}) {
		return nil,
			badFilter(tasker.Detail{Location: "failed_step", Message: "counts cannot be narrowed by step, handler or error"})
	}
	filter, err := b.toCaseFilter(f, 0)
	if err != nil {
		return nil, err
	}
	counts, err := b.engine.CountCases(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	var out []operate.CaseStats
	for _, reason := range b.engine.ReasonsByUrgency() {
		if s := statsOf(reason, counts); s != nil {
			out = append(out, *s)
		}
	}
	return out, nil
}

// statsOf combines the counts of a reason; nil without any. The mean time to resolution is in minutes over all resolved
// cases. A pending case counts towards the total and the ages only.
func statsOf(reason task.CaseReason, counts []engine.CaseCount) *operate.CaseStats {
	s := operate.CaseStats{Reason: tasker.CaseReason(reason)}
	var oldest, newest task.Instant
	var openFor int64
	resolved := 0
	for _, c := range counts {
		if c.Reason != reason {
			continue
		}
		s.TotalEntries += c.Cases
		// 0 is the zero Instant, so the first count always sets it.
		if oldest == 0 || c.Oldest < oldest {
			oldest = c.Oldest
		}
		newest = max(newest, c.Newest)
		switch c.Status {
		case task.CasePending:
			s.Pending += c.Cases
			continue
		case task.CaseResolved:
			s.ManuallyResolved += c.Cases
		case task.CaseFailed:
			s.PermanentFailures += c.Cases
		case task.CaseCancelled:
			s.Cancelled += c.Cases
		}
		resolved += c.Cases
		openFor += c.OpenFor
	}
	if s.TotalEntries == 0 {
		return nil
	}
	s.OldestEntry, s.NewestEntry = oldest.Ptr(), newest.Ptr()
	if resolved > 0 {
		// OpenFor is in microseconds, the unit of task.Instant.
		average := float64(openFor) / float64(resolved) / float64(time.Minute/time.Microsecond)
		s.AvgResolutionTimeMinutes = &average
	}
	return &s
}

// InvestigationQueue implements operate.CaseBackend. The most urgent case comes first; PriorityScore is the store's
// sort key. Templates come from the engine's cache, so a page costs one query.
func (b *Backend) InvestigationQueue(ctx context.Context, f operate.CaseFilter) ([]operate.QueuedCase, error) {
	filter, err := b.toCaseFilter(f, defaultQueue)
	if err != nil {
		return nil, err
	}
	list, err := b.engine.InvestigationQueue(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	out := make([]operate.QueuedCase, len(list))
	for i, q := range list {
		tpl, err := b.engine.TemplateOf(ctx, q.Case.DefID)
		if err != nil {
			return nil, ToError(err)
		}
		shown, damage := q.Case.Shown()
		q.Case = shown
		out[i] = operate.QueuedCase{Damage: damages(damage, tpl.Unread), CaseUUID: toUUID(q.Case.ID),
			TaskUUID: toUUID(q.Case.TaskID), Namespace: tpl.Namespace, TaskName: tpl.Name,
			OriginalState: tasker.TaskState(q.Case.OriginalState), CurrentState: tasker.TaskState(q.Task.State),
			Reason: tasker.CaseReason(q.Case.Reason), OpenedAt: q.Case.OpenedAt.Time(), MinutesInDLQ: q.Open.Minutes(),
			PriorityScore: q.Score, Priority: tasker.Priority(b.engine.PriorityName(q.Task.Priority)), Recovered: q.Recovered,
			Cause: operate.CaseCause(q.Case.Cause), OccurrenceCount: q.Case.Occurrences,
			LastOccurredAt: q.Case.OccurredAt.Time(), FailedStep: q.Case.Step, Handler: handlerOf(tpl, q.Case.Step),
			Fingerprint: q.Case.Fingerprint, ErrorMessage: q.Case.Message, Class: tasker.FailureClass(q.Case.Class),
			Retryable: q.Case.Retryable}
	}
	return out, nil
}

// Staleness implements operate.FailureBackend. A limit of 0 means defaultStaleness. The list is complete for stale
// tasks up to the engine's bound; see engine.Engine.Staleness.
func (b *Backend) Staleness(ctx context.Context, f operate.StalenessFilter) ([]operate.StaleTask, error) {
	filter := engine.StalenessFilter{Health: task.Health(f.Health), Namespace: f.Namespace, TaskName: f.TaskName,
		Limit: b.page(f.Limit, defaultStaleness)}
	var faults filterFaults
	faults.names("namespace", f.Namespace, "task_name", f.TaskName)
	if f.Health != "" && f.Health != operate.Healthy && f.Health != operate.Warning && f.Health != operate.Stale {
		faults.add("health_status", "must be healthy, warning or stale")
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	list, err := b.engine.Staleness(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	// One time for all rows makes them comparable.
	now := b.engine.Now()
	return each(list, func(s *engine.Staleness) operate.StaleTask { return b.fromStaleness(s, now) }), nil
}

// fromStaleness converts one row. now is for StaleAt.
func (b *Backend) fromStaleness(s *engine.Staleness, now task.Instant) operate.StaleTask {
	_, damage := s.Task.Shown()
	out := operate.StaleTask{Damage: damages(damage, s.Template.Unread), TaskUUID: toUUID(s.Task.ID),
		Namespace: s.Template.Namespace, TaskName: s.Template.Name, CurrentState: tasker.TaskState(s.Task.State),
		TimeInStateMinutes: s.InState.Minutes(), StalenessThresholdMinutes: s.Threshold.Minutes(),
		CountedMinutes: s.Used.Minutes(), ThresholdSource: operate.ThresholdSource(s.Source),
		Promise: operate.Promise(s.Promise), StaleAt: s.StaleAt(s.Task, now).Ptr(), Health: operate.Health(s.Health),
		Priority: tasker.Priority(b.engine.PriorityName(s.Task.Priority))}
	// A damaged template may have fewer steps than the task.
	if step := s.PromisedStep; step != nil && step.Ordinal <= len(s.Template.Steps) {
		out.PromisedStep = s.Template.Steps[step.Ordinal-1].Name
	}
	// A promise without end has no time; Promise shows it.
	if s.PromisedUntil != task.Endless {
		out.PromisedUntil = s.PromisedUntil.Ptr()
	}
	return out
}

// DetectStaleness implements operate.FailureBackend. A batch size of 0 means the configured one. With DryRun it changes
// nothing. A task that cannot be handled is reported and left for the next cycle.
func (b *Backend) DetectStaleness(ctx context.Context, req operate.DetectRequest) ([]operate.Detection, error) {
	list, err := b.engine.DetectByHand(ctx, req.Actor, req.Reason, req.BatchSize, req.DryRun)
	if err != nil {
		return nil, ToError(err)
	}
	out := make([]operate.Detection, len(list))
	for i, d := range list {
		out[i] = operate.Detection{TaskUUID: toUUID(d.Task), Namespace: d.Template.Namespace, TaskName: d.Template.Name,
			CurrentState: tasker.TaskState(d.State), TimeInStateMinutes: d.InState.Minutes(),
			ThresholdMinutes: d.Threshold.Minutes(), ActionTaken: operate.DetectionAction(d.Action), MovedToDLQ: d.Case,
			TransitionSuccess: d.Errored}
	}
	return out, nil
}
