package kernel

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Unit is the unit of work of one transaction: rows are loaded once and saved at the end, so that items about one
// task see each other's changes. Each part has its own type and file.
type Unit struct {
	E *Kernel
	// A unit lives exactly as long as the function passed to Write, so storing ctx is like passing it.
	Ctx   context.Context
	Tx    Tx
	Now   task.Instant
	Key   string          // name of the API key, "" without one
	Order task.Scheduling // when the transaction began
	// external: the transaction ends elsewhere, unobserved.
	External bool
	// queues: ready steps go through the queue, where polls find them after the commit: a caller's transaction may
	// stay open for long.
	Queues bool

	Rows     loadedRows
	Records  newRecords
	Verdicts verdicts
	Ready    readySteps
	leases   dispatchedLeases
	Wake     wakeups
	Observed observed
	slots    [maxSlots]any // state of features
}

// verdicts are tasks whose states do not follow from their steps alone.
type verdicts struct {
	Errored map[*task.Task]struct{} // in error, whatever their steps say
	GoOn    map[*task.Task]struct{} // not in error, although no step can continue yet
}

func (v *verdicts) Err(t *task.Task) { v.Errored = With(v.Errored, t) }

// Keep keeps a task out of error: some steps will continue automatically.
func (v *verdicts) Keep(t *task.Task) { v.GoOn = With(v.GoOn, t) }

func With(set map[*task.Task]struct{}, t *task.Task) map[*task.Task]struct{} {
	if set == nil {
		set = map[*task.Task]struct{}{}
	}
	set[t] = struct{}{}
	return set
}

// NewUnit takes a nil tx for a unit that only reports, such as a claim from the submitted cache.
func NewUnit(ctx context.Context, e *Kernel, tx Tx) *Unit {
	if e.seals != nil && tx != nil {
		tx = e.seals.Tx(tx)
	}
	u := &Unit{E: e, Ctx: ctx, Tx: tx, Now: e.Now(), Order: e.Order()}
	u.Rows = newLoadedRows(u)
	u.Records.u, u.Ready.u, u.leases.u = u, u, u
	u.Wake.queued, u.Wake.count = map[int64]int{}, e.occupancy.counts.Load()
	u.Observed = observed{u: u, Commit: e.newCommit()}
	e.Queue.attach(u)
	return u
}

// notBefore moves the unit's time past a row's, written by a faster clock: later changes must not appear earlier. A
// time far ahead comes from a damaged row and must not spread.
func (u *Unit) notBefore(at task.Instant) {
	if at < u.Now.Add(clockSlack) {
		u.Now = max(u.Now, at)
	}
}

// clockSlack bounds how far ahead another process's clock may be.
const clockSlack = time.Hour

func (u *Unit) Moved(w Work, from task.StepState) {
	u.Rows.ChangedStep(w.Step)
	if from == w.Step.State {
		return
	}
	w.Task.Counts.Move(from, w.Step.State)
	u.Rows.ChangedTask(w.Task)
	if from.Leased() && !w.Step.State.Leased() {
		u.Wake.leaseEnded(w.Step.WorkerNo)
	}
	u.E.Points.stepMoved(u, w, from)
	switch {
	case w.Step.State == task.StepEnqueued:
		u.Ready.Add(w)
	case w.Step.Queue == task.Timers:
		u.Wake.DueAt(task.Instant(w.Step.Key))
	}
}

// Satisfied releases the dependants of a completed or resolved step: each has one open parent fewer, and is ready
// without any.
func (u *Unit) Satisfied(w Work, t *task.Template) error {
	w.Task.Progress(u.Now)
	spec := t.Spec(w.Step)
	if spec.Sink() {
		if w.Step.State == task.StepResolvedManually {
			w.Task.Counts.ManualEnds++
		}
		return nil
	}
	children, err := u.Rows.Siblings(FamilyOf(w.Step, spec.Children))
	if err != nil {
		return err
	}
	for _, c := range children {
		c.OpenParents--
		u.Rows.ChangedStep(c)
		if c.OpenParents > 0 || c.State != task.StepPending || w.Task.Meta.Held {
			continue
		}
		if err := u.Start(Work{c, w.Task}); err != nil {
			return err
		}
	}
	return nil
}

// Start begins a step without open parents; see control.enter. It waits for a later run_at.
func (u *Unit) Start(w Work) error {
	if at := w.Task.RunAt; at > u.Now {
		return Control{u}.PutOff(w, at)
	}
	return Control{u}.enter(w)
}

func (u *Unit) evaluate() error {
	u.Rows.sorted = Sorted(u.Rows.DirtyTasks, func(t *task.Task) task.ID { return t.ID })
	if err := u.gatherUndecided(u.Rows.sorted); err != nil {
		return err
	}
	for _, t := range u.Rows.sorted {
		if err := u.Reevaluate(t); err != nil {
			return err
		}
	}
	return nil
}

func (u *Unit) gatherUndecided(tasks []*task.Task) error {
	var families []Family
	for _, t := range tasks {
		if t.Counts.Undecided() {
			families = append(families, Family{Task: t.ID})
		}
	}
	return u.Rows.Gather(families)
}

// hasDue reports whether a task about to be in error has a scheduled step, or compensation that waits for its
// children. Otherwise a task with two failed branches, one under repair, would be in error until the timers fire.
func (u *Unit) hasDue(t *task.Task) (bool, error) {
	if _, goesOn := u.Verdicts.GoOn[t]; !t.Counts.Undecided() || goesOn {
		return t.Counts.Undecided(), nil
	}
	steps, err := u.Rows.Siblings(Family{Task: t.ID})
	return slices.ContainsFunc(steps, (*task.Step).Scheduled), err
}

func (u *Unit) Reevaluate(t *task.Task) error {
	if _, given := u.Verdicts.Errored[t]; given {
		return nil
	}
	before := *t
	due, err := u.hasDue(t)
	if err != nil {
		return err
	}
	t.Reevaluate(u.Now, due)
	if taken, err := u.E.Points.taskJudged(u, t, before); taken || err != nil {
		return err
	}
	if t.State == before.State {
		return nil
	}
	u.departed(Departure{Task: t, Was: before.State, Since: before.StateAt, Stuck: t.State == task.Errored})
	return nil
}

func (u *Unit) Left(t *task.Task, was task.State, cause string) {
	u.departed(Departure{Task: t, Was: was, cause: cause})
}

// departed is the only place that notifies all followers of task states.
func (u *Unit) departed(d Departure) {
	t := d.Task
	ev := task.Event{TaskID: t.ID, At: u.Now, From: d.Was, To: t.State, Cause: d.cause}
	if !ev.Derivable() {
		u.Records.events = append(u.Records.events, ev)
	}
	if t.State.Settled() {
		u.Wake.settled = append(u.Wake.settled, t)
	}
	u.E.Points.taskLeft(u, d)
}

// Sorted returns rows by ID, the order in which all transactions lock them.
func Sorted[T any](set map[*T]struct{}, id func(*T) task.ID) []*T {
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
