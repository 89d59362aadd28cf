package engine

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker/internal/task"
)

// WorkerAct says who changes a worker, and why. Without an actor it is the holder of
// the request's key, or Anonymous; without a reason, NoReason is stored.
type WorkerAct struct {
	Actor  string
	Reason string
}

// complete checks a WorkerAct, and fills in what it leaves open.
func (a *WorkerAct) complete(ctx context.Context, field string) error {
	problems := renamed(checkActor(a.Actor, a.Reason), "/actor", field)
	if len(problems) > 0 {
		return refusal("the worker was not changed", problems)
	}
	a.Actor, a.Reason = actorOf(ctx, a.Actor), cmp.Or(a.Reason, NoReason)
	return nil
}

// Drain ends a worker's intake, and stores the act. With final the worker has gone: what
// it still holds is given back, no attempt charged. It returns how many steps that were.
// What drains or has gone already is left as it is, without an act; so is a final drain
// without an actor, which is the worker's own good-bye.
func (e *Engine) Drain(ctx context.Context, id task.ID, final bool, by WorkerAct) (int, error) {
	goodbye := final && by.Actor == ""
	if err := by.complete(ctx, "/drained_by"); err != nil {
		return 0, err
	}
	w, err := e.Worker(ctx, id)
	if err != nil {
		return 0, err
	}
	apply := func(w *task.Worker, _ task.Instant) error {
		switch {
		case final:
			w.State, w.Load = task.WorkerDead, 0
		case w.State != task.WorkerDead: // what has gone takes nothing anyway
			w.State = task.WorkerDraining
		}
		return nil
	}
	if goodbye {
		_, err = e.change(ctx, w, apply)
	} else {
		_, err = e.changeBy(ctx, w, task.ActDrainWorker, by, apply)
	}
	if err != nil || !final {
		return 0, err
	}
	return e.release(ctx, w.No)
}

// ResumeWorker takes a drain back, for a worker that has not said good-bye yet, and
// returns the worker. One that drains by its own will says so again with its next
// heartbeat. WrongState for a dead worker: it is active again with its next sign of
// life, or never.
func (e *Engine) ResumeWorker(ctx context.Context, id task.ID, by WorkerAct) (*task.Worker, error) {
	if err := by.complete(ctx, "/resumed_by"); err != nil {
		return nil, err
	}
	w, err := e.Worker(ctx, id)
	if err != nil {
		return nil, err
	}
	return e.changeBy(ctx, w, task.ActResumeWorker, by, func(w *task.Worker, _ task.Instant) error {
		switch w.State {
		case task.WorkerDraining:
			w.State = task.WorkerActive
		case task.WorkerDead:
			return task.Errorf(task.WrongState, "the worker %s is dead; there is nothing to resume", id)
		}
		return nil
	})
}

// changeBy is change, with an act in the same transaction where the state changes.
func (e *Engine) changeBy(ctx context.Context, w *task.Worker, kind string, by WorkerAct,
	apply func(*task.Worker, task.Instant) error,
) (*task.Worker, error) {
	act := task.Act{WorkerID: w.ID, Kind: kind, Actor: by.Actor, Reason: by.Reason}
	signAct(&act, keyOf(ctx))
	return e.changeRow(ctx, workerChange{worker: w, apply: apply, act: &act})
}
