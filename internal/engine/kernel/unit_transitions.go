package kernel

import (
	"cmp"
	"sync"

	"github.com/taskerhq/tasker/internal/model/task"
)

// A nil transitions reports nothing, and costs a comparison.
type transitions struct {
	mu sync.Mutex
	// assigned has, by step, the dispatcher's hand-outs before their start, because it has no tasks.
	assigned map[task.ID]Transition
}

const maxAssigned = 50_000

func newTransitions(wanted bool) *transitions {
	if !wanted {
		return nil
	}
	return &transitions{assigned: map[task.ID]Transition{}}
}

func (ob *observed) addTransition(t Transition) {
	if ob.Commit != nil {
		ob.Commit.Transitions = append(ob.Commit.Transitions, t)
	}
}

// from is "" for a new task.
func (ob *observed) taskMoved(t *task.Task, from task.State) {
	if ob.u.E.transitions == nil {
		return
	}
	ob.addTransition(Transition{Task: t.ID, DefID: t.DefID, From: string(from), To: string(t.State), Priority: t.Priority,
		CreatedAt: t.CreatedAt,
		Initiator: t.Meta.Initiator, Parent: t.Meta.TraceParent})
}

// from is "" for a new step.
func (ob *observed) stepMoved(w Work, from task.StepState) {
	if ob.u.E.transitions != nil && w.Task != nil && from != w.Step.State {
		ob.addTransition(ob.stepTransition(w, from))
	}
}

func (ob *observed) stepTransition(w Work, from task.StepState) Transition {
	s, t := w.Step, w.Task
	move := Transition{Task: t.ID, Step: s.ID, DefID: s.DefID, Ordinal: s.Ordinal, From: string(from), To: string(s.State),
		Priority:  s.Priority,
		CreatedAt: t.CreatedAt, Attempts: s.Attempts, Initiator: t.Meta.Initiator, Parent: t.Meta.TraceParent}
	if from.Leased() || s.State.Leased() { // a step keeps its last worker
		move.Worker = ob.u.WorkerName(s.WorkerNo)
	}
	return move
}

func (ob *observed) holdMoved(w Work) {
	all := ob.u.E.transitions
	if all == nil {
		return
	}
	move := ob.stepTransition(w, task.StepEnqueued)
	ob.addTransition(move)
	if w.Step.State != task.StepAssigned {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	MakeRoom(all.assigned, maxAssigned)
	all.assigned[w.Step.ID] = move
}

// holdStarted does not have the task if another process handed the step out.
func (ob *observed) holdStarted(h *Hold) {
	all := ob.u.E.transitions
	if all == nil {
		return
	}
	all.mu.Lock()
	move := all.assigned[h.Step]
	delete(all.assigned, h.Step)
	all.mu.Unlock()
	move.Step, move.Priority, move.Attempts = h.Step, h.Priority, move.Attempts+1
	move.From, move.To = string(task.StepAssigned), string(task.StepInProgress)
	move.Worker = cmp.Or(ob.u.WorkerName(h.Worker), move.Worker)
	ob.addTransition(move)
}
