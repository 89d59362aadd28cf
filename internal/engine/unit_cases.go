package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// flush and then save run at the end of the transaction.
type caseChanges struct {
	u *unit

	openings   []*opening
	recoveries map[*task.Task]string // tasks that continue, and their kind of recovery
	replayed   map[*task.Task]struct{}
	left       map[*task.Task]struct{} // tasks with a failed step and perhaps only waits left

	opened, changed, recurred []*task.Case

	groups groupChanges
}

func casesFeature() feature {
	return feature{
		name:  "cases",
		moved: func(u *unit, w Work, _ task.StepState) { mayBeLeft(u, w) },
		left: func(u *unit, d departure) {
			if d.stuck {
				exhausted(u, d.task, d.was, d.since)
			}
			if recovers(d.task, d.was) {
				recovered(u, d.task, "")
			}
		},
		stages: []stage{
			{rankCasesLeft, "stuck tasks", nil, caseSlot.save((*caseChanges).openLeft)},
			{rankOccurrences, "occurrences", nil, caseSlot.save((*caseChanges).flush)},
			{rankCases, "cases", []string{"tasks_dlq", "case_occurrences"}, caseSlot.save((*caseChanges).save)},
			{rankGroups, "groups", []string{"groups", "group_deltas"},
				caseSlot.save(func(cc *caseChanges) error { return cc.groups.save() })},
		},
	}
}

var caseSlot = newSlot(func(u *unit) *caseChanges { return &caseChanges{u: u, groups: groupChanges{u: u}} })

// opening is an occurrence for a new case, or the pending case of its task.
type opening struct {
	task      *task.Task
	state     task.State
	since     task.Instant
	reason    task.CaseReason
	cause     task.CaseCause // default: from the step that failed last
	detail    string         // one sentence; default likewise
	threshold time.Duration
	metadata  []byte

	pending *task.Case // nil for a new case
	opened  *task.Case // nil with a pending case
}

// Each failing step is recorded.
func (o *opening) recordedIn() bool {
	c := o.pending
	if o.cause == "" || o.cause != c.Cause || c.Recovery != nil {
		return false
	}
	return o.cause == task.CauseNoWorker || o.task.StateAt <= c.OccurredAt
}

// open adds snapshots to new or pending cases. It reads all rows together. The snapshot shows the state before the
// occurrence, so call it before the task changes.
func (cc *caseChanges) open(list []*opening) error {
	list, err := cc.findPending(list)
	if err != nil || len(list) == 0 {
		return err
	}
	snapshots, err := newSnapshotter(cc.u, list)
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
			cc.u.observed.caseRecurred(o.task, c)
			continue
		}
		c := task.NewCase(cc.u.e.store.IDs().Take(cc.u.now.Time(), 1), o.task, o.state, o.reason, cc.u.now)
		c.Metadata = o.metadata
		c.Cause, c.Fingerprint, c.Retryable, c.Snapshot = shown.Cause, shown.Fingerprint, shown.Retryable, shown.Snapshot
		c.Step, c.Class, c.Message, c.Group = shown.Step, shown.Class, shown.Message, shown.Group
		cc.groups.opened(c.Group, 1)
		o.opened = c
		cc.opened = append(cc.opened, c)
		cc.u.observed.caseOpened(o.task, c)
	}
	return nil
}

// findPending finds pending cases by the marks of tasks, and marks those that will get one. It drops recorded
// occurrences, and all but one per task.
func (cc *caseChanges) findPending(list []*opening) ([]*opening, error) {
	var again []task.ID
	of := map[task.ID]*opening{}
	list = slices.DeleteFunc(slices.Clone(list), func(o *opening) bool {
		if of[o.task.ID] != nil || slices.ContainsFunc(cc.opened, func(c *task.Case) bool { return c.TaskID == o.task.ID }) {
			return true
		}
		of[o.task.ID] = o
		if o.task.Meta.Case == task.HasPending {
			again = append(again, o.task.ID)
		} else {
			o.task.Meta.Case = task.HasPending
			cc.u.rows.changedTask(o.task)
		}
		return false
	})
	if len(again) == 0 {
		return list, nil
	}
	cases, err := cc.u.e.caseRows.PendingCases(cc.u.ctx, cc.u.tx, again)
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		of[c.TaskID].pending = c
	}
	return slices.DeleteFunc(list, func(o *opening) bool { return o.pending != nil && o.recordedIn() }), nil
}

