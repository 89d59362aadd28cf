package acts

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/cases"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/engine/submit"
	"github.com/taskerhq/tasker/internal/model/task"
)

type dueActs struct {
	deadlines *kernel.DueIDs
	cases     *kernel.DueIDs
	retention *due.Rows[string, string]
}

func newDueActs(e *kernel.Kernel) dueActs {
	return dueActs{deadlines: kernel.IDRows(e, "the deadline of task"), cases: kernel.IDRows(e, "the old cases of task"),
		retention: kernel.RowsOf(e, "the retention of", func(kind string) string { return kind })}
}

// retainCases deletes a batch of old cases, and returns how many. A negative retention keeps cases forever. The list
// may be outdated: dropCases decides again.
func (e *Room) retainCases(ctx context.Context) (int, error) {
	r := e.Cfg.Retention
	if r.Cases < 0 {
		return 0, nil
	}
	before := e.Now().Add(-r.Cases)
	ids, err := e.dueActs.cases.Read(e.Now(), r.BatchItems, func(limit int) (ids []task.ID, err error) {
		old, err := cases.Of(e.Kernel).CaseRetention.ResolvedCases(ctx, before, limit)
		for _, c := range old {
			ids = append(ids, c.TaskID)
		}
		return ids, err
	})
	if err != nil {
		return 0, fmt.Errorf("look for old cases: %w", err)
	}
	n := 0
	err = e.dueActs.cases.Try(ctx, e.Now(), ids, func(ctx context.Context, some []task.ID) error {
		dropped := 0
		err := e.Write(ctx, "retain_cases", func(u *kernel.Unit) (err error) {
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
func dropCases(u *kernel.Unit, of []task.ID, before task.Instant) (int, error) {
	if err := u.Rows.TakeTasks(of); err != nil {
		return 0, err
	}
	old, err := cases.Of(u.E).CaseRows.CasesOf(u.Ctx, u.Tx, of)
	if err != nil {
		return 0, err
	}
	left := map[task.ID]int{}
	var dropped []task.ID
	for _, c := range old {
		if c.Status != task.CasePending && c.ResolvedAt < before {
			dropped = append(dropped, c.ID)
		} else {
			left[c.TaskID]++
		}
	}
	for _, id := range of {
		// The mark shows operators that there were cases, and lets the task be deleted later.
		if t := u.Rows.Tasks[id]; t != nil && left[id] == 0 && t.Meta.Case == task.HasClosed {
			t.Meta.Case = task.HadClosed
			u.Rows.ChangedTask(t)
		}
	}
	return len(dropped), cases.Of(u.E).CaseRetention.DeleteCases(u.Ctx, u.Tx, dropped)
}

// Retain deletes up to Retention.BatchItems old rows of each kind, and returns the largest number; less than a batch
// means the end. Each kind has its own transactions: a *due.Error lists failed ones.
func (e *Room) Retain(ctx context.Context) (n int, err error) {
	r, now := e.Cfg.Retention, e.Now()
	within := func(drop func(context.Context, kernel.Tx) (int, error)) func(context.Context) (int, error) {
		return func(ctx context.Context) (n int, err error) {
			err = e.Transact(ctx, func(ctx context.Context, tx kernel.Tx) (err error) {
				n, err = drop(ctx, tx)
				return err
			})
			return n, err
		}
	}
	drops := map[string]func(context.Context) (int, error){
		"cases": e.retainCases,
		"finished tasks and idempotency keys": within(func(ctx context.Context, tx kernel.Tx) (n int, err error) {
			if r.Finished > 0 {
				n, err = tx.DeleteFinished(ctx, now.Add(-r.Finished), now.Add(-e.Cfg.IdempotencyWindow), r.BatchItems)
				if err != nil {
					return 0, fmt.Errorf("delete finished tasks: %w", err)
				}
			}
			dropped, err := submit.Of(e.Kernel).KeyStore.DropKeys(ctx, tx, now, r.BatchItems)
			return max(n, dropped), err
		}),
		"unique keys": within(func(ctx context.Context, tx kernel.Tx) (int, error) {
			return submit.Of(e.Kernel).UniqueStore.DropUnique(ctx, tx, now, r.BatchItems)
		}),
		"sessions": within(func(ctx context.Context, tx kernel.Tx) (int, error) {
			return e.SessionStore.DropSessions(ctx, tx, now, r.BatchItems)
		}),
		"signals": within(func(ctx context.Context, tx kernel.Tx) (int, error) {
			return e.SignalStore.DropSignals(ctx, tx, now.Add(-kernel.SignalSlack), r.BatchItems)
		}),
		"workers": within(func(ctx context.Context, tx kernel.Tx) (int, error) {
			return tx.ForgetWorkers(ctx, now.Add(-r.Workers), r.BatchItems)
		}),
	}
	// cases first: they keep tasks
	kinds, err := e.dueActs.retention.Read(e.Now(), len(drops), func(int) ([]string, error) {
		return slices.Sorted(maps.Keys(drops)), nil
	})
	if err != nil {
		return 0, err
	}
	err = e.dueActs.retention.Each(ctx, e.Now(), kinds, func(ctx context.Context, kind string) error {
		did, err := drops[kind](ctx)
		n = max(n, did)
		return err
	})
	return n, err
}
