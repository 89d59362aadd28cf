package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ToProbe returns the workers to probe: those with a health check that are neither dead nor draining; none if probes
// are off.
func (e *Kernel) ToProbe(ctx context.Context) ([]*task.Worker, error) {
	if !e.Cfg.WorkerProbes.Enabled {
		return nil, nil
	}
	now := e.Now()
	workers, err := e.Store.Workers(ctx, now)
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

// Probe is the result of a check of a worker's health.
type Probe struct {
	Worker *task.Worker
	Fault  string // "" if healthy
}

const maxFault = 500

// Probed records a round of probes, and returns the workers whose state it changed. An unhealthy worker, after
// failures in a row, gets no more steps and keeps the held ones. A success makes it active.
func (e *Kernel) Probed(ctx context.Context, probes []Probe) ([]*task.Worker, error) {
	var changes []workerChange
	failed := 0
	for _, p := range probes {
		fault := failure.Cut(p.Fault, maxFault)
		if fault != "" {
			failed++
		}
		// The copy shows whether the row would change.
		if like := *p.Worker; !like.Probed(fault, e.Cfg.WorkerProbes.UnhealthyAfter) {
			continue // a healthy worker costs nothing
		}
		changes = append(changes, workerChange{worker: p.Worker, apply: func(w *task.Worker, _ task.Instant) error {
			w.Probed(fault, e.Cfg.WorkerProbes.UnhealthyAfter)
			return nil
		}})
	}
	if e.Observer != nil {
		e.Observer.Probed(len(probes)-failed, failed)
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
