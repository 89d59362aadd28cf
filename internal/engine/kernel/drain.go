package kernel

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/model/task"
)

// WorkerAct is the actor and the reason of a change of a worker. Defaults are the holder of the request's key or
// Anonymous, and NoReason.
type WorkerAct struct {
	Actor  string
	Reason string
}

// complete also fills in the defaults.
func (a *WorkerAct) complete(ctx context.Context, field string) error {
	problems := check.Renamed(CheckActor(a.Actor, a.Reason), "/actor", field)
	if len(problems) > 0 {
		return check.Refusal("the worker was not changed", problems)
	}
	a.Actor, a.Reason = ActorOf(ctx, a.Actor), cmp.Or(a.Reason, NoReason)
	return nil
}

// Drain stores an act that stops giving steps to a worker until ResumeWorker; it survives heartbeats and the worker's
// death. A drain reported by a heartbeat ends with the first heartbeat without it.
//
// With final the worker has left: Drain gives back its steps without a charge, and returns their number. No act is
// stored for a worker that drains or has left, nor for its own departure (final, without an actor). Invalid: actor or
// reason breaks a rule. NotFound: the worker is unknown.
func (e *Kernel) Drain(ctx context.Context, id task.ID, final bool, by WorkerAct) (int, error) {
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

// ResumeWorker reverts a drain. A worker that drains itself repeats that with its next heartbeat. A drained worker
// that has left is active again with its next sign of life. WrongState for another dead worker.
func (e *Kernel) ResumeWorker(ctx context.Context, id task.ID, by WorkerAct) (*task.Worker, error) {
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

func (e *Kernel) changeBy(ctx context.Context, w *task.Worker, kind string, by WorkerAct,
	apply func(*task.Worker, task.Instant) error,
) (*task.Worker, error) {
	act := task.Act{WorkerID: w.ID, Kind: kind, Actor: by.Actor, Reason: by.Reason}
	SignAct(&act, KeyOf(ctx))
	return e.changeRow(ctx, workerChange{worker: w, apply: apply, act: &act})
}
