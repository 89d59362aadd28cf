package engine

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// workerChange is one change of a worker's row. apply receives the current row, and may be called more than once; when
// it returns an error, the row stays as it is and the caller gets the error.
// The worker only names the row: apply decides on the row as it is under the lock.
type workerChange struct {
	worker *task.Worker
	apply  func(w *task.Worker, now task.Instant) error
	act    *task.Act // stored if the state changes, or the cordon; may be nil
}

// changedWorker is a row after a change.
type changedWorker struct {
	worker, before *task.Worker
	version        int64 // see workerCache
	err            error
}

// change changes a worker's row together with those of other callers, in one transaction, and returns the changed row.
func (e *Engine) change(ctx context.Context, w *task.Worker,
	apply func(*task.Worker, task.Instant) error,
) (*task.Worker, error) {
	return e.changeRow(ctx, workerChange{worker: w, apply: apply})
}

// changeRow is change with an act. It blocks until the change is durable.
func (e *Engine) changeRow(ctx context.Context, c workerChange) (*task.Worker, error) {
	done, err := e.workerChanges.Do(ctx, c)
	if err != nil {
		return nil, err
	}
	return done.worker, done.err
}

// runChanges changes the rows of many workers in one transaction, and wakes the polls that wait for them.
// It runs outside of any caller's context, because it serves several callers.
func (e *Engine) runChanges(calls []workerChange) ([]changedWorker, error) {
	now := e.instant()
	out := make([]changedWorker, len(calls))
	nos := make([]int64, len(calls))
	for i, c := range calls {
		nos[i] = c.worker.No
	}
	slices.Sort(nos) // so that two transactions never deadlock
	nos = slices.Compact(nos)
	err := e.transact(context.Background(), func(ctx context.Context, tx Tx) error {
		return e.changeRows(ctx, tx, nos, calls, out, now)
	})
	if err != nil {
		return nil, err
	}
	var news PeerEvents
	for i := range out {
		switch c := out[i]; {
		case c.worker == nil:
			e.workers.drop(map[int64]struct{}{calls[i].worker.No: {}})
		case c.err == nil:
			e.changed(c.worker, now, c.version)
			if _, _, changed := standing(c.before, c.worker); changed {
				news.Workers = append(news.Workers, c.worker.No)
			}
		}
	}
	if len(news.Workers) > 0 {
		e.publish(news)
	}
	return out, nil
}

// changeRows changes the rows with the given numbers, several changes of one row in sequence, and stores the result of
// each change in out.
func (e *Engine) changeRows(ctx context.Context, tx Tx, nos []int64, calls []workerChange, out []changedWorker,
	now task.Instant,
) error {
	list, err := tx.Workers(ctx, nos)
	if err != nil {
		return err
	}
	// The order of versions is that of the locks, so the cache keeps the latest row whichever result arrives first.
	version := e.workers.nextVersion() // they are locked
	rows, saved := make(map[int64]*task.Worker, len(list)), make(map[int64]bool, len(list))
	for _, w := range list {
		rows[w.No] = w
	}
	var acts []task.Act
	for i, c := range calls {
		before := rows[c.worker.No]
		if before == nil { // it was removed meanwhile
			out[i] = changedWorker{err: noWorker(c.worker.ID)}
			continue
		}
		w := *before
		if err := c.apply(&w, now); err != nil {
			out[i] = changedWorker{worker: before, before: before, err: err}
			continue
		}
		out[i] = changedWorker{worker: &w, before: before, version: version}
		if from, to, changed := standing(before, &w); c.act != nil && changed {
			act := *c.act
			act.At, act.From, act.To = now, from, to
			acts = append(acts, act)
		}
		rows[w.No], saved[w.No] = &w, true
	}
	for _, no := range nos {
		if !saved[no] {
			continue
		}
		if err := tx.SaveWorker(ctx, rows[no]); err != nil {
			return err
		}
	}
	if len(acts) > 0 {
		return e.actStore.AddActs(ctx, tx, acts)
	}
	return nil
}

// changed caches a worker's changed row. It ends the polls of a worker that is leaving, and makes those of a worker
// whose steps were stopped or resumed check again. A row that was changed again since is left to that change.
// It runs after the commit, possibly later than that of a newer change.
func (e *Engine) changed(w *task.Worker, now task.Instant, version int64) {
	before, newest := e.workers.put(w, now, version)
	if !newest {
		return
	}
	e.breakers.note(w, now)
	switch {
	case w.State.Leaving():
		e.waiters.dismiss(w.No)
	case before == nil || before.State != w.State || before.BrokenAt != w.BrokenAt || before.Cordoned() != w.Cordoned():
		e.waiters.recheck(w.No)
	}
}
