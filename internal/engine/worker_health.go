package engine

import "github.com/taskerhq/tasker/internal/model/task"

// HealthFacts returns what this process knows of a worker's recent work, but for Depth: the attempts that ended here in
// the last five minutes. Other processes have seen others.
func (e *Engine) HealthFacts(w *task.Worker) task.HealthFacts {
	row, all, bad := e.meter.ends.Of(w.No, e.instant())
	return task.HealthFacts{LastHeartbeat: w.LastHeartbeat, Failures: row, Ended: all, Failed: bad}
}

// HealthOf returns the health of a worker as this process sees it, without Depth, and the reasons in words.
func (e *Engine) HealthOf(w *task.Worker) (task.WorkerHealth, []string) {
	return e.cfg.HealthRule().Health(e.HealthFacts(w), e.instant())
}
