package engine

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/model/task"
)

// retainCases deletes a batch of old cases, and returns how many. A negative retention keeps cases forever. The list
// may be outdated: dropCases decides again.
func (e *Engine) retainCases(ctx context.Context) (int, error) {
	r := e.cfg.Retention
	if r.Cases < 0 {
		return 0, nil
	}
	before := e.instant().Add(-r.Cases)
	ids, err := e.due.cases.Read(e.Now(), r.BatchItems, func(limit int) (ids []task.ID, err error) {
		old, err := e.caseRetention.ResolvedCases(ctx, before, limit)
		for _, c := range old {
			ids = append(ids, c.TaskID)
		}
		return ids, err
	})
	if err != nil {
		return 0, fmt.Errorf("look for old cases: %w", err)
	}
	n := 0
	err = e.due.cases.Try(ctx, e.Now(), ids, func(ctx context.Context, some []task.ID) error {
		dropped := 0
		err := e.write(ctx, "retain_cases", func(u *unit) (err error) {
			dropped, err = dropCases(u, some, before)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete old cases: %w", err)
		}
		n += dropped
		return nil
	})
	return n, err
}

// A case may have been reopened before its task was loaded.
func dropCases(u *unit, of []task.ID, before task.Instant) (int, error) {
	if err := u.rows.takeTasks(of); err != nil {
		return 0, err
	}
	cases, err := u.e.caseRows.CasesOf(u.ctx, u.tx, of)
	if err != nil {
		return 0, err
	}
	left := map[task.ID]int{}
	var dropped []task.ID
	for _, c := range cases {
		if c.Status != task.CasePending && c.ResolvedAt < before {
			dropped = append(dropped, c.ID)
		} else {
			left[c.TaskID]++
		}
	}
	for _, id := range of {
		// The mark shows operators that there were cases, and lets the task be deleted later.
		if t := u.rows.tasks[id]; t != nil && left[id] == 0 && t.Meta.Case == task.HasClosed {
			t.Meta.Case = task.HadClosed
			u.rows.changedTask(t)
		}
	}
	return len(dropped), u.e.caseRetention.DeleteCases(u.ctx, u.tx, dropped)
}
