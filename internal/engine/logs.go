package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

func logsFeature() feature {
	return feature{
		name:   "logs",
		stages: []stage{{rankLogs, "logs", []string{"attempt_logs"}, func(u *unit) error { return u.records.saveLogs() }}},
	}
}

// log records the end of what an attempt has logged, with the result that ends it. An operator may have switched
// logs off, and a worker may not know that.
func (nr *newRecords) log(w Work, r *Result) {
	limit := nr.u.e.cfg.Limits.LogBytes
	if limit <= 0 {
		return
	}
	if !w.Task.Meta.Logged {
		w.Task.Meta.Logged = true
		nr.u.rows.changedTask(w.Task)
	}
	nr.logs = append(nr.logs, task.AttemptLog{Step: w.Step.ID, Task: w.Task.ID, Token: w.Step.Token,
		Attempt: w.Step.Attempts, At: nr.u.now, Bytes: max(r.LogBytes, int64(len(r.Log))), Text: task.LogTail(r.Log, limit)})
}

// saveLogs stores the logs of a unit.
func (nr *newRecords) saveLogs() error {
	for i := range nr.logs {
		if err := nr.u.e.logStore.AddLog(nr.u.ctx, nr.u.tx, &nr.logs[i], task.LogsPerStep); err != nil {
			return err
		}
	}
	return nil
}

// Logs returns the logs of the last attempts of a step, the last one first. NotFound: there is no such step, or the key
// does not reach it.
func (e *Engine) Logs(ctx context.Context, taskID, stepID task.ID) ([]task.AttemptLog, error) {
	t, steps, err := e.Steps(ctx, taskID)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		switch {
		case s.ID != stepID:
		case !t.Meta.Logged:
			return nil, nil
		default:
			return e.logStore.Logs(ctx, stepID)
		}
	}
	return nil, task.Errorf(task.NotFound, "the task %s has no step %s", taskID, stepID)
}
