package acts

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/cases"
	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A bulk verb acts on all cases that match a filter, or on the failed steps of their tasks, newest first, in several
// transactions. A refused item does not stop the others.

const (
	// bulkCases and bulkSteps bound one transaction.
	bulkCases = 100
	bulkSteps = 2000
	// bulkItems bounds one request; its cursor is where the next one continues.
	bulkItems = 10_000
)

// Bulk is the selection and the options of a bulk verb.
type Bulk struct {
	// Filter selects cases. Limit is of the whole request; Below continues an earlier one.
	Filter kernel.CaseFilter
	DryRun bool // report the effects only
}

// BulkItem is the effect on a case, or on a step of its task.
type BulkItem struct {
	Case, Task task.ID
	Step       task.ID // zero for a verb on cases, or without a step
	StepName   string
	From, To   string // in a dry run, To is the state that would result
	Err        error  // *task.Error: refused and unchanged
}

// BulkResult is the effect of a bulk verb.
type BulkResult struct {
	Items []BulkItem
	// Next continues the request as CaseFilter.Below; zero at the end.
	Next task.ID
	// Err is why the verb stopped early: items after Next are unprocessed.
	Err error
}

// UpdateCases makes the same change to many cases. An invalid change is an error; a refused case has its error in its
// item.
func (e *Room) UpdateCases(ctx context.Context, b Bulk, ch task.CaseChange) (*BulkResult, error) {
	if err := cases.Of(e.Kernel).AdmitChange(ctx, &ch); err != nil {
		return nil, err
	}
	return e.bulk(ctx, "update_cases", b, func(u *kernel.Unit, cases []*task.Case) ([]BulkItem, error) {
		return updateCases(u, cases, ch)
	})
}

// OperateOnCases acts on the failed steps of the cases' tasks; with a name, on that step in any state. A refused step
// has its error in its item.
func (e *Room) OperateOnCases(ctx context.Context, b Bulk, step string, act kernel.StepAct) (*BulkResult, error) {
	if problems := e.checkAct(&act); len(problems) > 0 {
		return nil, check.Refusal("no step was changed", problems)
	}
	return e.bulk(ctx, "operate", b, func(u *kernel.Unit, cases []*task.Case) ([]BulkItem, error) {
		return operateOnCases(u, cases, step, act)
	})
}

// some may be called again for the same cases, in a repeated transaction.
type some func(u *kernel.Unit, cases []*task.Case) ([]BulkItem, error)

// bulk returns an error before the first portion; a later one is in the result, because earlier portions are
// committed.
func (e *Room) bulk(ctx context.Context, verb string, b Bulk, fn some) (*BulkResult, error) {
	if n := len(b.Filter.IDs); n > 0 {
		b.Filter.Limit = n
	}
	if err := check.Page(b.Filter.Limit, b.Filter.Offset, e.Cfg.Limits.PageItems); err != nil {
		return nil, err
	}
	b.Filter.Bytes = -1
	list, err := cases.Of(e.Kernel).CaseReader.ListCases(ctx, b.Filter)
	if err != nil {
		return nil, err
	}
	full := len(list) == b.Filter.Limit && len(b.Filter.IDs) == 0
	sizes, err := e.sizesOf(ctx, list)
	if err != nil {
		return nil, err
	}
	out, done := &BulkResult{Items: notAmong(b.Filter.IDs, list)}, 0
	for done < len(list) && len(out.Items) < bulkItems {
		next := list[done : done+portion(list[done:], sizes)]
		items, err := e.bulkOnce(ctx, verb, b.DryRun, next, fn)
		if err != nil && done == 0 {
			return nil, err
		}
		if err != nil {
			out.Err = err
			break
		}
		out.Items = append(out.Items, items...)
		done += len(next)
	}
	if done > 0 && (done < len(list) || full) {
		out.Next = list[done-1].ID
	}
	return out, nil
}

func notAmong(ids []task.ID, list []*task.Case) []BulkItem {
	found := make(map[task.ID]bool, len(list))
	for _, c := range list {
		found[c.ID] = true
	}
	var items []BulkItem
	for _, id := range ids {
		if !found[id] {
			found[id] = true
			items = append(items, BulkItem{Case: id, Err: cases.NoCase(id)})
		}
	}
	return items
}

func (e *Room) sizesOf(ctx context.Context, cases []*task.Case) (map[task.ID]int, error) {
	ids := make([]task.ID, len(cases))
	for i, c := range cases {
		ids[i] = c.TaskID
	}
	tasks, err := e.Store.FindTasks(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look at the tasks of cases: %w", err)
	}
	sizes := make(map[task.ID]int, len(tasks))
	for _, t := range tasks {
		sizes[t.ID] = t.Counts.Total()
	}
	return sizes, nil
}

