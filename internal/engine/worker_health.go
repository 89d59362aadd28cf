package engine

import "github.com/taskerhq/tasker/internal/model/task"

// HealthFacts returns this process's view of a worker, without Depth: the attempts that ended here in the last five
// minutes.
func (e *Engine) HealthFacts(w *task.Worker) task.HealthFacts {
	row, all, bad := e.meter.ends.Of(w.No, e.instant())
	return task.HealthFacts{LastHeartbeat: w.LastHeartbeat, Failures: row, Ended: all, Failed: bad}
}

// HealthOf returns a worker's health in this process, without Depth, and the reasons.
func (e *Engine) HealthOf(w *task.Worker) (task.WorkerHealth, []string) {
	return e.cfg.HealthRule().Health(e.HealthFacts(w), e.instant())
}