// flush adds the occurrence, when all steps have their final states.
func exhausted(u *unit, t *task.Task, was task.State, since task.Instant) {
	if u.e.opensCase(t) {
		cc := caseSlot.of(u)
		cc.openings = append(cc.openings, &opening{task: t, state: was, since: since, reason: task.ReasonMaxRetries})
	}
}

func (e *Engine) opensCase(t *task.Task) bool {
	return e.cfg.Cases.Enabled == settings.On || t.Meta.Case == task.HasPending
}

func (cc *caseChanges) flush() error {
	if err := cc.open(cc.openings); err != nil {
		return err
	}
	return cc.noteRecoveries()
}

// save stores new cases first: a case may be opened and changed in one transaction.
func (cc *caseChanges) save() error {
	if len(cc.opened) > 0 {
		if err := cc.u.e.caseRows.AddCases(cc.u.ctx, cc.u.tx, cc.opened); err != nil {
			return err
		}
	}
	if len(cc.recurred) > 0 {
		if err := cc.u.e.caseRows.RecurCases(cc.u.ctx, cc.u.tx, cc.recurred); err != nil {
			return err
		}
	}
	if len(cc.changed) > 0 {
		if err := cc.u.e.caseRows.SaveCases(cc.u.ctx, cc.u.tx, cc.changed); err != nil {
			return err
		}
	}
	return nil
}

// update changes a loaded case, with an act. Conflict: the case is not as expected, or another is pending.
func (cc *caseChanges) update(t *task.Task, c *task.Case, ch task.CaseChange) error {
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
	act.Reason = cmp.Or(act.Reason, NoReason)
	cc.u.records.acts = append(cc.u.records.acts, act)
	return nil
}

// load reads the case after locking its task, without which no transaction changes it.
func (cc *caseChanges) load(id task.ID) (*task.Task, *task.Case, error) {
	c, err := cc.u.e.caseRows.Case(cc.u.ctx, cc.u.tx, id)
	if err != nil {
		return nil, nil, err
	}
	if c == nil {
		return nil, nil, noCase(id)
	}
	t, err := cc.u.rows.task(c.TaskID)
	if err != nil {
		return nil, nil, err
	}
	if t == nil {
		return nil, nil, noCase(id)
	}
	if c, err = cc.u.e.caseRows.Case(cc.u.ctx, cc.u.tx, id); err == nil && c == nil {
		err = noCase(id)
	}
	return t, c, err
}

// change changes a case and marks its task. TooLarge: the metadata exceeds Limits.PayloadBytes. The group's counts
// follow.
func (cc *caseChanges) change(t *task.Task, c *task.Case, ch task.CaseChange) (task.Act, error) {
	was := c.Status
	act, err := c.Change(ch, cc.u.now)
	if err != nil {
		return act, err
	}
	if limit := cc.u.e.cfg.Limits.PayloadBytes; len(c.Metadata) > limit {
		return act, task.Errorf(task.TooLarge, "the metadata of the case would be %d bytes long; the limit is %d",
			len(c.Metadata), limit)
	}
	t.Meta.Case = task.HasClosed
	if c.Status == task.CasePending {
		t.Meta.Case = task.HasPending
	}
	cc.u.rows.changedTask(t)
	cc.changed = append(cc.changed, c)
	cc.groups.opened(c.Group, pending(c.Status)-pending(was))
	if was == task.CasePending && c.Status != was {
		cc.u.observed.caseResolved(t, c)
	}
	return act, nil
}

func pending(r task.Resolution) int64 {
	if r == task.CasePending {
		return 1
	}
	return 0
}

func pendingCase(u *unit, t *task.Task) (task.ID, error) {
	if t.Meta.Case != task.HasPending {
		return task.ID{}, nil
	}
	cases, err := u.e.caseRows.PendingCases(u.ctx, u.tx, []task.ID{t.ID})
	if err != nil || len(cases) == 0 {
		return task.ID{}, err
	}
	return cases[0].ID, nil
}
