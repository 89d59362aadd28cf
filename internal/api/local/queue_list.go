package local

import (
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/model/task"
)

// queueStates are the possible states of tasks with a status.
var queueStates = map[queueapi.QueueStatus][]task.State{
	queueapi.QueueQueued:     liveStates(),
	queueapi.QueueAssigned:   liveStates(),
	queueapi.QueueExecuting:  liveStates(),
	queueapi.QueueCompleted:  {task.Complete, task.ResolvedManually},
	queueapi.QueueFailed:     {task.Errored},
	queueapi.QueueDeadLetter: {task.Errored},
	queueapi.QueueStopped:    {task.Cancelled},
}

// liveStates are the unsettled states; the steps decide the status of such a task: see statusOfSteps.
func liveStates() []task.State {
	return slices.DeleteFunc(slices.Clone(task.States), task.State.Settled)
}

// Bounds of one page, which is searched a stretch at a time. A status may be rare among the tasks of its states;
// without a bound one request would read a whole table.
const (
	stretch  = 100
	searched = 500
)

// QueueTasks implements queueapi.Backend. The store selects by state; the steps decide the rest of a status, for a
// bounded number of tasks per page. So a page may be shorter than its limit, even empty, and still have a cursor: only
// a page without a cursor is the last. A limit of 0 means the default.
func (b *Backend) QueueTasks(ctx context.Context, f queueapi.QueueTaskFilter) (*queueapi.QueueTaskPage, error) {
	wanted, err := b.toFilter(tasker.TaskFilter{Namespace: f.Namespace, Name: f.TaskType, Initiator: f.UserID,
		Priority:     f.Priority,
		CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore, Limit: f.Limit, Cursor: f.Cursor})
	if err != nil {
		return nil, err
	}
	for _, s := range f.Statuses {
		states, known := queueStates[s]
		if !known {
			return nil, badFilter(tasker.Detail{Location: "status", Message: "there is no status \"" + string(s) + "\""})
		}
		wanted.States = append(wanted.States, states...)
	}
	// Statuses share states; the condition of the query needs no duplicates.
	slices.Sort(wanted.States)
	wanted.States = slices.Compact(wanted.States)
	limit, most := wanted.Limit, b.engine.Config().Limits.PageItems
	if limit < 1 || limit > most {
		return nil, badFilter(tasker.Detail{Location: "limit", Message: fmt.Sprintf("must be 1 to %d", most)})
	}
	// With a filter, the number of tasks to read is unrelated to the limit of the page.
	if len(f.Statuses) > 0 {
		wanted.Limit = min(stretch, most)
	}
	page := &queueapi.QueueTaskPage{Tasks: []queueapi.QueueListed{}}
	for looked := 0; ; {
		tasks, next, err := b.engine.Tasks(ctx, wanted)
		if err != nil {
			return nil, ToError(err)
		}
		steps, err := b.engine.BareSteps(ctx, tasks)
		if err != nil {
			return nil, ToError(err)
		}
		for i, t := range tasks {
			listed, err := b.toListed(ctx, t, steps[i])
			if err != nil {
				return nil, err
			}
			if listed == nil || len(f.Statuses) > 0 && !slices.Contains(f.Statuses, listed.Status) {
				continue
			}
			if page.Tasks = append(page.Tasks, *listed); len(page.Tasks) == limit {
				if i < len(tasks)-1 {
					// The page is full in the middle of a stretch: the next one continues after the last task shown.
					next = t.ID
				}
				break
			}
		}
		if !next.IsZero() {
			page.NextCursor = next.String()
		}
		if looked += wanted.Limit; next.IsZero() || len(page.Tasks) == limit || looked >= searched || len(f.Statuses) == 0 {
			return page, nil
		}
		wanted.Below, page.NextCursor = next, ""
	}
}

// toListed returns nil for a task that was deleted meanwhile. It has no history, worker or result, which QueueTask
// reads.
func (b *Backend) toListed(ctx context.Context, t *task.Task, steps []*task.Step) (*queueapi.QueueListed, error) {
	if len(steps) < t.Counts.Total() {
		return nil, nil
	}
	tpl, err := b.engine.TemplateOf(ctx, t.DefID)
	if err != nil {
		return nil, ToError(err)
	}
	t, damage := t.Shown() // read at about the same time as its steps
	steps, wrong := shownSteps(steps, tpl)
	v := &view{b: b, task: t, steps: steps, tpl: tpl}
	out := &queueapi.QueueListed{Damage: damages(damage, wrong, tpl.Unread), TaskID: toUUID(t.ID),
		Namespace: tpl.Namespace, TaskType: tpl.Name, Status: statusOf(t, steps), State: tasker.TaskState(t.State),
		Priority: tasker.Priority(b.engine.PriorityText(t)), Progress: int(percentage(t.Counts.Done, t.Counts.Total())),
		CreatedAt: t.CreatedAt.Time(), CompletedAt: t.FinishedAt.Ptr(), IdempotencyKey: t.IdempotencyKey,
		UserID: t.Meta.Initiator, CorrelationID: t.CorrelationID}
	s := v.foremost()
	if s == nil {
		return out, nil
	}
	out.QueuedAt, out.StartedAt, out.RetryCount, out.MaxRetries = s.ReadyAt.Ptr(), s.StartedAt.Ptr(), retries(s),
		max(s.MaxAttempts-1, 0)
	out.EffectivePriority = tasker.Priority(b.engine.PriorityName(b.engine.Order().Effective(s, b.engine.Now())))
	out.QueueScore = b.toPlace(s, nil).QueueScore
	if len(steps) == 1 && !t.State.Terminal() {
		out.Progress = s.Progress
	}
	if s.Queue == task.Timers {
		out.NextRetryAt = task.Instant(s.Key).Ptr()
	}
	return out, nil
}
