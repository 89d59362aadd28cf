package engine

import "github.com/taskerhq/tasker/internal/task"

// diagnosis is the pattern of the last failure of those steps of a task that keep
// it from going on, and whether trying again may help. A task that stood still
// without one has no pattern; then it was not its work that failed.
func (c *camera) diagnosis(o *opening) (pattern string, retryable bool) {
	failures := c.failures(c.evidence[o.task.ID])
	var last *task.Attempt
	for _, s := range c.u.whole[o.task.ID] {
		if s.State != task.StepErrored && s.State != task.StepWaitingForRetry {
			continue
		}
		failed := failures[s.ID]
		if a := c.ending[s.ID]; a != nil {
			failed = a
		}
		if failed != nil && (last == nil || failed.FinishedAt >= last.FinishedAt) {
			last = failed
		}
	}
	if last == nil {
		return "", o.reason == task.ReasonStaleness
	}
	return last.Failure.Pattern(), last.Failure.Retryable && task.ClassOf(last.Failure) != task.Logic
}
