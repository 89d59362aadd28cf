package engine

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/model/task"
)

// WorkerAct is the actor and the reason of a change of a worker. Without an actor, the holder of the request's key or
// Anonymous is stored; without a reason, NoReason.
type WorkerAct struct {
	Actor  string
	Reason string
}

// complete checks a WorkerAct, and fills in its defaults.
func (a *WorkerAct) complete(ctx context.Context, field string) error {
	problems := check.Renamed(CheckActor(a.Actor, a.Reason), "/actor", field)
	if len(problems) > 0 {
		return check.Refusal("the worker was not changed", problems)
	}
	a.Actor, a.Reason = ActorOf(ctx, a.Actor), cmp.Or(a.Reason, NoReason)
	return nil
}

// Drain stops handing steps to a worker, and stores the act. With final the worker has left:
// its remaining steps are given back, with no attempt charged, and Drain returns their number.
// No act is stored for a worker that drains or has left already, nor for a final drain without
// an actor, which is the worker's own departure. Invalid: actor or reason breaks a rule.
// NotFound: the worker is unknown. A second drain changes nothing. The drain outlives heartbeats and the death of the
// worker, until ResumeWorker; one that the worker itself reports with a heartbeat ends with the first that does not.
func (e *Engine) Drain(ctx context.Context, id task.ID, final bool, by WorkerAct) (int, error) {
	goodbye := final && by.Actor == ""
	if err := by.complete(ctx, "/drained_by"); err != nil {
		return 0, err
	}
	w, err := e.ReachedWorker(ctx, id)
	if err != nil {
		return 0, err
	}
	apply := func(w *task.Worker, now task.Instant) error {
		if final {
			w.State, w.Load = task.WorkerDead, 0
		} else {
			w.Drain(now, by.Actor, by.Reason)
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

// ResumeWorker reverts a drain and returns the worker. One that drains on its own initiative requests it again with its
// next heartbeat. One that was drained and has left stays dead, and is active with its next sign of life. WrongState
// for another dead worker.
func (e *Engine) ResumeWorker(ctx context.Context, id task.ID, by WorkerAct) (*task.Worker, error) {
	if err := by.complete(ctx, "/resumed_by"); err != nil {
		return nil, err
	}
	w, err := e.ReachedWorker(ctx, id)
	if err != nil {
		return nil, err
	}
	return e.changeBy(ctx, w, task.ActResumeWorker, by, func(w *task.Worker, _ task.Instant) error {
		if !w.Resume() {
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
	SignAct(&act, KeyOf(ctx))
	return e.changeRow(ctx, workerChange{worker: w, apply: apply, act: &act})
}
