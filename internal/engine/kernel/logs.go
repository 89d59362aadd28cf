package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

func LogsFeature() Feature {
	return Feature{
		Name:   "logs",
		Stages: []Stage{{rankLogs, "logs", []string{"attempt_logs"}, logSlot.Save((*newLogs).save)}},
	}
}

// recordLog stores nothing if an operator has switched logs off, which a worker may not have noticed.
func recordLog(u *Unit, w Work, r *Result) {
	limit := u.E.Cfg.Limits.LogBytes
	if limit <= 0 {
		return
	}
	if !w.Task.Meta.Logged {
		w.Task.Meta.Logged = true
		u.Rows.ChangedTask(w.Task)
	}
	nl := logSlot.Of(u)
	nl.list = append(nl.list, task.AttemptLog{Step: w.Step.ID, Task: w.Task.ID, Token: w.Step.Token,
		Attempt: w.Step.Attempts, At: u.Now, Bytes: max(r.LogBytes, int64(len(r.Log))), Text: task.LogTail(r.Log, limit)})
}

type newLogs struct {
	u    *Unit
	list []task.AttemptLog
}

var logSlot = NewSlot(func(u *Unit) *newLogs { return &newLogs{u: u} })

func (nl *newLogs) save() error {
	for i := range nl.list {
		if err := nl.u.E.logStore.AddLog(nl.u.Ctx, nl.u.Tx, &nl.list[i], task.LogsPerStep); err != nil {
			return err
		}
	}
	return nil
}

// Logs returns the logs of the last attempts of a step, the last one first. NotFound: no such step, or out of the
// key's reach.
func (e *Kernel) Logs(ctx context.Context, taskID, stepID task.ID) ([]task.AttemptLog, error) {
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
