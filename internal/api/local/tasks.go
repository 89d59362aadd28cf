package local

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// SubmitTasks implements tasker.TaskBackend. The receipts are in the order of the requests. Without ItemErrors one bad
// request refuses all; with it, each has its own answer. It blocks until the tasks are durable. Limits per user apply
// within the key that Caller names.
func (b *Backend) SubmitTasks(ctx context.Context, req tasker.SubmitRequest) ([]tasker.TaskReceipt, error) {
	subs := make([]engine.Submission, len(req.Tasks))
	for i := range req.Tasks {
		toSubmission(&req.Tasks[i], &subs[i])
		subs[i].Caller = req.Caller
	}
	receipts, err := b.engine.Submit(ctx, subs, req.ItemErrors)
	if err != nil {
		return nil, ToError(err)
	}
	return fromReceipts(receipts), nil
}

// toSubmission converts a request into s, so that a batch needs one allocation. The engine reports every problem at its
// field. A timeout too large for a duration becomes the longest one, which its bound refuses.
func toSubmission(r *tasker.TaskRequest, s *engine.Submission) {
	*s = engine.Submission{Name: r.Name, TaskType: r.TaskType, Namespace: r.Namespace, Version: r.Version,
		Context: r.Context, Priority: string(r.Priority), Capabilities: r.RequiredCapabilities,
		Timeout: times(r.TimeoutSeconds, time.Second), MaxRetries: r.MaxRetries, RunAt: task.FromOptional(r.RunAt),
		IdempotencyKey: r.IdempotencyKey, CorrelationID: r.CorrelationID,
		Meta: task.Meta{Tags: r.Tags, ParentCorrelationID: r.ParentCorrelationID, Initiator: r.Initiator,
			SourceSystem: r.SourceSystem, Reason: r.Reason, TraceParent: r.TraceParent, OrderingKey: r.OrderingKey,
			Deadline: task.FromOptional(r.DeadlineAt)}}
	if r.Unique != nil {
		s.Unique = toUnique(r.Unique)
	}
}

func fromReceipts(receipts []engine.Receipt) []tasker.TaskReceipt {
	out := make([]tasker.TaskReceipt, len(receipts))
	for i, r := range receipts {
		out[i] = tasker.TaskReceipt{TaskUUID: toUUID(r.ID), State: tasker.TaskState(r.State), Created: r.Created,
			Error: itemError(r.Err), Unique: fromUniqueMatch(r.Unique)}
	}
	return out
}

// Task implements tasker.TaskBackend. With wait it blocks until the task is settled, at most Leases.MaxLongPoll; then
// it returns the task in its present state. CodeNotFound: no such task, or one outside the key's reach.
func (b *Backend) Task(ctx context.Context, id uuid.UUID, wait time.Duration) (*tasker.Task, error) {
	t, err := b.engine.Task(ctx, toID(id), wait)
	if err != nil {
		return nil, ToError(err)
	}
	level, err := b.engine.EffectivePriorityOf(ctx, t)
	if err != nil {
		return nil, ToError(err)
	}
	out, err := b.fromTask(ctx, t)
	if err != nil {
		return nil, err
	}
	out.EffectivePriority = tasker.Priority(b.engine.PriorityName(level))
	if out.Unique != nil {
		guards, err := b.engine.GuardsUnique(ctx, t)
		if err != nil {
			return nil, ToError(err)
		}
		out.Unique.Guards = &guards
	}
	return out, nil
}

// fromTask converts a task without its effective priority, which needs another read. Names come from the template. A
// row from a list without contexts has none.
func (b *Backend) fromTask(ctx context.Context, t *task.Task) (*tasker.Task, error) {
	tpl, err := b.engine.TemplateOf(ctx, t.DefID)
	if err != nil {
		return nil, ToError(err)
	}
	t, damage := t.Shown()
	c := t.Counts
	return &tasker.Task{Damage: damages(damage, tpl.Unread), TaskUUID: toUUID(t.ID), Namespace: tpl.Namespace,
		Name: tpl.Name, Version: tpl.Version, State: tasker.TaskState(t.State),
		Priority: tasker.Priority(b.engine.PriorityText(t)), PriorityLevel: t.Priority, Context: t.Context,
		CreatedAt: t.CreatedAt.Time(), RunAt: t.RunAt.Ptr(), FinishedAt: t.FinishedAt.Ptr(), DeadlineAt: t.DeadlineAt.Ptr(),
		TotalSteps: c.Total(), PendingSteps: c.Pending, InProgressSteps: c.Active, WaitingSteps: c.Waiting,
		CompletedSteps: c.Done, FailedSteps: c.Failed, CancelledSteps: c.Cancelled,
		CompletionPercentage: percentage(c.Done, c.Total()), Tags: t.Meta.Tags, CorrelationID: t.CorrelationID,
		ParentCorrelationID: t.Meta.ParentCorrelationID, IdempotencyKey: t.IdempotencyKey, OrderingKey: t.Meta.OrderingKey,
		WaitsForTurn: t.Meta.Held, Intake: fromIntake(t.Meta.Intake), Schedule: fromSchedule(t.Meta.Schedule),
		Parent: fromParent(t.Meta.Child), Unique: fromUniqueMark(t.Meta.Unique), Initiator: t.Meta.Initiator,
		SourceSystem: t.Meta.SourceSystem, Reason: t.Meta.Reason, CancelReason: t.Meta.CancelReason,
		CancelledBy: t.Meta.CancelledBy, CancelledByKey: t.Meta.CancelledKey, TraceParent: t.Meta.TraceParent,
		ContextVersion: t.Meta.ContextEdits, ContextEditedAt: t.Meta.EditedAt.Ptr(), ContextEditedBy: t.Meta.EditedBy,
		ContextEditedByKey: t.Meta.EditedKey, ReplayCount: t.Meta.Replays, LastReplayedAt: t.Meta.ReplayedAt.Ptr(),
		LastReplayedBy: t.Meta.ReplayedBy, LastReplayedByKey: t.Meta.ReplayedKey, ETag: t.Seen().Version}, nil
}

