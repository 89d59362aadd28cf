package cases

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// QueuedCase is a pending case in the order of urgency.
type QueuedCase struct {
	Case  *task.Case // without its snapshot
	Task  *task.Task
	Open  time.Duration
	Score float64 // base of the reason, plus minutes since it was opened
	// Recovered: the task continues or is complete, and its case is to be resolved.
	Recovered bool
}

// InvestigationQueue returns pending cases, sorted by the store, the most urgent first. Invalid: a limit or offset
// out of bounds.
func (e *Room) InvestigationQueue(ctx context.Context, f kernel.CaseFilter) ([]QueuedCase, error) {
	if err := check.Page(f.Limit, f.Offset, e.Cfg.Limits.PageItems); err != nil {
		return nil, err
	}
	if f.Status != "" && f.Status != task.CasePending {
		return nil, nil // resolved cases are not queued
	}
	f.Bytes = -1
	bases := e.Cfg.Cases.PriorityBases
	cases, err := e.CaseReader.UrgentCases(ctx, f, bases)
	if err != nil {
		return nil, err
	}
	// Score and order agree: both grow with the age, and use the same bases.
	now := e.Now()
	queue := make([]QueuedCase, len(cases))
	for i, c := range cases {
		open := now.Sub(c.OpenedAt)
		queue[i] = QueuedCase{Case: c, Open: open, Score: float64(bases.Of(c.Reason)) + open.Minutes()}
	}
	return e.withTasks(ctx, queue)
}

func (e *Room) withTasks(ctx context.Context, queue []QueuedCase) ([]QueuedCase, error) {
	ids := make([]task.ID, len(queue))
	for i, q := range queue {
		ids[i] = q.Case.TaskID
	}
	tasks, err := e.Store.FindTasks(ctx, ids)
	if err != nil {
		return nil, err
	}
	of := make(map[task.ID]*task.Task, len(tasks))
	for _, t := range tasks {
		of[t.ID] = t
	}
	out := queue[:0]
	for _, q := range queue {
		if q.Task = of[q.Case.TaskID]; q.Task == nil {
			continue
		}
		q.Recovered = q.Case.Recovery != nil && q.Task.State != task.Errored
		out = append(out, q)
	}
	return out, nil
}

// ReasonsByUrgency returns the reasons, the highest base first.
func (e *Room) ReasonsByUrgency() []task.CaseReason {
	bases := e.Cfg.Cases.PriorityBases
	reasons := slices.Clone(task.CaseReasons)
	slices.SortStableFunc(reasons, func(a, b task.CaseReason) int { return cmp.Compare(bases.Of(b), bases.Of(a)) })
	return reasons
}
