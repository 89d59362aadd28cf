package memstore

import (
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The invariants of every transaction. A breach is a bug of the engine, so its code is task.Internal.

// checkStepMove: a token never decreases, and a new lease has a new one: that is the base of settling a step exactly
// once. The methods of task.Step check permitted moves.
func checkStepMove(old, now *task.Step) error {
	switch {
	case old.State.Terminal() && now.State != old.State:
		return task.Errorf(task.Internal, "save step %s: it is %s for ever and cannot become %s", old.ID, old.State,
			now.State)
	case now.Token < old.Token:
		return task.Errorf(task.Internal, "save step %s: its token went back from %d to %d", old.ID, old.Token, now.Token)
	case now.State.Leased() && !old.State.Leased() && now.Token == old.Token:
		return task.Errorf(task.Internal, "save step %s: handed out again under the token %d", old.ID, now.Token)
	}
	return nil
}

// checkTaskMove: package task has the permitted moves.
func checkTaskMove(old, now *task.Task) error {
	if now.State != old.State && !old.State.Reaches(now.State) {
		return task.Errorf(task.Internal, "save task %s: it is %s and cannot become %s", old.ID, old.State, now.State)
	}
	return nil
}

// check checks every touched task; checking all would make tests quadratic. A breach rolls the transaction back, like a
// constraint in SQL.
func (t *tx) check() error {
	for id := range t.touched {
		row := t.s.tasks[id]
		if row == nil {
			if err := t.checkGone(id); err != nil {
				return err
			}
			continue
		}
		if err := t.checkTask(row); err != nil {
			return err
		}
	}
	return nil
}

// checkGone: only acts refer to a deleted task.
func (t *tx) checkGone(id task.ID) error {
	left := len(t.s.stepsOf[id]) + len(t.s.attempts[id]) + len(t.s.events[id]) + len(t.s.casesOf(id))
	if left > 0 {
		return task.Errorf(task.Internal, "commit: %d rows belong to task %s, which does not exist", left, id)
	}
	// A key that outlives its task would answer a later submission with a missing task.
	for name, b := range t.s.keys {
		if b.Task == id {
			return task.Errorf(task.Internal, "commit: the key %q is bound to task %s, which does not exist", name.Key, id)
		}
	}
	for name, h := range t.s.unique {
		if h.Task == id {
			return task.Errorf(task.Internal, "commit: the unique key %q is bound to task %s, which does not exist", name.Key,
				id)
		}
	}
	return nil
}

// checkTask compares a task with its steps: the engine decides on counts alone.
func (t *tx) checkTask(row *task.Task) error {
	// The states of steps do not determine ManualEnds.
	counts := task.Counts{ManualEnds: row.Counts.ManualEnds}
	var steps []*task.Step
	for _, id := range t.s.stepsOf[row.ID] {
		step := t.s.steps[id]
		if err := checkStep(step); err != nil {
			return err
		}
		steps = append(steps, step)
		counts.Add(step.State)
	}
	switch {
	case len(steps) == 0:
		return task.Errorf(task.Internal, "commit: task %s has no steps", row.ID)
	case counts != row.Counts:
		return task.Errorf(task.Internal, "commit: task %s counts %+v, its steps are %+v", row.ID, row.Counts, counts)
	// Retention and lists rely on FinishedAt being set exactly for settled tasks.
	case (row.FinishedAt != 0) != row.State.Settled():
		return task.Errorf(task.Internal, "commit: task %s is %s with FinishedAt %d", row.ID, row.State, row.FinishedAt)
	case row.State.Terminal() && counts.Pending+counts.Active+counts.Waiting > 0:
		return task.Errorf(task.Internal, "commit: task %s is %s while steps of it can run: %+v", row.ID, row.State, counts)
	}
	if err := t.checkCases(row); err != nil {
		return err
	}
	return t.checkParents(row, steps)
}

// checkCases compares a task's mark with its cases. The mark saves a query when a task is settled.
func (t *tx) checkCases(row *task.Task) error {
	var want task.CaseMark
	for _, c := range t.s.casesOf(row.ID) {
		if c.Status == task.CasePending {
			want = task.HasPending
		} else if want == "" {
			want = task.HasClosed
		}
	}
	// HadClosed remains after retention deleted the closed cases.
	if row.Meta.Case != want && (want != "" || row.Meta.Case != task.HadClosed) {
		return task.Errorf(task.Internal, "commit: task %s says %q of its cases, and it is %q", row.ID, row.Meta.Case, want)
	}
	return nil
}

// checkStep checks that a step is in the queue of its state. Nothing searches for a runnable step without a queue.
func checkStep(s *task.Step) error {
	queue, key := task.NoQueue, s.Key
	switch {
	case s.Parked():
		queue = s.Queue
	case s.State == task.StepEnqueued:
		queue = s.RouteID
	case s.State == task.StepPending && s.Queue == task.Timers && s.OpenParents == 0:
		queue = task.Timers // until the task's run_at
	case s.State == task.StepWaitingForRetry:
		queue = task.Timers
	case s.State == task.StepWaiting && s.Queue == task.Timers:
		queue = task.Timers
	case s.State == task.StepWaiting:
		queue, key = task.Outside, 0
	case s.State.Leased():
		queue = task.Leases
	default:
		key = 0
	}
	switch {
	case s.Queue != queue || s.Key != key:
		return task.Errorf(task.Internal, "commit: step %s is %s in queue %d under key %d", s.ID, s.State, s.Queue, s.Key)
	case (s.LeaseUntil != 0) != s.State.Leased():
		return task.Errorf(task.Internal, "commit: step %s is %s with a lease until %d", s.ID, s.State, s.LeaseUntil)
	}
	return nil
}

// checkParents: a step waits for exactly its unsatisfied parents, and none runs before its parents are satisfied.
func (t *tx) checkParents(row *task.Task, steps []*task.Step) error {
	specs := t.s.template(row.DefID).Steps
	if len(specs) != len(steps) {
		return task.Errorf(task.Internal, "commit: task %s has %d steps, its template %d", row.ID, len(steps), len(specs))
	}
	for i, step := range steps {
		open := 0
		for _, p := range specs[i].Parents {
			if !steps[p].State.Satisfies() {
				open++
			}
		}
		// Settled steps may have open parents: an operator can resolve a step before its parents.
		waits := step.State == task.StepPending
		runs := slices.Contains([]task.StepState{task.StepEnqueued, task.StepAssigned, task.StepInProgress,
			task.StepWaitingForRetry, task.StepWaiting}, step.State)
		switch {
		case waits && step.OpenParents != open:
			return task.Errorf(task.Internal, "commit: step %s counts %d open parents of %d", step.ID, step.OpenParents, open)
		case waits && open == 0 && step.Queue == task.NoQueue && !row.Meta.Held && !specs[i].OnFailure:
			return task.Errorf(task.Internal, "commit: step %s is pending although nothing holds it back", step.ID)
		case runs && open > 0:
			return task.Errorf(task.Internal, "commit: step %s is %s with %d open parents", step.ID, step.State, open)
		}
	}
	return nil
}
