package engine

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// unit is the unit of work of one transaction: the rows that the verb works on, each loaded once, and what is saved at
// the end. Several items of a verb may touch the same task; they see each other's changes.
//
// Each part has its own type and file, and points to its unit.
type unit struct {
	e *Engine
	// ctx is the context of the transaction. A unit lives exactly as long as the function passed to Write, so keeping
	// it here is the same as passing it to every method.
	ctx   context.Context
	tx    Tx
	now   task.Instant
	key   string          // name of the API key of the transaction, "" without one
	order task.Scheduling // in force when the transaction began
	// external: the transaction ends elsewhere, and nobody here learns when.
	external bool
	// queues: steps that became ready are left in the queue, where polls find them after the commit. A transaction of a
	// caller may stay open for long.
	queues bool

	rows     loadedRows       // unit_rows.go: steps and tasks, and which of them changed
	records  newRecords       // unit_records.go: attempts, events and acts
	verdicts verdicts         // tasks whose states do not follow from their steps alone
	ready    readySteps       // handoff.go: steps that became ready, and the polls that receive them
	leases   dispatchedLeases // unit_leases.go: leases and offers of the dispatcher
	wake     wakeups          // unit_wake.go: waiters to wake after the commit
	observed observed         // unit_observe.go: reports to the observer and to listeners
	slots    [maxSlots]any    // slots.go: what each feature remembers
}

// verdicts are tasks whose states do not follow from the states of their steps alone.
type verdicts struct {
	errored map[*task.Task]struct{} // in error, whatever their steps say
	goOn    map[*task.Task]struct{} // not in error, although no step can go on yet
}

// err puts a task in error whatever its steps say.
func (v *verdicts) err(t *task.Task) { v.errored = with(v.errored, t) }

// keep keeps a task out of error: steps of it will go on by themselves.
func (v *verdicts) keep(t *task.Task) { v.goOn = with(v.goOn, t) }

// with adds a task to a set, which may be nil.
func with(set map[*task.Task]struct{}, t *task.Task) map[*task.Task]struct{} {
	if set == nil {
		set = map[*task.Task]struct{}{}
	}
	set[t] = struct{}{}
	return set
}

// newUnit returns an empty unit. tx is nil for a unit that only reports, such as that of a
// claim from the cache of submitted steps.
func newUnit(ctx context.Context, e *Engine, tx Tx) *unit {
	if e.seals != nil && tx != nil {
		tx = e.seals.Tx(tx)
	}
	u := &unit{e: e, ctx: ctx, tx: tx, now: e.instant(), order: e.Order()}
	u.rows = newLoadedRows(u)
	u.records.u, u.ready.u, u.leases.u = u, u, u
	u.wake.queued, u.wake.count = map[int64]int{}, e.occupancy.counts.Load()
	u.observed = observed{u: u, commit: e.newCommit()}
	e.queue.attach(u)
	return u
}

// notBefore moves the unit's time past a time found in a row. Another process, whose clock is a little ahead, may have
// written the row: the changes of this unit must not appear to precede it. A time far ahead comes from a damaged row
// and must not spread to others.
func (u *unit) notBefore(at task.Instant) {
	if at < u.now.Add(clockSlack) {
		u.now = max(u.now, at)
	}
}

// clockSlack is how far ahead the clock of another process may be.
const clockSlack = time.Hour

// moved records the change of a step's state from its former one.
func (u *unit) moved(w Work, from task.StepState) {
	u.rows.changedStep(w.Step)
	if from == w.Step.State {
		return
	}
	w.Task.Counts.Move(from, w.Step.State)
	u.rows.changedTask(w.Task)
	if from.Leased() && !w.Step.State.Leased() {
		u.wake.leaseEnded(w.Step.WorkerNo)
	}
	u.e.kernel.stepMoved(u, w, from)
	switch {
	case w.Step.State == task.StepEnqueued:
		u.ready.add(w)
	case w.Step.Queue == task.Timers:
		u.wake.dueAt(task.Instant(w.Step.Key))
	}
}

