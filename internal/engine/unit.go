package engine

import (
	"bytes"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// unit is the unit of work of one transaction: every step and task that the
// verb has in hand, once each, and what has to be saved at the end. A verb may
// bring several items that touch the same task; they see each other's changes.
type unit struct {
	e   *Engine
	tx  Tx
	now task.Instant
	// key is the name of the API key that the transaction acts for, "" without one.
	key string
	// order is the one that was in force when the transaction began.
	order task.Scheduling

	steps        map[task.ID]*task.Step
	tasks        map[task.ID]*task.Task
	siblingSteps map[stepKey]*task.Step   // steps of families in hand; see family.go
	whole        map[task.ID][]*task.Step // families of which all steps are in hand

	def *task.Template // asked for last

	dirtySteps map[*task.Step]struct{}
	dirtyTasks map[*task.Task]struct{}
	attempts   []task.Attempt
	events     []task.Event
	acts       []task.Act

	forcedErrors           map[*task.Task]struct{} // put in error whatever their steps say
	openings               []*opening              // to tell of before the transaction ends
	recoveries             map[*task.Task]string
	replayed               map[*task.Task]struct{}
	newCases, changedCases []*task.Case
	newContexts            []*task.Task // their contexts were edited
	recurredCases          []*task.Case
	unwatched              map[*task.Task]task.State // live tasks, and the state that they left

	becameReady []Work         // steps that became ready
	pollers     []*poller      // waiting polls that this transaction serves
	vacant      map[int64]bool // routes looked at: nothing was ready there before

	// whether this transaction may hand out steps of the store, once it was asked
	out      permit
	mayHand  bool
	askedOut bool

	// about leases that the dispatcher granted; nil without one
	cacheEpoch int64                   // of the cache of submitted steps when the transaction began
	holds      map[task.ID]Hold        // as far as they are known
	offered    map[*task.Step]Offered  // steps that were ready when they came in hand
	applied    map[*task.Step]struct{} // those of them that somebody holds
	newOffers  []Work                  // that the dispatcher has to offer
	removals   []Removal               // that it has to take out besides

	outcomes       []breakerOutcome // ends of attempts that speak for or against their worker
	breakerChanges []*task.Worker   // whose breakers they opened or closed
	breakerVersion int64            // the look at them; see workerCache

	// for the list of waiters, once committed
	queued      map[int64]int // steps that became ready and wait on their route
	settled     []task.ID     // tasks that were settled
	endedLeases map[int64]int // leases that ended, by the number of the worker
	due         task.Instant  // the earliest time that was set in Timers; 0: none

	commit *Commit // for the observer; nil: there is none

	recordsChanges bool // somebody listens
	changes        []Change
}

func newUnit(e *Engine, tx Tx) *unit {
	u := &unit{e: e, tx: tx, now: e.instant(), order: e.Order(),
		steps: map[task.ID]*task.Step{}, tasks: map[task.ID]*task.Task{},
		siblingSteps: map[stepKey]*task.Step{}, whole: map[task.ID][]*task.Step{},
		dirtySteps: map[*task.Step]struct{}{}, dirtyTasks: map[*task.Task]struct{}{},
		forcedErrors: map[*task.Task]struct{}{}, vacant: map[int64]bool{}, queued: map[int64]int{}, commit: e.newCommit()}
	if e.dispatch != nil {
		u.cacheEpoch = e.dispatch.submitted.epoch.Load()
	}
	return u
}

// intern replaces rows that are in hand already by the ones in hand.
func (u *unit) intern(works []Work) []Work {
	for i, w := range works {
		if w.Step == nil {
			continue
		}
		works[i].Step = u.internStep(w.Step)
		works[i].Task = u.internTask(w.Task)
	}
	return works
}

func (u *unit) internStep(s *task.Step) *task.Step {
	if have, ok := u.steps[s.ID]; ok {
		return have
	}
	u.steps[s.ID] = s
	u.noteOffer(s)
	u.notBefore(max(s.ReadyAt, s.AssignedAt, s.StartedAt, s.FinishedAt))
	return s
}

// notBefore puts the unit's time after what it finds in rows. Another process, whose
// clock is a little ahead, may have written them: what follows must not look as if
// it had come first.
// A time far ahead is a damaged row's: it must not become that of others.
func (u *unit) notBefore(at task.Instant) {
	if at < u.now.Add(clockSlack) {
		u.now = max(u.now, at)
	}
}

// clockSlack is how far ahead the clock of another process may be.
const clockSlack = time.Hour

func (u *unit) internTask(t *task.Task) *task.Task {
	if have, ok := u.tasks[t.ID]; ok {
		return have
	}
	u.tasks[t.ID] = t
	u.notBefore(max(t.CreatedAt, t.StateAt, t.FinishedAt))
	return t
}

// load returns steps with their tasks, locked.
func (u *unit) load(ids []task.ID) ([]Work, error) {
	works, err := u.tx.Work(ids)
	if err != nil {
		return nil, err
	}
	u.loadHolds(works)
	return u.intern(works), nil
}

// task returns a task, locked, or nil.
func (u *unit) task(id task.ID) (*task.Task, error) {
	if t := u.tasks[id]; t != nil {
		return t, nil
	}
	t, err := u.tx.Task(id)
	if err != nil || t == nil {
		return nil, err
	}
	return u.internTask(t), nil
}

// template returns the template of a task.
func (u *unit) template(def int64) (*task.Template, error) {
	if u.def != nil && u.def.DefID == def {
		return u.def, nil
	}
	t, err := u.e.catalog.template(def, u.tx.Template)
	if err == nil {
		u.def = t
	}
	return t, err
}

// moved books the change of a step's state from its former one.
func (u *unit) moved(w Work, from task.StepState) {
	u.dirtySteps[w.Step] = struct{}{}
	if from == w.Step.State {
		return
	}
	w.Task.Counts.Move(from, w.Step.State)
	if from.Leased() && !w.Step.State.Leased() {
		u.leaseEnded(w.Step.WorkerNo)
	}
	u.observeMoved(w, from)
	u.dirtyTasks[w.Task] = struct{}{}
	switch {
	case w.Step.State == task.StepEnqueued:
		u.becameReady = append(u.becameReady, w)
	case w.Step.Queue == task.Timers:
		u.dueAt(task.Instant(w.Step.Key))
	}
}

func (u *unit) leaseEnded(worker int64) {
	if u.endedLeases == nil {
		u.endedLeases = map[int64]int{}
	}
	u.endedLeases[worker]++
}

func (u *unit) dueAt(at task.Instant) {
	if u.due == 0 || at < u.due {
		u.due = at
	}
}

// satisfied releases the dependants of a step that has just become complete or
// resolved manually: each has one open parent less, and is ready at none.
func (u *unit) satisfied(w Work, t *task.Template) error {
	w.Task.Progress(u.now)
	spec := t.Spec(w.Step)
	if spec.Sink() {
		if w.Step.State == task.StepResolvedManually {
			w.Task.Counts.ManualEnds++
		}
		return nil
	}
	children, err := u.siblings(family(w.Step, spec.Children))
	if err != nil {
		return err
	}
	for _, c := range children {
		c.OpenParents--
		u.dirtySteps[c] = struct{}{}
		if c.OpenParents > 0 || c.State != task.StepPending {
			continue
		}
		if at := w.Task.RunAt; at > u.now { // its parents were resolved by hand before
			c.Schedule(at)
			u.dueAt(at)
			continue
		}
		if err := c.Enqueue(u.now, u.order); err != nil {
			return err
		}
		u.moved(Work{c, w.Task}, task.StepPending)
	}
	return nil
}

// flush brings the tasks' states in line with their steps and saves everything
// in one order, so that two transactions never lock the same rows crosswise.
func (u *unit) flush() error {
	if err := u.handOff(); err != nil {
		return err
	}
	if err := u.save(); err != nil {
		return err
	}
	return u.saveBreakers()
}

// save is flush for steps that nobody waits for.
func (u *unit) save() error {
	tasks := sorted(u.dirtyTasks, func(t *task.Task) task.ID { return t.ID })
	if err := u.gatherUndecided(tasks); err != nil {
		return err
	}
	for _, t := range tasks {
		if err := u.reevaluate(t); err != nil {
			return err
		}
	}
	if err := u.flushCases(); err != nil {
		return err
	}
	if err := u.flushWatches(); err != nil {
		return err
	}
	if len(u.dirtyTasks) > len(tasks) {
		tasks = sorted(u.dirtyTasks, func(t *task.Task) task.ID { return t.ID })
	}
	steps := sorted(u.dirtySteps, func(s *task.Step) task.ID { return s.ID })
	if len(tasks) > 0 {
		if err := u.tx.SaveTasks(tasks); err != nil {
			return err
		}
	}
	for _, t := range u.newContexts {
		if err := u.tx.SaveContext(t); err != nil {
			return err
		}
	}
	if len(steps) > 0 {
		if err := u.tx.SaveSteps(steps); err != nil {
			return err
		}
	}
	if err := u.saveCases(); err != nil {
		return err
	}
	return u.flushRecords()
}

// gatherUndecided takes in hand the steps of tasks that may be in error, together.
func (u *unit) gatherUndecided(tasks []*task.Task) error {
	var families []Family
	for _, t := range tasks {
		if t.Counts.Undecided() {
			families = append(families, Family{Task: t.ID})
		}
	}
	return u.gather(families)
}

// hasDue reports whether a task that would be in error has a step that is about to
// be enqueued. Without this a task of two failed branches, one of which is being
// repaired, would be in error until the timers have fired.
func (u *unit) hasDue(t *task.Task) (bool, error) {
	if !t.Counts.Undecided() {
		return false, nil
	}
	steps, err := u.siblings(Family{Task: t.ID})
	return slices.ContainsFunc(steps, (*task.Step).Scheduled), err
}

// reevaluate brings the state of a task in line with its steps.
func (u *unit) reevaluate(t *task.Task) error {
	if _, given := u.forcedErrors[t]; given {
		return nil
	}
	before := *t
	due, err := u.hasDue(t)
	if err != nil {
		return err
	}
	t.Reevaluate(u.now, due)
	if stuck, err := u.inCycle(t); err != nil || stuck {
		if err == nil {
			err = u.endCycle(t, before)
		}
		return err
	}
	if t.State == before.State {
		return nil
	}
	if t.State == task.Errored {
		u.exhausted(t, before.State, before.StateAt)
	}
	u.left(t, before.State, "")
	return nil
}

func (u *unit) flushRecords() error {
	if len(u.attempts) > 0 {
		if err := u.tx.AddAttempts(u.attempts); err != nil {
			return err
		}
	}
	if len(u.events) > 0 {
		if err := u.tx.AddEvents(u.events); err != nil {
			return err
		}
	}
	if len(u.acts) == 0 {
		return nil
	}
	if err := u.sign(); err != nil {
		return err
	}
	return u.tx.AddActs(u.acts)
}

// left books that a task has left a state.
func (u *unit) left(t *task.Task, was task.State, cause string) {
	ev := task.Event{TaskID: t.ID, At: u.now, From: was, To: t.State, Cause: cause}
	if !ev.Derivable() {
		u.events = append(u.events, ev)
	}
	if t.State.Settled() {
		u.settled = append(u.settled, t.ID)
	}
	if recovers(t, was) {
		u.recovered(t, "")
	}
	u.mustWatch(t, was)
	u.observeLeft(t, was)
	u.record(TaskMoved, t, was, cause)
}

func sorted[T any](set map[*T]struct{}, id func(*T) task.ID) []*T {
	list := make([]*T, 0, len(set))
	for v := range set {
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b *T) int {
		x, y := id(a), id(b) // whole: those of two nodes may share a sequence
		return bytes.Compare(x[:], y[:])
	})
	return list
}
