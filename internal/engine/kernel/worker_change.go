package kernel

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// workerChange is one change of a worker's row. apply decides on the locked row, perhaps repeatedly; its error keeps
// the row and goes to the caller.
type workerChange struct {
	worker *task.Worker
	apply  func(w *task.Worker, now task.Instant) error
	act    *task.Act // stored if state or cordon changes; may be nil
}

type changedWorker struct {
	worker, before *task.Worker
	version        int64 // see workerCache
	err            error
}

// change changes a row together with other callers'.
func (e *Kernel) change(ctx context.Context, w *task.Worker,
	apply func(*task.Worker, task.Instant) error,
) (*task.Worker, error) {
	return e.changeRow(ctx, workerChange{worker: w, apply: apply})
}

func (e *Kernel) changeRow(ctx context.Context, c workerChange) (*task.Worker, error) {
	done, err := e.workerChanges.Do(ctx, c)
	if err != nil {
		return nil, err
	}
	return done.worker, done.err
}

// runChanges has no caller's context, because it serves several.
func (e *Kernel) runChanges(calls []workerChange) ([]changedWorker, error) {
	now := e.Now()
	out := make([]changedWorker, len(calls))
	nos := make([]int64, len(calls))
	for i, c := range calls {
		nos[i] = c.worker.No
	}
	slices.Sort(nos) // against deadlocks
	nos = slices.Compact(nos)
	err := e.Transact(context.Background(), func(ctx context.Context, tx Tx) error {
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
		e.Publish(news)
	}
	return out, nil
}

func (e *Kernel) changeRows(ctx context.Context, tx Tx, nos []int64, calls []workerChange, out []changedWorker,
	now task.Instant,
) error {
	list, err := tx.Workers(ctx, nos)
	if err != nil {
		return err
	}
	// Versions follow the locks, so the cache keeps the latest row in any order of arrival.
	version := e.workers.nextVersion()
	rows, saved := make(map[int64]*task.Worker, len(list)), make(map[int64]bool, len(list))
	for _, w := range list {
		rows[w.No] = w
	}
	var acts []task.Act
	for i, c := range calls {
		before := rows[c.worker.No]
		if before == nil { // removed meanwhile
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
		return e.ActStore.AddActs(ctx, tx, acts)
	}
	return nil
}

// changed caches a row, ends the polls of a leaving worker, and makes those of a stopped or resumed one check again.
// It may run after a newer change, which then wins.
func (e *Kernel) changed(w *task.Worker, now task.Instant, version int64) {
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
