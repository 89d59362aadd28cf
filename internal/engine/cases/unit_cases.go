package cases

import (
	"cmp"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// CaseChanges are stored at the end of the transaction: flush, then save.
type CaseChanges struct {
	U *kernel.Unit

	openings   []*Opening
	recoveries map[*task.Task]string // tasks that continue, and their kind of recovery
	Replayed   map[*task.Task]struct{}
	left       map[*task.Task]struct{} // tasks with a failed step and perhaps only waits left

	opened, changed, recurred []*task.Case

	groups groupChanges
}

func Feature() kernel.Feature {
	return kernel.Feature{
		Name:  "cases",
		Moved: func(u *kernel.Unit, w kernel.Work, _ task.StepState) { mayBeLeft(u, w) },
		Left: func(u *kernel.Unit, d kernel.Departure) {
			if d.Stuck {
				exhausted(u, d.Task, d.Was, d.Since)
			}
			if recovers(d.Task, d.Was) {
				recovered(u, d.Task, "")
			}
		},
		Stages: []kernel.Stage{
			{Rank: kernel.RankCasesLeft, Name: "stuck tasks", Locks: nil, Save: CaseSlot.Save((*CaseChanges).openLeft)},
			{Rank: kernel.RankOccurrences, Name: "occurrences", Locks: nil, Save: CaseSlot.Save((*CaseChanges).flush)},
			{Rank: kernel.RankCases, Name: "cases", Locks: []string{"tasks_dlq", "case_occurrences"},
				Save: CaseSlot.Save((*CaseChanges).save)},
			{Rank: kernel.RankGroups, Name: "groups", Locks: []string{"groups", "group_deltas"},
				Save: CaseSlot.Save(func(cc *CaseChanges) error { return cc.groups.save() })},
		},
	}
}

var CaseSlot = kernel.NewSlot(func(u *kernel.Unit) *CaseChanges {
	return &CaseChanges{U: u, groups: groupChanges{u: u}}
})

// Opening is an occurrence for a new case, or the pending case of its task.
type Opening struct {
	Task      *task.Task
	State     task.State
	Since     task.Instant
	Reason    task.CaseReason
	Cause     task.CaseCause // default: from the step that failed last
	Detail    string         // one sentence; default likewise
	Threshold time.Duration
	metadata  []byte

	pending *task.Case // nil for a new case
	opened  *task.Case // nil with a pending case
}

// Each failing step is recorded.
func (o *Opening) recordedIn() bool {
	c := o.pending
	if o.Cause == "" || o.Cause != c.Cause || c.Recovery != nil {
		return false
	}
	return o.Cause == task.CauseNoWorker || o.Task.StateAt <= c.OccurredAt
}

// Open adds snapshots to new or pending cases. It reads all rows together. The snapshot shows the state before the
// occurrence, so call it before the task changes.
func (cc *CaseChanges) Open(list []*Opening) error {
	list, err := cc.findPending(list)
	if err != nil || len(list) == 0 {
		return err
	}
	snapshots, err := newSnapshotter(cc.U, list)
	if err != nil {
		return err
	}
	for _, o := range list {
		shown, err := snapshots.occurrence(o)
		if err != nil {
			return err
		}
		if c := o.pending; c != nil {
			cc.groups.opened(c.Group, -1)
			c.Recur(shown)
			cc.groups.opened(c.Group, 1)
			cc.recurred = append(cc.recurred, c)
			cc.U.Observed.CaseRecurred(o.Task, c)
			continue
		}
		c := task.NewCase(cc.U.E.Store.IDs().Take(cc.U.Now.Time(), 1), o.Task, o.State, o.Reason, cc.U.Now)
		c.Metadata = o.metadata
		c.Cause, c.Fingerprint, c.Retryable, c.Snapshot = shown.Cause, shown.Fingerprint, shown.Retryable, shown.Snapshot
		c.Step, c.Class, c.Message, c.Group = shown.Step, shown.Class, shown.Message, shown.Group
		cc.groups.opened(c.Group, 1)
		o.opened = c
		cc.opened = append(cc.opened, c)
		cc.U.Observed.CaseOpened(o.Task, c)
	}
	return nil
}

// findPending finds pending cases by the marks of tasks, and marks those that will get one. It drops recorded
// occurrences, and all but one per task.
func (cc *CaseChanges) findPending(list []*Opening) ([]*Opening, error) {
	var again []task.ID
	of := map[task.ID]*Opening{}
	list = slices.DeleteFunc(slices.Clone(list), func(o *Opening) bool {
		if of[o.Task.ID] != nil || slices.ContainsFunc(cc.opened, func(c *task.Case) bool { return c.TaskID == o.Task.ID }) {
			return true
		}
		of[o.Task.ID] = o
		if o.Task.Meta.Case == task.HasPending {
			again = append(again, o.Task.ID)
		} else {
			o.Task.Meta.Case = task.HasPending
			cc.U.Rows.ChangedTask(o.Task)
		}
		return false
	})
	if len(again) == 0 {
		return list, nil
	}
	cases, err := Of(cc.U.E).CaseRows.PendingCases(cc.U.Ctx, cc.U.Tx, again)
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		of[c.TaskID].pending = c
	}
	return slices.DeleteFunc(list, func(o *Opening) bool { return o.pending != nil && o.recordedIn() }), nil
}

