package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Each of upkeep's verbs handles a bounded batch and returns its size; fewer than the limit means that nothing more
// is due.

// FireTimers begins steps whose time has come: retries, snoozes, run_at. NextDue receives the next time before the
// next tick. Several processes may run it, because Due skips locked rows. A *due.Error lists steps skipped here and
// in the two verbs below.
func (e *Engine) FireTimers(ctx context.Context, limit int) (int, error) {
	n, err := e.stepLoop("timers", task.Timers, e.due.timers, func(u *unit, works []Work) error {
		for _, w := range works {
			if err := (control{u}).due(w); err != nil {
				return err
			}
		}
		return nil
	}).run(ctx, limit)
	if n == limit || err != nil && !due.OnlyRows(err) {
		return n, err
	}
	now := e.instant()
	next, failed := e.queuePlaces.First(ctx, task.Timers, int64(now)+1) // it need not wait for the tick
	if failed != nil {
		return n, failed
	}
	if next != nil && task.Instant(next.Key) <= now.Add(e.cfg.UpkeepInterval) {
		e.waiters.publishDue(task.Instant(next.Key))
	}
	return n, err
}

// NextDue receives the earliest due time set here or found by FireTimers, so that a loop need not wait for its tick.
func (e *Engine) NextDue() <-chan task.Instant { return e.waiters.nextDue }

// ReapLeases ends expired leases:
//
//   - assigned, not started in time: returned uncharged;
//   - in progress beyond its time-out: failed, and retried if attempts remain;
//   - expired while no process received heartbeats: kept for another lease
//     period, so that an outage of the servers costs no attempt;
//   - without heartbeat for the length of the lease: returned uncharged
//     when lost early and without progress, else failed.
//
// Steps lost by one worker return one after another; see Recovery. ReapDispatched handles the dispatcher's leases.
func (e *Engine) ReapLeases(ctx context.Context, limit int) (int, error) {
	return e.stepLoop("reap", task.Leases, e.due.leases, (*unit).reapAll).run(ctx, limit)
}

// ExpireTasks puts tasks in error whose deadline has passed, with their steps that run, wait for a worker or wait for
// a time; see giveUp.
func (e *Engine) ExpireTasks(ctx context.Context, limit int) (int, error) {
	loop := &dueLoop[*task.Task]{e: e, verb: "expire", rows: e.due.deadlines, handle: expireAll,
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

// MarkDeadWorkers marks workers dead that missed their heartbeats, once this engine has run long enough to receive
// them. Leases expire as usual, but steps in a dead worker's queue, with long leases, return immediately. The
// transaction checks each worker again: a heartbeat may arrive.
func (e *Engine) MarkDeadWorkers(ctx context.Context) (int, error) {
	now := e.instant()
	if now < e.grace() {
		return 0, nil
	}
	workers, err := e.store.Workers(ctx, now.Add(-e.cfg.Leases.Lease()-undeliveredFor))
	if err != nil {
		return 0, err
	}
	dead := slices.DeleteFunc(slices.Clone(workers), func(w *task.Worker) bool { return w.State != task.WorkerDead })
	silent := func(w *task.Worker) bool {
		return w.LastHeartbeat.Add(e.cfg.Leases.Lease()+e.stepped(w.LastHeartbeat.Time())) <= now
	}
	workers = slices.DeleteFunc(workers, func(w *task.Worker) bool { return w.State == task.WorkerDead || !silent(w) })
	bury := func(w *task.Worker, _ task.Instant) error {
		if silent(w) {
			w.State, w.Load = task.WorkerDead, 0
		}
		return nil
	}
	workers, err = e.due.workers.Read(now, len(workers), func(int) ([]*task.Worker, error) { return workers, nil })
	if err != nil {
		return 0, err
	}
	n := 0
	stepped := e.due.workers.Try(ctx, now, workers, func(_ context.Context, list []*task.Worker) error {
		for some := range slices.Chunk(list, callers) {
			changes := make([]workerChange, len(some))
			for i, w := range some {
				changes[i] = workerChange{worker: w, apply: bury}
			}
			done, err := e.runChanges(changes)
			if err != nil {
				return fmt.Errorf("bury workers: %w", err)
			}
			e.observeWorkersFailed(done, task.WorkerDead, FailedHeartbeat)
			n += len(some)
			dead = append(dead, some...)
		}
		return nil
	})
	if stepped != nil && !due.OnlyRows(stepped) {
		return n, stepped
	}
	return n, cmp.Or(e.returnUndelivered(ctx, dead), stepped)
}

// Retain deletes up to Retention.BatchItems old rows of each kind, and returns the largest number; less than a batch
// means the end. Each kind has its own transactions: a *due.Error lists failed ones.
func (e *Engine) Retain(ctx context.Context) (n int, err error) {
	r, now := e.cfg.Retention, e.instant()
	within := func(drop func(context.Context, Tx) (int, error)) func(context.Context) (int, error) {
		return func(ctx context.Context) (n int, err error) {
			err = e.transact(ctx, func(ctx context.Context, tx Tx) (err error) {
				n, err = drop(ctx, tx)
				return err
			})
			return n, err
		}
	}
	drops := map[string]func(context.Context) (int, error){
		"cases": e.retainCases,
		"finished tasks and idempotency keys": within(func(ctx context.Context, tx Tx) (n int, err error) {
			if r.Finished > 0 {
				n, err = tx.DeleteFinished(ctx, now.Add(-r.Finished), now.Add(-e.cfg.IdempotencyWindow), r.BatchItems)
				if err != nil {
					return 0, fmt.Errorf("delete finished tasks: %w", err)
				}
			}
			dropped, err := e.keyStore.DropKeys(ctx, tx, now, r.BatchItems)
			return max(n, dropped), err
		}),
		"unique keys": within(func(ctx context.Context, tx Tx) (int, error) {
			return e.uniqueStore.DropUnique(ctx, tx, now, r.BatchItems)
		}),
		"sessions": within(func(ctx context.Context, tx Tx) (int, error) {
			return e.sessionStore.DropSessions(ctx, tx, now, r.BatchItems)
		}),
		"signals": within(func(ctx context.Context, tx Tx) (int, error) {
			return e.signalStore.DropSignals(ctx, tx, now.Add(-signalSlack), r.BatchItems)
		}),
		"workers": within(func(ctx context.Context, tx Tx) (int, error) {
			return tx.ForgetWorkers(ctx, now.Add(-r.Workers), r.BatchItems)
		}),
	}
	// cases first: they keep tasks
	kinds, err := e.due.retention.Read(e.Now(), len(drops), func(int) ([]string, error) {
		return slices.Sorted(maps.Keys(drops)), nil
	})
	if err != nil {
		return 0, err
	}
	err = e.due.retention.Each(ctx, e.Now(), kinds, func(ctx context.Context, kind string) error {
		did, err := drops[kind](ctx)
		n = max(n, did)
		return err
	})
	return n, err
}
