package engine

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ExpireTasks puts tasks in error whose deadline has passed, with their steps that run, wait for a worker or wait for
// a time; see giveUp.
func (e *Engine) ExpireTasks(ctx context.Context, limit int) (int, error) {
	loop := &dueLoop[*task.Task]{e: e, verb: "expire", rows: e.dueActs.deadlines, handle: expireAll,
		take: func(u *unit, limit int) ([]*task.Task, error) { return u.tx.Overdue(u.ctx, u.now, limit) },
		find: func(ctx context.Context, limit int) ([]task.ID, error) {
			return e.store.OverdueTasks(ctx, e.instant(), limit)
		},
		lock: func(u *unit, ids []task.ID) ([]*task.Task, error) {
			tasks, err := u.tx.Tasks(u.ctx, ids)
			return slices.DeleteFunc(tasks, func(t *task.Task) bool {
				return t == nil || t.DeadlineAt == 0 || t.DeadlineAt > u.now
			}), err
		}}
	return loop.run(ctx, limit)
}

// The rows of expireAll's tasks are locked, and not loaded yet.
func expireAll(u *unit, tasks []*task.Task) (err error) {
	var running []Family
	for _, t := range tasks {
		if !t.State.Settled() {
			running = append(running, Family{Task: t.ID})
		}
	}
	if err := u.rows.gather(running); err != nil {
		return err
	}
	for i, t := range tasks {
		tasks[i] = u.rows.internTask(t)
	}
	if tasks, err = u.overdue(tasks); err != nil {
		return err
	}
	slices.SortFunc(tasks, func(a, b *task.Task) int { // equal deadlines come in any order
		return cmp.Or(cmp.Compare(a.DeadlineAt, b.DeadlineAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	if err := caseSlot.of(u).openExpired(tasks); err != nil {
		return err
	}
	for _, t := range tasks {
		if err := u.expire(t); err != nil {
			return err
		}
	}
	return nil
}

// overdue restarts the max_duration of tasks at the ends of pauses and outages that held them back, as at the turn of
// an ordering key. It returns the other tasks.
func (u *unit) overdue(tasks []*task.Task) ([]*task.Task, error) {
	held := u.e.heldEver()
	if held == nil {
		return tasks, nil
	}
	over := tasks[:0]
	for _, t := range tasks {
		if t.State.Settled() {
			over = append(over, t)
			continue
		}
		def, err := u.rows.template(t.DefID)
		if err != nil {
			return nil, err
		}
		steps, err := u.rows.siblings(Family{Task: t.ID})
		if err != nil {
			return nil, err
		}
		at := t.HeldDeadline(def.Lifecycle, steps, held, u.now)
		if at == t.DeadlineAt {
			over = append(over, t)
			continue
		}
		t.DeadlineAt = at
		u.rows.changedTask(t)
		if at <= u.now {
			over = append(over, t)
		}
	}
	return over, nil
}

func (cc *caseChanges) openExpired(tasks []*task.Task) error {
	var list []*opening
	for _, t := range tasks {
		if t.State.Settled() || !cc.u.e.opensCase(t) {
			continue
		}
		def, err := cc.u.rows.template(t.DefID)
		if err != nil {
			return err
		}
		message, threshold, _ := exceeded(t, def.Lifecycle)
		list = append(list, &opening{task: t, state: t.State, since: t.StateAt, reason: task.ReasonStaleness,
			cause: task.CauseDeadline, threshold: threshold, detail: message})
	}
	return cc.open(list)
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
func (u *unit) expire(t *task.Task) error {
	u.rows.changedTask(t)
	if t.State.Settled() {
		t.DeadlineAt = 0
		return nil
	}
	message, _, cause := exceeded(t, task.Lifecycle{})
	f := &task.Failure{Type: "task_timeout", Code: task.CodeDeadline, Retryable: true, Class: failure.Resource,
		Message: message}
	if u.observed.commit != nil {
		u.observed.commit.Expired++
	}
	return giveUp(u, t, f, cause)
}
