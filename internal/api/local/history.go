package local

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// TaskHistory implements tasker.TaskBackend.
//
// A simple run has no stored events: its history follows from the times of the task and its steps. Stored are the
// exceptions: attempts without success, other transitions of the task, acts of operators. Transitions and attempts are
// in order of time. Rows and records are read one after the other, so a change during the read may be missing;
// everything shown did happen. CodeNotFound: no such task, or one outside the key's reach.
func (b *Backend) TaskHistory(ctx context.Context, id uuid.UUID) (*tasker.TaskHistory, error) {
	v, err := b.view(ctx, toID(id))
	if err != nil {
		return nil, err
	}
	h := &history{view: v, out: &tasker.TaskHistory{TaskUUID: id}}
	if err := h.tell(ctx); err != nil {
		return nil, err
	}
	return h.out, nil
}

func (h *history) tell(ctx context.Context) error {
	// All changes of one transaction have the same time. Causes are added before effects, and the sort keeps that
	// order: a step before its dependants and its task.
	h.created()
	for _, s := range h.parentsFirst() {
		if err := h.ofStep(ctx, s); err != nil {
			return err
		}
	}
	h.ofTask()
	var err error
	if h.out.ContextEdits, err = contextEdits(h.records.Acts); err != nil {
		return err
	}
	// Stable, to keep the order within a transaction.
	slices.SortStableFunc(h.out.Transitions, func(a, b tasker.Transition) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(h.out.Attempts, func(a, b tasker.Attempt) int { return begun(a).Compare(begun(b)) })
	return nil
}

// begun orders attempts: the time at which a worker received it, or the end of an attempt without a worker.
func begun(a tasker.Attempt) time.Time {
	for _, at := range []*time.Time{a.AssignedAt, a.StartedAt, a.FinishedAt} {
		if at != nil {
			return *at
		}
	}
	return time.Time{}
}

// parentsFirst returns the steps in template order, but none before its parents. With a cycle in a damaged template,
// seen ends the recursion, and the order within the cycle is arbitrary.
func (v *view) parentsFirst() []*task.Step {
	order, seen := make([]*task.Step, 0, len(v.steps)), make([]bool, len(v.steps))
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, p := range v.spec(v.steps[i]).Reads() {
			if p < len(v.steps) { // a row may be missing
				visit(p)
			}
		}
		order = append(order, v.steps[i])
	}
	for i := range v.steps {
		visit(i)
	}
	return order
}

// history builds the history of one task, for one use. Its methods append causes before effects.
type history struct {
	*view
	out *tasker.TaskHistory
}

func (h *history) created() {
	h.add(h.task.CreatedAt, "", string(task.Pending), nil)
	for _, s := range h.steps {
		h.add(h.task.CreatedAt, "", string(task.StepPending), s)
	}
}

// ofTask adds the transitions of the task itself. Without events it was pending, in progress and, perhaps, complete. An
// event names the state before it, so the first one gives the state after the submission.
func (h *history) ofTask() {
	t, events := h.task, h.records.Events
	first := t.State
	switch {
	case len(events) > 0:
		first = events[0].From
	case t.State == task.Complete:
		first = task.StepsInProcess
	}
	if first != task.Pending {
		h.add(t.CreatedAt, string(task.Pending), string(first), nil)
	}
	last := first
	for _, e := range events {
		tr := h.add(e.At, string(e.From), string(e.To), nil)
		tr.Reason = e.Cause
		for _, a := range h.records.Acts { // an operator's act is more specific than the cause
			if a.StepID.IsZero() && a.At == e.At && a.To == string(e.To) {
				tr.Actor, tr.KeyName, tr.Reason = a.Actor, a.Key, a.Reason
			}
		}
		last = e.To
	}
	if t.State == task.Complete && last == task.StepsInProcess {
		h.add(t.FinishedAt, string(task.StepsInProcess), string(task.Complete), nil)
	}
}

