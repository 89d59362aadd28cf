package engine

import (
	"cmp"
	"sync"

	"github.com/taskerhq/tasker/internal/task"
)

// transitions is how an Engine tells its observer of each transition by itself. A nil
// one tells nothing, and costs a comparison.
type transitions struct {
	mu sync.Mutex
	// assigned has what was handed out in the dispatcher and has not begun, by step:
	// the dispatcher does not know of tasks.
	assigned map[task.ID]Transition
}

// maxAssigned bounds the memory of what was handed out in the dispatcher.
const maxAssigned = 50_000

func newTransitions(wanted bool) *transitions {
	if !wanted {
		return nil
	}
	return &transitions{assigned: map[task.ID]Transition{}}
}

// addTransition adds a transition to what the observer is told.
func (u *unit) addTransition(t Transition) {
	if u.commit != nil {
		u.commit.Transitions = append(u.commit.Transitions, t)
	}
}

// observeTask is for a task that came from a state, "" when it is new.
func (u *unit) observeTask(t *task.Task, from task.State) {
	if u.e.transitions == nil {
		return
	}
	u.addTransition(Transition{Task: t.ID, DefID: t.DefID, From: string(from), To: string(t.State), Priority: t.Priority, CreatedAt: t.CreatedAt,
		Initiator: t.Meta.Initiator, Parent: t.Meta.TraceParent})
}

// observeStep is for a step that came from a state, "" when it is new.
func (u *unit) observeStep(w Work, from task.StepState) {
	if u.e.transitions != nil && w.Task != nil && from != w.Step.State {
		u.addTransition(u.stepMove(w, from))
	}
}

func (u *unit) stepMove(w Work, from task.StepState) Transition {
	s, t := w.Step, w.Task
	move := Transition{Task: t.ID, Step: s.ID, DefID: s.DefID, Ordinal: s.Ordinal, From: string(from), To: string(s.State), Priority: s.Priority,
		CreatedAt: t.CreatedAt, Attempts: s.Attempts, Initiator: t.Meta.Initiator, Parent: t.Meta.TraceParent}
	if from.Leased() || s.State.Leased() { // a step keeps the number of who had it last
		move.Worker = u.e.workers.nameOf(s.WorkerNo)
	}
	return move
}

// observeHold is for a step that the dispatcher has handed out.
func (u *unit) observeHold(w Work) {
	all := u.e.transitions
	if all == nil {
		return
	}
	move := u.stepMove(w, task.StepEnqueued)
	u.addTransition(move)
	if w.Step.State != task.StepAssigned {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	makeRoom(all.assigned, maxAssigned)
	all.assigned[w.Step.ID] = move
}

// observeHoldStarted is for a step whose attempt has begun in the dispatcher. Of one that
// another process handed out the task is not known.
func (u *unit) observeHoldStarted(h *Hold) {
	all := u.e.transitions
	if all == nil {
		return
	}
	all.mu.Lock()
	move := all.assigned[h.Step]
	delete(all.assigned, h.Step)
	all.mu.Unlock()
	move.Step, move.Priority, move.Attempts = h.Step, h.Priority, move.Attempts+1
	move.From, move.To = string(task.StepAssigned), string(task.StepInProgress)
	move.Worker = cmp.Or(u.e.workers.nameOf(h.Worker), move.Worker)
	u.addTransition(move)
}
