package engine

import (
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// opening is a case that is about to be opened.
type opening struct {
	task      *task.Task
	state     task.State   // before what opens the case
	since     task.Instant // since when the task was in it
	reason    task.CaseReason
	detail    string        // one sentence: what was seen
	threshold time.Duration // for staleness_timeout
	metadata  []byte

	opened *task.Case // nil: the task has a pending case already
}

// openCases opens cases, each with a snapshot of its task as it is now. What
// they need is asked for once for all. Tasks that have a pending case are passed
// over.
func (u *unit) openCases(list []*opening) error {
	var fresh []*opening
	for _, o := range list {
		if o.task.Meta.Case != task.HasPending {
			fresh = append(fresh, o)
			o.task.Meta.Case = task.HasPending
			u.dirtyTasks[o.task] = struct{}{}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	camera, err := u.newCamera(fresh)
	if err != nil {
		return err
	}
	for _, o := range fresh {
		c := task.NewCase(u.e.store.IDs().Take(u.now.Time(), 1), o.task, o.state, o.reason, u.now)
		c.Metadata = o.metadata
		c.Error, c.Retryable = camera.diagnosis(o)
		if c.Snapshot, err = camera.snapshot(o); err != nil {
			return err
		}
		o.opened = c
		u.newCases = append(u.newCases, c)
		u.sawOpened(o.task, c)
	}
	return nil
}

// exhausted notes that a task is in error because steps of it failed for good.
func (u *unit) exhausted(t *task.Task, was task.State, since task.Instant) {
	if u.e.cfg.Cases.Enabled == On {
		u.openings = append(u.openings, &opening{task: t, state: was, since: since, reason: task.ReasonMaxRetries,
			detail: "a step has failed for good: it has no attempts left, or its failure was final"})
	}
}

// flushCases opens the cases that became due in this transaction, and notes in
// others that their tasks have recovered.
func (u *unit) flushCases() error {
	if err := u.openCases(u.openings); err != nil {
		return err
	}
	return u.noteRecoveries()
}

func (u *unit) saveCases() error {
	if len(u.newCases) > 0 {
		if err := u.tx.AddCases(u.newCases); err != nil {
			return err
		}
	}
	if len(u.changedCases) > 0 {
		return u.tx.SaveCases(u.changedCases)
	}
	return nil
}