// satisfied releases the dependants of a step that has just become complete or resolved manually: each has one open
// parent fewer, and is ready when none is left.
func (u *unit) satisfied(w Work, t *task.Template) error {
	w.Task.Progress(u.now)
	spec := t.Spec(w.Step)
	if spec.Sink() {
		if w.Step.State == task.StepResolvedManually {
			w.Task.Counts.ManualEnds++
		}
		return nil
	}
	children, err := u.rows.siblings(family(w.Step, spec.Children))
	if err != nil {
		return err
	}
	for _, c := range children {
		c.OpenParents--
		u.rows.changedStep(c)
		if c.OpenParents > 0 || c.State != task.StepPending || w.Task.Meta.Held {
			continue
		}
		if err := u.start(Work{c, w.Task}); err != nil {
			return err
		}
	}
	return nil
}

// start lets a pending step without open parents begin; see control.enter. Where its run_at is still to come, because
// an operator resolved its parents early or its task had to wait for its turn, it waits for that.
func (u *unit) start(w Work) error {
	if at := w.Task.RunAt; at > u.now {
		return control{u}.putOff(w, at)
	}
	return control{u}.enter(w)
}

// evaluate brings the states of tasks in line with their steps.
func (u *unit) evaluate() error {
	u.rows.sorted = sorted(u.rows.dirtyTasks, func(t *task.Task) task.ID { return t.ID })
	if err := u.gatherUndecided(u.rows.sorted); err != nil {
		return err
	}
	for _, t := range u.rows.sorted {
		if err := u.reevaluate(t); err != nil {
			return err
		}
	}
	return nil
}

// gatherUndecided loads, in one read, the steps of tasks that may be in error.
func (u *unit) gatherUndecided(tasks []*task.Task) error {
	var families []Family
	for _, t := range tasks {
		if t.Counts.Undecided() {
			families = append(families, Family{Task: t.ID})
		}
	}
	return u.rows.gather(families)
}

// hasDue reports whether a task that would be in error has a step that is scheduled to be enqueued, or compensation
// steps that begin as soon as its children are at rest. Without this check a task with two failed branches, one of them
// under repair, would be in error until the timers have fired.
func (u *unit) hasDue(t *task.Task) (bool, error) {
	if _, goesOn := u.verdicts.goOn[t]; !t.Counts.Undecided() || goesOn {
		return t.Counts.Undecided(), nil
	}
	steps, err := u.rows.siblings(Family{Task: t.ID})
	return slices.ContainsFunc(steps, (*task.Step).Scheduled), err
}

// reevaluate brings the state of a task in line with its steps.
func (u *unit) reevaluate(t *task.Task) error {
	if _, given := u.verdicts.errored[t]; given {
		return nil
	}
	before := *t
	due, err := u.hasDue(t)
	if err != nil {
		return err
	}
	t.Reevaluate(u.now, due)
	if stuck, err := inCycle(u, t); err != nil || stuck {
		if err == nil {
			err = endCycle(u, t, before)
		}
		return err
	}
	if t.State == before.State {
		return nil
	}
	u.departed(departure{task: t, was: before.State, since: before.StateAt, stuck: t.State == task.Errored})
	return nil
}

// left records that a task has left a state for its own reason.
func (u *unit) left(t *task.Task, was task.State, cause string) {
	u.departed(departure{task: t, was: was, cause: cause})
}

// departed records that a task has left a state. It is the only place that notifies all followers of task states: the
// history, waiting callers, the observer and listeners, and the features.
func (u *unit) departed(d departure) {
	t := d.task
	ev := task.Event{TaskID: t.ID, At: u.now, From: d.was, To: t.State, Cause: d.cause}
	if !ev.Derivable() {
		u.records.events = append(u.records.events, ev)
	}
	if t.State.Settled() {
		u.wake.settled = append(u.wake.settled, t)
	}
	u.e.kernel.taskLeft(u, d)
}

// sorted returns the rows of a set by ID, which is the order in which all transactions lock
// them.
func sorted[T any](set map[*T]struct{}, id func(*T) task.ID) []*T {
	list := make([]*T, 0, len(set))
	for v := range set {
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b *T) int {
		x, y := id(a), id(b) // the whole ID: IDs of two nodes may share a sequence
		return bytes.Compare(x[:], y[:])
	})
	return list
}
