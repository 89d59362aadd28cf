package engine

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// unit is the unit of work of one transaction: rows are loaded once and saved at the end, so that items about one
// task see each other's changes. Each part has its own type and file.
type unit struct {
	e *Engine
	// A unit lives exactly as long as the function passed to Write, so storing ctx is like passing it.
	ctx   context.Context
	tx    Tx
	now   task.Instant
	key   string          // name of the API key, "" without one
	order task.Scheduling // when the transaction began
	// external: the transaction ends elsewhere, unobserved.
	external bool
	// queues: ready steps go through the queue, where polls find them after the commit: a caller's transaction may
	// stay open for long.
	queues bool

	rows     loadedRows
	records  newRecords
	verdicts verdicts
	ready    readySteps
	leases   dispatchedLeases
	wake     wakeups
	observed observed
	slots    [maxSlots]any // state of features
}

// verdicts are tasks whose states do not follow from their steps alone.
type verdicts struct {
	errored map[*task.Task]struct{} // in error, whatever their steps say
	goOn    map[*task.Task]struct{} // not in error, although no step can continue yet
}

func (v *verdicts) err(t *task.Task) { v.errored = with(v.errored, t) }

// keep keeps a task out of error: some steps will continue automatically.
func (v *verdicts) keep(t *task.Task) { v.goOn = with(v.goOn, t) }

func with(set map[*task.Task]struct{}, t *task.Task) map[*task.Task]struct{} {
	if set == nil {
		set = map[*task.Task]struct{}{}
	}
	set[t] = struct{}{}
	return set
}

// tx is nil for a unit that only reports, such as a claim from the submitted cache.
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

// notBefore moves the unit's time past a row's, written by a faster clock: later changes must not appear earlier. A
// time far ahead comes from a damaged row and must not spread.
func (u *unit) notBefore(at task.Instant) {
	if at < u.now.Add(clockSlack) {
		u.now = max(u.now, at)
	}
}

// clockSlack bounds how far ahead another process's clock may be.
const clockSlack = time.Hour

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
	u.e.points.stepMoved(u, w, from)
	switch {
	case w.Step.State == task.StepEnqueued:
		u.ready.add(w)
	case w.Step.Queue == task.Timers:
		u.wake.dueAt(task.Instant(w.Step.Key))
	}
}

// satisfied releases the dependants of a completed or resolved step: each has one open parent fewer, and is ready
// without any.
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

// start begins a step without open parents; see control.enter. It waits for a later run_at.
func (u *unit) start(w Work) error {
	if at := w.Task.RunAt; at > u.now {
		return control{u}.putOff(w, at)
	}
	return control{u}.enter(w)
}

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

func (u *unit) gatherUndecided(tasks []*task.Task) error {
	var families []Family
	for _, t := range tasks {
		if t.Counts.Undecided() {
			families = append(families, Family{Task: t.ID})
		}
	}
	return u.rows.gather(families)
}

// hasDue reports whether a task about to be in error has a scheduled step, or compensation that waits for its
// children. Otherwise a task with two failed branches, one under repair, would be in error until the timers fire.
func (u *unit) hasDue(t *task.Task) (bool, error) {
	if _, goesOn := u.verdicts.goOn[t]; !t.Counts.Undecided() || goesOn {
		return t.Counts.Undecided(), nil
	}
	steps, err := u.rows.siblings(Family{Task: t.ID})
	return slices.ContainsFunc(steps, (*task.Step).Scheduled), err
}

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
	if taken, err := u.e.points.taskJudged(u, t, before); taken || err != nil {
		return err
	}
	if t.State == before.State {
		return nil
	}
	u.departed(departure{task: t, was: before.State, since: before.StateAt, stuck: t.State == task.Errored})
	return nil
}

func (u *unit) left(t *task.Task, was task.State, cause string) {
	u.departed(departure{task: t, was: was, cause: cause})
}

// departed is the only place that notifies all followers of task states.
func (u *unit) departed(d departure) {
	t := d.task
	ev := task.Event{TaskID: t.ID, At: u.now, From: d.was, To: t.State, Cause: d.cause}
	if !ev.Derivable() {
		u.records.events = append(u.records.events, ev)
	}
	if t.State.Settled() {
		u.wake.settled = append(u.wake.settled, t)
	}
	u.e.points.taskLeft(u, d)
}

// sorted returns rows by ID, the order in which all transactions lock them.
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
