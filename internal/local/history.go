package local

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/task"
)

// TaskHistory implements tasker.TaskBackend.
//
// A straight run is not stored as events: it follows from the times of the task
// and its steps. What is stored is what departs from it: attempts that ended in
// anything but success, other transitions of the task, acts of operators.
func (b *Backend) TaskHistory(ctx context.Context, id uuid.UUID) (*tasker.TaskHistory, error) {
	v, err := b.view(ctx, toID(id))
	if err != nil {
		return nil, err
	}
	h := &history{view: v, out: &tasker.TaskHistory{TaskUUID: id}}
	h.ofTask()
	for _, s := range v.steps {
		if err := h.ofStep(ctx, s); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(h.out.Transitions, func(a, b tasker.Transition) int { return a.At.Compare(b.At) })
	return h.out, nil
}

type history struct {
	*view
	out *tasker.TaskHistory
}

// ofTask adds the transitions of the task itself.
func (h *history) ofTask() {
	t, events := h.task, h.records.Events
	// the state that submission left behind
	first := t.State
	switch {
	case len(events) > 0:
		first = events[0].From
	case t.State == task.Complete:
		first = task.StepsInProcess
	}
	h.add(task.Instant(t.CreatedAt), "", string(task.Pending), nil)
	if first != task.Pending {
		h.add(t.CreatedAt, string(task.Pending), string(first), nil)
	}
	last := first
	for _, e := range events {
		tr := h.add(e.At, string(e.From), string(e.To), nil)
		tr.Reason = e.Cause
		last = e.To
	}
	if t.State == task.Complete && last == task.StepsInProcess {
		h.add(t.FinishedAt, string(task.StepsInProcess), string(task.Complete), nil)
	}
}

// add appends a transition, of the task or of a step.
func (h *history) add(at task.Instant, from, to string, s *task.Step) *tasker.Transition {
	tr := tasker.Transition{At: at.Time(), From: from, To: to}
	if s != nil {
		id := toUUID(s.ID)
		tr.StepUUID, tr.StepName = &id, h.spec(s).Name
	}
	h.out.Transitions = append(h.out.Transitions, tr)
	return &h.out.Transitions[len(h.out.Transitions)-1]
}

// ofStep adds the transitions and attempts of a step: those recorded, then what
// the step itself tells of the present.
func (h *history) ofStep(ctx context.Context, s *task.Step) error {
	state := task.StepPending
	h.add(h.task.CreatedAt, "", string(state), s)
	for _, a := range merged(h.records, s) {
		var err error
		if a.act != nil {
			state = h.act(s, state, a.act)
		} else if state, err = h.attempt(ctx, s, state, a.attempt, true); err != nil {
			return err
		}
	}
	if state == s.State {
		return nil
	}
	live := h.untold(s)
	live.After = s.State
	switch {
	case s.State == task.StepComplete:
		live.Outcome = task.Completed
	case s.State == task.StepEnqueued || s.State == task.StepWaitingForRetry || s.State.Leased():
		live.FinishedAt = 0
	}
	if s.State == task.StepEnqueued { // ready, and in nobody's hands
		live.AssignedAt, live.StartedAt = 0, 0
	}
	_, err := h.attempt(ctx, s, state, &live, s.State == task.StepComplete || s.State.Leased())
	return err
}

// untold returns what the step tells of its last lease, without the times that
// belong to an attempt on record: a step that is cancelled while it waits for a
// retry still has those of the attempt that failed.
func (h *history) untold(s *task.Step) task.Attempt {
	a := s.EndAttempt(s.FinishedAt, task.Running, nil)
	for i := range h.records.Attempts {
		told := &h.records.Attempts[i]
		if told.StepID != s.ID || told.Token != s.Token {
			continue
		}
		a.WorkerNo, a.Number, a.AssignedAt, a.StartedAt = 0, 0, 0, 0
		if a.ReadyAt < told.FinishedAt {
			a.ReadyAt = 0
		}
	}
	return a
}

// attempt adds what happened during one lease; listed ones are attempts too.
func (h *history) attempt(ctx context.Context, s *task.Step, state task.StepState, a *task.Attempt, listed bool) (task.StepState, error) {
	worker, err := h.worker(ctx, a.WorkerNo)
	if err != nil {
		return state, err
	}
	number := a.Number
	if a.Outcome == task.Running && s.State == task.StepAssigned {
		number++
	}
	move := func(at task.Instant, to task.StepState) {
		if at == 0 || state == to {
			return
		}
		tr := h.add(at, string(state), string(to), s)
		if to != task.StepEnqueued {
			tr.Attempt, tr.Worker = number, worker
		}
		state = to
	}
	move(a.ReadyAt, task.StepEnqueued)
	if a.AssignedAt >= a.ReadyAt && (a.StartedAt == 0 || a.AssignedAt < a.StartedAt) {
		move(a.AssignedAt, task.StepAssigned)
	}
	move(a.StartedAt, task.StepInProgress)
	if a.FinishedAt != 0 {
		if tr := len(h.out.Transitions); a.After != "" {
			move(a.FinishedAt, a.After)
			if a.Failure != nil && len(h.out.Transitions) > tr {
				h.out.Transitions[tr].Reason = a.Failure.Message
			}
		}
	}
	if listed {
		h.out.Attempts = append(h.out.Attempts, h.toAttempt(s, a, number, worker))
	}
	return state, nil
}

func (h *history) toAttempt(s *task.Step, a *task.Attempt, number int, worker string) tasker.Attempt {
	out := tasker.Attempt{StepUUID: toUUID(s.ID), StepName: h.spec(s).Name, Attempt: number, Token: a.Token, Worker: worker, Outcome: string(a.Outcome),
		ReadyAt: a.ReadyAt.Ptr(), AssignedAt: a.AssignedAt.Ptr(), StartedAt: a.StartedAt.Ptr(), FinishedAt: a.FinishedAt.Ptr()}
	if a.Failure != nil {
		out.Error = fromFailure(a.Failure)
	}
	return out
}

// act adds an operator's act on a step. When it ended a lease, the attempt that
// it cut off has told of the transition already.
func (h *history) act(s *task.Step, state task.StepState, a *task.Act) task.StepState {
	tr := &h.out.Transitions[len(h.out.Transitions)-1]
	if string(state) != a.To {
		tr = h.add(a.At, string(state), a.To, s)
	}
	tr.Actor, tr.Reason = a.Actor, a.Reason
	return task.StepState(a.To)
}