// portion is at least one. It bounds steps because all of them are loaded.
func portion(cases []*task.Case, sizes map[task.ID]int) int {
	steps, n := 0, 0
	for _, c := range cases[:min(len(cases), bulkCases)] {
		if steps += sizes[c.TaskID]; n > 0 && steps > bulkSteps {
			break
		}
		n++
	}
	return n
}

// bulkOnce never flushes the unit of a dry run.
func (e *Room) bulkOnce(ctx context.Context, verb string, dry bool, cases []*task.Case, fn some,
) (items []BulkItem, err error) {
	if dry {
		err = e.Transact(ctx, func(ctx context.Context, tx kernel.Tx) error {
			items, err = fn(kernel.NewUnit(ctx, e.Kernel, tx), cases)
			return err
		})
		return items, err
	}
	err = e.Write(ctx, verb, func(u *kernel.Unit) error {
		items, err = fn(u, cases)
		return err
	})
	return items, err
}

// updateCases reads the cases again under their tasks' locks.
func updateCases(u *kernel.Unit, list []*task.Case, ch task.CaseChange) ([]BulkItem, error) {
	ids := make([]task.ID, len(list))
	for i, c := range list {
		ids[i] = c.TaskID
	}
	if err := u.Rows.TakeTasks(ids); err != nil {
		return nil, err
	}
	found, err := cases.Of(u.E).CaseRows.CasesOf(u.Ctx, u.Tx, ids) // after the tasks are loaded; see CaseRows
	if err != nil {
		return nil, err
	}
	now := make(map[task.ID]*task.Case, len(found))
	for _, c := range found {
		now[c.ID] = c
	}
	items := make([]BulkItem, len(list))
	for i, seen := range list {
		items[i] = BulkItem{Case: seen.ID, Task: seen.TaskID, From: string(seen.Status)}
		t, c := u.Rows.Tasks[seen.TaskID], now[seen.ID]
		if t == nil || c == nil {
			items[i].Err = cases.NoCase(seen.ID)
			continue
		}
		items[i].From = string(c.Status)
		if err := refused(cases.CaseSlot.Of(u).Update(t, c, ch), &items[i]); err != nil {
			return nil, err
		}
		if items[i].Err == nil {
			items[i].To = string(c.Status)
		}
	}
	return items, nil
}

// operateOnCases acts once per task, even if several of its cases are listed.
func operateOnCases(u *kernel.Unit, list []*task.Case, step string, act kernel.StepAct) ([]BulkItem, error) {
	ids := make([]task.ID, len(list))
	for i, c := range list {
		ids[i] = c.TaskID
	}
	if err := u.Rows.GatherTasks(ids); err != nil {
		return nil, err
	}
	var items []BulkItem
	seen := make(map[task.ID]bool, len(list))
	for _, c := range list {
		if seen[c.TaskID] {
			continue
		}
		seen[c.TaskID] = true
		of, err := operateOnTask(u, c, step, act)
		if err != nil {
			return nil, err
		}
		items = append(items, of...)
	}
	return items, nil
}

func operateOnTask(u *kernel.Unit, c *task.Case, step string, act kernel.StepAct) ([]BulkItem, error) {
	about := BulkItem{Case: c.ID, Task: c.TaskID}
	t := u.Rows.Tasks[c.TaskID]
	if t == nil {
		about.Err = kernel.NoTask(c.TaskID)
		return []BulkItem{about}, nil
	}
	def, err := u.Rows.Template(t.DefID)
	if err != nil {
		return nil, err
	}
	var works []kernel.Work
	for _, s := range u.Rows.Families[t.ID] {
		if name := def.Steps[s.Ordinal-1].Name; name == step || step == "" && s.State == task.StepErrored {
			works = append(works, kernel.Work{Step: s, Task: t})
		}
	}
	if len(works) == 0 {
		about.Err = noSteps(t, step)
		return []BulkItem{about}, nil
	}
	items := make([]BulkItem, len(works))
	for i, w := range works {
		items[i] = about
		items[i].Step, items[i].StepName, items[i].From = w.Step.ID, def.Steps[w.Step.Ordinal-1].Name, string(w.Step.State)
		if err := refused(operateOpen(u, w, act), &items[i]); err != nil {
			return nil, err
		}
		if items[i].Err == nil {
			items[i].To = string(w.Step.State)
		}
	}
	return items, nil
}

func noSteps(t *task.Task, step string) error {
	if step != "" {
		return task.Errorf(task.NotFound, "the task %s has no step named %q", t.ID, step)
	}
	return task.Errorf(task.WrongState, "the task %s is %s, and no step of it has failed", t.ID, t.State)
}

// refused returns errors of the store, which concern all items.
func refused(err error, item *BulkItem) error {
	var e *task.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case task.WrongState, task.Conflict, task.NotFound, task.TooLarge, task.Invalid:
		item.Err = e
		return nil
	}
	return err
}