// percentage is rounded to two decimals; 0 for a damaged task without steps.
func percentage(done, total int) float64 {
	if total == 0 {
		return 0
	}
	return math.Round(10_000*float64(done)/float64(total)) / 100
}

// defaultPage suits a terminal; a program requests more. The server's page limit applies.
const defaultPage = 50

// Tasks implements tasker.TaskBackend. Newest first; the cursor is the ID below which the next page begins, "" at the
// end. A page may end early at the bytes of a page. Contexts come only with WithContext.
func (b *Backend) Tasks(ctx context.Context, f tasker.TaskFilter) (*tasker.TaskPage, error) {
	filter, err := b.toFilter(f)
	if err != nil {
		return nil, err
	}
	tasks, next, err := b.engine.Tasks(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	page := &tasker.TaskPage{}
	page.Tasks, err = eachOr(tasks, func(t *task.Task) (*tasker.Task, error) { return b.fromTask(ctx, t) })
	if err != nil {
		return nil, err
	}
	if !next.IsZero() {
		page.NextCursor = next.String()
	}
	return page, nil
}

// toFilter reports every fault at its query parameter.
func (b *Backend) toFilter(f tasker.TaskFilter) (engine.TaskFilter, error) {
	out := engine.TaskFilter{Namespace: f.Namespace, Name: f.Name, Version: f.Version, Tag: f.Tag,
		CorrelationID: f.CorrelationID, Initiator: f.Initiator, Limit: b.page(f.Limit, defaultPage), Contexts: f.WithContext}
	var faults filterFaults
	faults.names("namespace", f.Namespace, "name", f.Name, "version", f.Version, "tag", f.Tag, "correlation_id",
		f.CorrelationID, "initiator", f.Initiator)
	for _, s := range f.States {
		// A misspelt state would look like an empty list.
		if !knownState(task.State(s)) {
			faults.add("state", "there is no task state \""+string(s)+"\"")
		}
		out.States = append(out.States, task.State(s))
	}
	if f.Priority != "" {
		level, ok := b.engine.Level(string(f.Priority))
		if !ok {
			faults.add("priority", "\""+string(f.Priority)+"\" is not a priority")
		}
		out.Priority = &level
	}
	out.CreatedAfter, out.CreatedBefore = task.FromOptional(f.CreatedAfter), task.FromOptional(f.CreatedBefore)
	faults.instant("created_after", out.CreatedAfter)
	faults.instant("created_before", out.CreatedBefore)
	if f.Cursor != "" {
		id, err := task.ParseID(f.Cursor)
		if err != nil {
			faults.add("cursor", "is not a cursor of this list")
		}
		out.Below = id
	}
	return out, faults.err()
}

func knownState(s task.State) bool { return slices.Contains(task.States, s) }

// CancelTasks implements tasker.TaskBackend. The receipts are in the order of the IDs; a refused task has its error in
// its receipt. An ETag is allowed for one task only.
func (b *Backend) CancelTasks(ctx context.Context, req tasker.CancelRequest) ([]tasker.TaskReceipt, error) {
	expect, err := expectation(string(req.ExpectedState), req.IfMatch)
	if err != nil {
		return nil, err
	}
	if len(req.TaskUUIDs) > 1 {
		if err := ofOne(expect); err != nil {
			return nil, err
		}
	}
	receipts, err := b.engine.Cancel(ctx, toIDs(req.TaskUUIDs),
		engine.Cancellation{Actor: req.CancelledBy, Reason: req.Reason, Expect: expect})
	if err != nil {
		return nil, refusal.Moved(ToError(err), "/actor", "/cancelled_by")
	}
	return fromReceipts(receipts), nil
}

func fromSchedule(of *task.Scheduled) *tasker.TaskSchedule {
	if of == nil {
		return nil
	}
	return &tasker.TaskSchedule{Name: of.Name, Time: of.At.Time(), Kind: of.Kind}
}

func fromIntake(in *task.Intake) *tasker.TaskIntake {
	if in == nil {
		return nil
	}
	return &tasker.TaskIntake{Source: in.Source, Queue: in.Queue, Position: in.Position, SentAt: in.SentAt.Ptr()}
}
