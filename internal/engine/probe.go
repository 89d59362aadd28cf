package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/task"
)

// ToProbe returns the workers that are to be asked how they are: those that said
// where, and that get work or would if they were well.
func (e *Engine) ToProbe(ctx context.Context) ([]*task.Worker, error) {
	if !e.cfg.WorkerProbes.Enabled {
		return nil, nil
	}
	now := e.instant()
	workers, err := e.store.Workers(ctx, now)
	if err != nil {
		return nil, err
	}
	var list []*task.Worker
	for _, w := range workers {
		if w.HealthURL != "" && (w.State == task.WorkerActive || w.State == task.WorkerUnhealthy) {
			list = append(list, w)
		}
	}
	return list, nil
}

// Probe is how a look at a worker's health ended.
type Probe struct {
	Worker *task.Worker
	Fault  string // "" is well; else what is wrong, for operators to read
}

// maxFault bounds what is kept of it.
const maxFault = 500

// Probed books a round of probes, and returns the workers whose state it changed,
// as they are now. Failures in a row make a worker unhealthy: it gets nothing more
// and keeps what it has. The first success makes it active again.
func (e *Engine) Probed(ctx context.Context, probes []Probe) ([]*task.Worker, error) {
	var changes []workerChange
	failed := 0
	for _, p := range probes {
		fault := failure.Cut(p.Fault, maxFault)
		if fault != "" {
			failed++
		}
		if like := *p.Worker; !like.Probed(fault, e.cfg.WorkerProbes.UnhealthyAfter) {
			continue // a worker that is well and stays so costs nothing
		}
		changes = append(changes, workerChange{worker: p.Worker, apply: func(w *task.Worker, _ task.Instant) error {
			w.Probed(fault, e.cfg.WorkerProbes.UnhealthyAfter)
			return nil
		}})
	}
	if e.observer != nil {
		e.observer.Probed(len(probes)-failed, failed)
	}
	if len(changes) == 0 {
		return nil, nil
	}
	done, err := e.runChanges(changes)
	if err != nil {
		return nil, err
	}
	e.observeWorkersFailed(done, task.WorkerUnhealthy, FailedProbe)
	var turned []*task.Worker
	for _, c := range done {
		if c.err == nil && c.worker.State != c.before.State {
			turned = append(turned, c.worker)
		}
	}
	return turned, nil
}
