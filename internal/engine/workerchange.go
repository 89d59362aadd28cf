package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/task"
)

// workerChange is one change of a worker's row. apply gets the row as it is now,
// and may be called more than once; its error leaves the row and is the caller's.
type workerChange struct {
	worker *task.Worker
	apply  func(w *task.Worker, now task.Instant) error
}

// changedWorker is how a row was left.
type changedWorker struct {
	worker, before *task.Worker
	err            error
}

// change changes a worker's row together with those of other callers, in one
// transaction, and returns the row as it then is.
func (e *Engine) change(ctx context.Context, w *task.Worker, apply func(*task.Worker, task.Instant) error) (*task.Worker, error) {
	done, err := e.workerChanges.Do(ctx, workerChange{w, apply})
	if err != nil {
		return nil, err
	}
	return done.worker, done.err
}

// runChanges changes the rows of many workers in one transaction, and lets those
// know who wait for them.
func (e *Engine) runChanges(calls []workerChange) ([]changedWorker, error) {
	now := e.instant()
	out := make([]changedWorker, len(calls))
	order := make([]int, len(calls))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { // so that two transactions never lock crosswise
		return cmp.Compare(calls[a].worker.No, calls[b].worker.No)
	})
	err := e.store.Write(context.Background(), func(tx Tx) error {
		for _, i := range order {
			var err error
			if out[i], err = changeRow(tx, calls[i], now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var news News
	for _, i := range order {
		switch c := out[i]; {
		case c.worker == nil:
			e.workers.drop(map[int64]struct{}{calls[i].worker.No: {}})
		case c.err == nil:
			e.changed(c.worker, now)
			if c.worker.State != c.before.State {
				news.Workers = append(news.Workers, c.worker.No)
			}
		}
	}
	if len(news.Workers) > 0 {
		e.announce(news)
	}
	return out, nil
}

func changeRow(tx Tx, c workerChange, now task.Instant) (changedWorker, error) {
	w, err := tx.Worker(c.worker.No)
	if err != nil {
		return changedWorker{}, err
	}
	if w == nil {
		return changedWorker{err: noWorker(c.worker.ID)}, nil // it was forgotten meanwhile
	}
	before := *w
	if err := c.apply(w, now); err != nil {
		return changedWorker{worker: w, before: &before, err: err}, nil
	}
	return changedWorker{worker: w, before: &before}, tx.SaveWorker(w)
}

// changed takes a worker's row into the cache, ends the polls of one that is to
// leave, and lets those of one that gets nothing for a while, or something again,
// see to it.
func (e *Engine) changed(w *task.Worker, now task.Instant) {
	before := e.workers.put(w, now)
	e.breakers.note(w, now)
	switch {
	case w.State.Leaving():
		e.hub.dismiss(w.No)
	case before == nil || before.State != w.State || before.BrokenAt != w.BrokenAt:
		e.hub.stir(w.No)
	}
}