// add appends a transition of the task or of a step. The pointer is valid until the next call: the slice may move.
func (h *history) add(at task.Instant, from, to string, s *task.Step) *tasker.Transition {
	tr := tasker.Transition{At: at.Time(), From: from, To: to}
	if s != nil {
		id := toUUID(s.ID)
		tr.StepUUID, tr.StepName = &id, h.spec(s).Name
	}
	h.out.Transitions = append(h.out.Transitions, tr)
	return &h.out.Transitions[len(h.out.Transitions)-1]
}

// ofStep adds the transitions and attempts of a step: the recorded ones, then the present lease or the successful end
// from its row. state is always the last state shown, so the transitions form a chain.
func (h *history) ofStep(ctx context.Context, s *task.Step) error {
	// Every step begins pending, even one that is ready in the transaction of its submission.
	state := task.StepPending
	for _, a := range merged(h.records, s) {
		var err error
		if a.act != nil {
			state = h.act(s, state, a.act)
		} else if state, err = h.attempt(ctx, s, state, a.attempt, true); err != nil {
			return err
		}
	}
	if state == s.State || h.overtaken(s, state) {
		return nil
	}
	if s.State == task.StepSkipped { // no attempt began
		h.add(s.FinishedAt, string(state), string(s.State), s)
		return nil
	}
	if s.State == task.StepWaiting { // no worker has it, so there is no attempt
		h.add(s.ReadyAt, string(state), string(s.State), s)
		return nil
	}
	live := h.untold(s)
	live.After = s.State
	switch {
	case s.State == task.StepComplete:
		live.Outcome = task.Completed
	// The row keeps the end of the previous attempt; this one has not ended.
	case s.State == task.StepEnqueued || s.State == task.StepWaitingForRetry || s.State.Leased():
		live.FinishedAt = 0
	}
	if s.State == task.StepEnqueued { // ready, and not leased
		live.AssignedAt, live.StartedAt = 0, 0
	}
	_, err := h.attempt(ctx, s, state, &live, s.State == task.StepComplete || s.State.Leased())
	return err
}

// overtaken reports whether the records, which were read later, are newer than the step's row; then the row adds
// nothing. Every lease has a larger token than the one before.
func (h *history) overtaken(s *task.Step, told task.StepState) bool {
	switch s.State {
	case task.StepPending, task.StepWaitingForRetry, task.StepErrored, task.StepResolvedManually:
		return true // only a recorded event leads there
	}
	return told.Terminal() || slices.ContainsFunc(h.records.Attempts, func(a task.Attempt) bool {
		return a.StepID == s.ID && (a.Token > s.Token || a.Token == s.Token && s.State.Leased())
	})
}

// untold returns the step's last lease without the times of a recorded attempt: a step cancelled while it waits for a
// retry still has those of the failed attempt. What remains is the time since which the step was ready, if after the
// attempt.
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

// attempt adds the transitions of one lease, and the attempt if listed. It returns the step's next state. A time of 0
// did not happen, and a transition to the same state is not shown.
func (h *history) attempt(ctx context.Context, s *task.Step, state task.StepState, a *task.Attempt, listed bool,
) (task.StepState, error) {
	worker, err := h.worker(ctx, a.WorkerNo)
	if err != nil {
		return state, err
	}
	number := a.Number
	// An assigned step that was not started is charged if its dispatch expired, or without free requeues; then it has a
	// failure.
	charged := a.Failure != nil
	if a.AssignedAt != 0 && a.StartedAt == 0 && !charged {
		number++ // not begun, so not counted: its number would have been the next
	}
	ready := task.StepEnqueued
	if !h.spec(s).Worked() { // it waits for an event outside of workers
		ready = task.StepWaiting
	}
	move := func(at task.Instant, to task.StepState) {
		if at == 0 || state == to {
			return
		}
		tr := h.add(at, string(state), string(to), s)
		if to != ready {
			tr.Attempt, tr.Worker = number, worker
		}
		state = to
	}
	move(a.ReadyAt, ready)
	if ready == task.StepEnqueued {
		// A poll that starts sets both times alike: there is no transition to show.
		if a.AssignedAt >= a.ReadyAt && (a.StartedAt == 0 || a.AssignedAt < a.StartedAt) {
			move(a.AssignedAt, task.StepAssigned)
		}
		move(a.StartedAt, task.StepInProgress)
	}
	if a.FinishedAt != 0 {
		if tr := len(h.out.Transitions); a.After != "" {
			move(a.FinishedAt, a.After)
			if len(h.out.Transitions) > tr {
				h.out.Transitions[tr].Reason = why(a)
			}
		}
	}
	if listed {
		h.out.Attempts = append(h.out.Attempts, h.toAttempt(s, a, number, worker))
	}
	return state, nil
}

