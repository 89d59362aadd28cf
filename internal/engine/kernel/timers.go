package kernel

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Each of upkeep's verbs handles a bounded batch and returns its size; fewer than the limit means that nothing more
// is due.

// FireTimers begins steps whose time has come: retries, snoozes, run_at. NextDue receives the next time before the
// next tick. Several processes may run it, because Due skips locked rows. A *due.Error lists steps skipped here and
// in the two verbs below.
func (e *Kernel) FireTimers(ctx context.Context, limit int) (int, error) {
	n, err := e.stepLoop("timers", task.Timers, e.due.timers, func(u *Unit, works []Work) error {
		for _, w := range works {
			if err := (Control{u}).due(w); err != nil {
				return err
			}
		}
		return nil
	}).Run(ctx, limit)
	if n == limit || err != nil && !due.OnlyRows(err) {
		return n, err
	}
	now := e.Now()
	next, failed := e.Places.First(ctx, task.Timers, int64(now)+1) // it need not wait for the tick
	if failed != nil {
		return n, failed
	}
	if next != nil && task.Instant(next.Key) <= now.Add(e.Cfg.UpkeepInterval) {
		e.waiters.publishDue(task.Instant(next.Key))
	}
	return n, err
}

// NextDue receives the earliest due time set here or found by FireTimers, so that a loop need not wait for its tick.
func (e *Kernel) NextDue() <-chan task.Instant { return e.waiters.nextDue }

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
func (e *Kernel) ReapLeases(ctx context.Context, limit int) (int, error) {
	return e.stepLoop("reap", task.Leases, e.due.leases, (*Unit).reapAll).Run(ctx, limit)
}

// MarkDeadWorkers marks workers dead that missed their heartbeats, once this engine has run long enough to receive
// them. Leases expire as usual, but steps in a dead worker's queue, with long leases, return immediately. The
// transaction checks each worker again: a heartbeat may arrive.
func (e *Kernel) MarkDeadWorkers(ctx context.Context) (int, error) {
	now := e.Now()
	if now < e.Grace() {
		return 0, nil
	}
	workers, err := e.Store.Workers(ctx, now.Add(-e.Cfg.Leases.Lease()-undeliveredFor))
	if err != nil {
		return 0, err
	}
	dead := slices.DeleteFunc(slices.Clone(workers), func(w *task.Worker) bool { return w.State != task.WorkerDead })
	silent := func(w *task.Worker) bool {
		return w.LastHeartbeat.Add(e.Cfg.Leases.Lease()+e.Stepped(w.LastHeartbeat.Time())) <= now
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
		for some := range slices.Chunk(list, Callers) {
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
