package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Cordon takes a worker out of service for new steps, whatever its state, and stores the act: it keeps the steps that
// it holds, and gets no more, by poll or by dispatch, until Uncordon. Unlike a drain, the worker is not told to end,
// and its own calls do not end the cordon: it survives heartbeats, probes, a drain and the death of the worker.
//
// It returns the worker. A worker that is cordoned already stays as it is, without an act. Invalid: actor or reason
// breaks a rule. NotFound: the worker is unknown.
func (e *Engine) Cordon(ctx context.Context, id task.ID, by WorkerAct) (*task.Worker, error) {
	if err := by.complete(ctx, "/cordoned_by"); err != nil {
		return nil, err
	}
	w, err := e.ReachedWorker(ctx, id)
	if err != nil {
		return nil, err
	}
	return e.changeBy(ctx, w, task.ActCordonWorker, by, func(w *task.Worker, now task.Instant) error {
		w.Cordon(now, by.Actor, by.Reason)
		return nil
	})
}

// Uncordon reverts a cordon, and stores the act. It returns the worker. For a worker that is not cordoned it changes
// nothing. The errors are those of Cordon.
func (e *Engine) Uncordon(ctx context.Context, id task.ID, by WorkerAct) (*task.Worker, error) {
	if err := by.complete(ctx, "/uncordoned_by"); err != nil {
		return nil, err
	}
	w, err := e.ReachedWorker(ctx, id)
	if err != nil {
		return nil, err
	}
	return e.changeBy(ctx, w, task.ActUncordonWorker, by, func(w *task.Worker, _ task.Instant) error {
		w.Uncordon()
		return nil
	})
}

// standing describes what a change by an operator changes of a worker, for its act: the state, whose drain it is, or
// whether it is cordoned.
func standing(before, after *task.Worker) (from, to string, changed bool) {
	if before.State == after.State && before.DrainedBy != after.DrainedBy {
		return string(before.State), string(after.State), true
	}
	if before.State != after.State || before.Cordoned() == after.Cordoned() {
		return string(before.State), string(after.State), before.State != after.State
	}
	const cordoned = "cordoned"
	if after.Cordoned() {
		return string(before.State), cordoned, true
	}
	return cordoned, string(after.State), true
}