// why returns the reason for a lease's end, unless it follows from the states. The outcomes in the second case end a
// lease without a failure.
func why(a *task.Attempt) string {
	switch {
	case a.Failure != nil:
		return a.Failure.Message
	case a.Outcome == task.Released, a.Outcome == task.Snoozed, a.Outcome == task.NotStarted,
		a.Outcome == task.LeaseExpired:
		return string(a.Outcome)
	}
	return ""
}

// toAttempt converts an attempt. A deleted worker has a name and no ID. Lease is the number of the lease, not the
// secret token of the worker.
func (h *history) toAttempt(s *task.Step, a *task.Attempt, number int, worker string) tasker.Attempt {
	out := tasker.Attempt{StepUUID: toUUID(s.ID), StepName: h.spec(s).Name, Attempt: number, Lease: a.Token,
		Worker: worker, Outcome: string(a.Outcome), ReadyAt: a.ReadyAt.Ptr(), AssignedAt: a.AssignedAt.Ptr(),
		StartedAt: a.StartedAt.Ptr(), FinishedAt: a.FinishedAt.Ptr()}
	if id, known := h.workerIDs[worker]; known {
		out.WorkerID = &id
	}
	if a.Failure != nil {
		out.Error = fromFailure(a.Failure)
	}
	return out
}

// act adds an operator's act on a step. If it ended a lease or failed a wait, the attempt has the transition. If it
// took the step out of its queue, or ended its wait, no record shows yet that the step was there; the act was the
// step's last event, so its row still shows it.
func (h *history) act(s *task.Step, state task.StepState, a *task.Act) task.StepState {
	from := task.StepState(a.From)
	if (from == task.StepEnqueued || from == task.StepWaiting) && state != from && string(state) != a.To {
		ready := s.ReadyAt
		if at := waitOf(a).ReadyAt; at != 0 { // the step may have been repaired since
			ready = task.Instant(at)
		}
		h.add(ready, string(state), a.From, s)
		state = from
	}
	tr := &h.out.Transitions[len(h.out.Transitions)-1]
	if string(state) != a.To {
		tr = h.add(a.At, string(state), a.To, s)
	}
	tr.Actor, tr.KeyName, tr.Reason = a.Actor, a.Key, a.Reason
	return task.StepState(a.To)
}

type record struct {
	attempt *task.Attempt
	act     *task.Act
}

// merged returns the records of one step in the order of writing. An act follows the attempt that it ended. Both lists
// are sorted by time.
func merged(r engine.Records, s *task.Step) []record {
	var out []record
	acts := r.Acts
	for i := range r.Attempts {
		a := &r.Attempts[i]
		if a.StepID != s.ID {
			continue
		}
		// Strictly before: an act of the same time follows the attempt that it ended.
		for len(acts) > 0 && acts[0].At < a.FinishedAt {
			if acts[0].StepID == s.ID {
				out = append(out, record{act: &acts[0]})
			}
			acts = acts[1:]
		}
		out = append(out, record{attempt: a})
	}
	for i := range acts {
		if acts[i].StepID == s.ID {
			out = append(out, record{act: &acts[i]})
		}
	}
	return out
}
