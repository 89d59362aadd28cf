package kernel

import "github.com/taskerhq/tasker/internal/model/task"

// HealthFacts returns this process's view of a worker, without Depth: the attempts that ended here in the last five
// minutes.
func (e *Kernel) HealthFacts(w *task.Worker) task.HealthFacts {
	row, all, bad := e.Meter.ends.Of(w.No, e.Now())
	return task.HealthFacts{LastHeartbeat: w.LastHeartbeat, Failures: row, Ended: all, Failed: bad}
}

// HealthOf returns a worker's health in this process, without Depth, and the reasons.
func (e *Kernel) HealthOf(w *task.Worker) (task.WorkerHealth, []string) {
	return e.Cfg.HealthRule().Health(e.HealthFacts(w), e.Now())
}