// flush adds the occurrence, when all steps have their final states.
func exhausted(u *kernel.Unit, t *task.Task, was task.State, since task.Instant) {
	if Of(u.E).OpensCase(t) {
		cc := CaseSlot.Of(u)
		cc.openings = append(cc.openings, &Opening{Task: t, State: was, Since: since, Reason: task.ReasonMaxRetries})
	}
}

func (e *Room) OpensCase(t *task.Task) bool {
	return e.Cfg.Cases.Enabled == settings.On || t.Meta.Case == task.HasPending
}

func (cc *CaseChanges) flush() error {
	if err := cc.Open(cc.openings); err != nil {
		return err
	}
	return cc.noteRecoveries()
}

// save stores new cases first: a case may be opened and changed in one transaction.
func (cc *CaseChanges) save() error {
	if len(cc.opened) > 0 {
		if err := Of(cc.U.E).CaseRows.AddCases(cc.U.Ctx, cc.U.Tx, cc.opened); err != nil {
			return err
		}
	}
	if len(cc.recurred) > 0 {
		if err := Of(cc.U.E).CaseRows.RecurCases(cc.U.Ctx, cc.U.Tx, cc.recurred); err != nil {
			return err
		}
	}
	if len(cc.changed) > 0 {
		if err := Of(cc.U.E).CaseRows.SaveCases(cc.U.Ctx, cc.U.Tx, cc.changed); err != nil {
			return err
		}
	}
	return nil
}

// Update changes a loaded case, with an act. Conflict: the case is not as expected, or another is pending.
func (cc *CaseChanges) Update(t *task.Task, c *task.Case, ch task.CaseChange) error {
	if err := ch.Expect.Check(c.Seen()); err != nil {
		return err
	}
	if ch.Reopen && t.Meta.Case == task.HasPending && c.Status != task.CasePending {
		return task.Errorf(task.Conflict, "the task %s has another case that is pending", t.ID)
	}
	act, err := cc.change(t, c, ch)
	if err != nil {
		return err
	}
	act.Reason = cmp.Or(act.Reason, kernel.NoReason)
	cc.U.Records.Acts = append(cc.U.Records.Acts, act)
	return nil
}

// load reads the case after locking its task, without which no transaction changes it.
func (cc *CaseChanges) load(id task.ID) (*task.Task, *task.Case, error) {
	c, err := Of(cc.U.E).CaseRows.Case(cc.U.Ctx, cc.U.Tx, id)
	if err != nil {
		return nil, nil, err
	}
	if c == nil {
		return nil, nil, NoCase(id)
	}
	t, err := cc.U.Rows.Task(c.TaskID)
	if err != nil {
		return nil, nil, err
	}
	if t == nil {
		return nil, nil, NoCase(id)
	}
	if c, err = Of(cc.U.E).CaseRows.Case(cc.U.Ctx, cc.U.Tx, id); err == nil && c == nil {
		err = NoCase(id)
	}
	return t, c, err
}

// change changes a case and marks its task. TooLarge: the metadata exceeds Limits.PayloadBytes. The group's counts
// follow.
func (cc *CaseChanges) change(t *task.Task, c *task.Case, ch task.CaseChange) (task.Act, error) {
	was := c.Status
	act, err := c.Change(ch, cc.U.Now)
	if err != nil {
		return act, err
	}
	if limit := cc.U.E.Cfg.Limits.PayloadBytes; len(c.Metadata) > limit {
		return act, task.Errorf(task.TooLarge, "the metadata of the case would be %d bytes long; the limit is %d",
			len(c.Metadata), limit)
	}
	t.Meta.Case = task.HasClosed
	if c.Status == task.CasePending {
		t.Meta.Case = task.HasPending
	}
	cc.U.Rows.ChangedTask(t)
	cc.changed = append(cc.changed, c)
	cc.groups.opened(c.Group, pending(c.Status)-pending(was))
	if was == task.CasePending && c.Status != was {
		cc.U.Observed.CaseResolved(t, c)
	}
	return act, nil
}

func pending(r task.Resolution) int64 {
	if r == task.CasePending {
		return 1
	}
	return 0
}

func PendingCase(u *kernel.Unit, t *task.Task) (task.ID, error) {
	if t.Meta.Case != task.HasPending {
		return task.ID{}, nil
	}
	cases, err := Of(u.E).CaseRows.PendingCases(u.Ctx, u.Tx, []task.ID{t.ID})
	if err != nil || len(cases) == 0 {
		return task.ID{}, err
	}
	return cases[0].ID, nil
}
