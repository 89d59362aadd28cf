package acts

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/cases"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ExpireTasks puts tasks in error whose deadline has passed, with their steps that run, wait for a worker or wait for
// a time; see giveUp.
func (e *Room) ExpireTasks(ctx context.Context, limit int) (int, error) {
	loop := &kernel.DueLoop[*task.Task]{E: e.Kernel, Verb: "expire", Rows: e.dueActs.deadlines, Handle: expireAll,
		Take: func(u *kernel.Unit, limit int) ([]*task.Task, error) { return u.Tx.Overdue(u.Ctx, u.Now, limit) },
		Find: func(ctx context.Context, limit int) ([]task.ID, error) {
			return e.Store.OverdueTasks(ctx, e.Now(), limit)
		},
		Lock: func(u *kernel.Unit, ids []task.ID) ([]*task.Task, error) {
			tasks, err := u.Tx.Tasks(u.Ctx, ids)
			return slices.DeleteFunc(tasks, func(t *task.Task) bool {
				return t == nil || t.DeadlineAt == 0 || t.DeadlineAt > u.Now
			}), err
		}}
	return loop.Run(ctx, limit)
}

// The rows of expireAll's tasks are locked, and not loaded yet.
func expireAll(u *kernel.Unit, tasks []*task.Task) (err error) {
	var running []kernel.Family
	for _, t := range tasks {
		if !t.State.Settled() {
			running = append(running, kernel.Family{Task: t.ID})
		}
	}
	if err := u.Rows.Gather(running); err != nil {
		return err
	}
	for i, t := range tasks {
		tasks[i] = u.Rows.InternTask(t)
	}
	if tasks, err = overdue(u, tasks); err != nil {
		return err
	}
	slices.SortFunc(tasks, func(a, b *task.Task) int { // equal deadlines come in any order
		return cmp.Or(cmp.Compare(a.DeadlineAt, b.DeadlineAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	if err := openExpired(cases.CaseSlot.Of(u), tasks); err != nil {
		return err
	}
	for _, t := range tasks {
		if err := expire(u, t); err != nil {
			return err
		}
	}
	return nil
}

// overdue restarts the max_duration of tasks at the ends of pauses and outages that held them back, as at the turn of
// an ordering key. It returns the other tasks.
func overdue(u *kernel.Unit, tasks []*task.Task) ([]*task.Task, error) {
	held := u.E.HeldEver()
	if held == nil {
		return tasks, nil
	}
	over := tasks[:0]
	for _, t := range tasks {
		if t.State.Settled() {
			over = append(over, t)
			continue
		}
		def, err := u.Rows.Template(t.DefID)
		if err != nil {
			return nil, err
		}
		steps, err := u.Rows.Siblings(kernel.Family{Task: t.ID})
		if err != nil {
			return nil, err
		}
		at := t.HeldDeadline(def.Lifecycle, steps, held, u.Now)
		if at == t.DeadlineAt {
			over = append(over, t)
			continue
		}
		t.DeadlineAt = at
		u.Rows.ChangedTask(t)
		if at <= u.Now {
			over = append(over, t)
		}
	}
	return over, nil
}

func openExpired(cc *cases.CaseChanges, tasks []*task.Task) error {
	var list []*cases.Opening
	for _, t := range tasks {
		if t.State.Settled() || !cases.Of(cc.U.E).OpensCase(t) {
			continue
		}
		def, err := cc.U.Rows.Template(t.DefID)
		if err != nil {
			return err
		}
		message, threshold, _ := exceeded(t, def.Lifecycle)
		list = append(list, &cases.Opening{Task: t, State: t.State, Since: t.StateAt, Reason: task.ReasonStaleness,
			Cause: task.CauseDeadline, Threshold: threshold, Detail: message})
	}
	return cc.Open(list)
}

func exceeded(t *task.Task, l task.Lifecycle) (message string, allowed time.Duration, cause string) {
	if t.SubmittersDeadline() {
		at := t.DeadlineAt.Time().Format(time.RFC3339)
		return "the task was not over at the deadline of its submission, " + at,
			t.DeadlineAt.Sub(max(t.CreatedAt, t.RunAt)), "deadline " + at + " passed"
	}
	return "the task ran longer than its max_duration_minutes", l.MaxDuration, "max_duration_minutes exceeded"
}

// expire clears the deadline of a task that has settled meanwhile.
func expire(u *kernel.Unit, t *task.Task) error {
	u.Rows.ChangedTask(t)
	if t.State.Settled() {
		t.DeadlineAt = 0
		return nil
	}
	message, _, cause := exceeded(t, task.Lifecycle{})
	f := &task.Failure{Type: "task_timeout", Code: task.CodeDeadline, Retryable: true, Class: failure.Resource,
		Message: message}
	if u.Observed.Commit != nil {
		u.Observed.Commit.Expired++
	}
	return kernel.GiveUp(u, t, f, cause)
}
