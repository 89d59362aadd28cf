package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Cordon stores an act that stops giving a worker steps until Uncordon, in any state. The worker keeps its steps and
// need not end; the cordon survives heartbeats, probes, a drain and the worker's death.
//
// A cordoned worker is returned unchanged, without an act. Invalid: actor or reason breaks a rule. NotFound: the
// worker is unknown.
func (e *Kernel) Cordon(ctx context.Context, id task.ID, by WorkerAct) (*task.Worker, error) {
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

// Uncordon reverts a cordon, and stores the act, like Cordon.
func (e *Kernel) Uncordon(ctx context.Context, id task.ID, by WorkerAct) (*task.Worker, error) {
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
