package cases

import (
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// TakenFeature notes that a worker has taken a step of a task with a case.
func TakenFeature() kernel.Feature {
	return kernel.Feature{
		Name: "taken steps",
		Of:   kernel.PendingTask,
		Handed: func(u *kernel.Unit, w kernel.Work, def *task.Template) {
			recovered(u, w.Task, "worker "+u.WorkerName(w.Step.WorkerNo)+" took step "+def.Spec(w.Step).Name)
		},
	}
}

// recovered takes an empty how from the acts of the transaction.
func recovered(u *kernel.Unit, t *task.Task, how string) {
	if t.Meta.Case != task.HasPending {
		return
	}
	cc := CaseSlot.Of(u)
	if cc.recoveries == nil {
		cc.recoveries = map[*task.Task]string{}
	}
	cc.recoveries[t] = how
}

func recovers(t *task.Task, was task.State) bool {
	return was == task.Errored && t.State != task.Errored || t.State.Terminal()
}

func (cc *CaseChanges) noteRecoveries() error {
	var ids []task.ID
	of := map[task.ID]*task.Task{}
	for t := range cc.recoveries {
		if t.State == task.Errored || t.Meta.Case != task.HasPending {
			continue // failed again, or its case was resolved, in this transaction
		}
		ids = append(ids, t.ID)
		of[t.ID] = t
	}
	if len(ids) == 0 {
		return nil
	}
	cases, err := Of(cc.U.E).CaseRows.PendingCases(cc.U.Ctx, cc.U.Tx, ids)
	if err != nil {
		return err
	}
	for _, c := range cases {
		if err := cc.noteRecovery(of[c.TaskID], c); err != nil {
			return err
		}
	}
	return nil
}

// noteRecovery keeps an earlier recovery if a worker took the step: that ends only the problem that no worker did,
// and the task was never in error.
func (cc *CaseChanges) noteRecovery(t *task.Task, c *task.Case) error {
	how := cc.recoveries[t]
	taken := how != "" // by a worker
	if taken && (c.Reason != task.ReasonWorkerUnavailable || c.Recovery != nil) {
		return nil
	}
	c.Recovery, c.UpdatedAt = cc.recoveryOf(t, c, how), cc.U.Now
	if _, replayed := cc.Replayed[t]; replayed {
		c.Replays = task.Replays{Count: c.Replays.Count + 1, At: t.Meta.ReplayedAt.Ptr(), By: t.Meta.ReplayedBy,
			Key: t.Meta.ReplayedKey}
	}
	if cc.U.E.Cfg.Cases.AutoResolve && t.State.Terminal() {
		return cc.autoResolve(t, c)
	}
	cc.changed = append(cc.changed, c)
	return nil
}

func (cc *CaseChanges) recoveryOf(t *task.Task, c *task.Case, how string) *task.Recovery {
	if t.State == task.Cancelled {
		return nil
	}
	now := task.Recovery{At: cc.U.Now.Time(), State: t.State, By: kernel.System, How: how}
	if a := cc.U.Records.ActOn(t.ID); a != nil && how == "" {
		now.By, now.Key, now.How = a.Actor, cc.U.Key, a.Kind
	}
	if t.State.Terminal() {
		if before := c.Recovery; before != nil {
			now.At, now.By, now.Key, now.How = before.At, before.By, before.Key, before.How
		}
		finished := cc.U.Now.Time()
		now.FinishedAt = &finished
	}
	return &now
}

// autoResolve keeps an investigator's note.
func (cc *CaseChanges) autoResolve(t *task.Task, c *task.Case) error {
	change := task.CaseChange{Actor: kernel.System, Status: task.CaseResolved}
	if t.State == task.Cancelled {
		change.Status = task.CaseCancelled
	}
	if c.Notes == "" {
		notes := "the task is " + string(t.State)
		change.Notes = &notes
	}
	act, err := cc.change(t, c, change)
	if err == nil {
		cc.U.Records.Acts = append(cc.U.Records.Acts, act)
	}
	return err
}
