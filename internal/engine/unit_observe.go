package engine

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// This file is how a unit of work tells the observer what it did. Without an
// observer each of these is one comparison.

// newCommit returns an empty Commit, nil when nobody watches.
func (e *Engine) newCommit() *Commit {
	if e.observer == nil {
		return nil
	}
	if c, ok := e.commits.Get().(*Commit); ok {
		return c
	}
	return &Commit{PriorityName: e.PriorityName}
}

// reset empties a Commit and keeps its memory.
func (c *Commit) reset() {
	clear(c.Ended) // drops what it points to
	clear(c.Transitions)
	*c = Commit{PriorityName: c.PriorityName, Submitted: c.Submitted[:0], Handed: c.Handed[:0], Started: c.Started[:0], Ended: c.Ended[:0],
		Settled: c.Settled[:0], TaskMoves: c.TaskMoves[:0], StepMoves: c.StepMoves[:0], Transitions: c.Transitions[:0]}
}

// startObserving returns the time, or the zero time when nobody watches.
func (e *Engine) startObserving() time.Time {
	if e.observer == nil {
		return time.Time{}
	}
	return e.now()
}

func (e *Engine) observeFailure(verb string, began time.Time, err error) {
	if e.observer != nil {
		e.observer.Failed(verb, e.now().Sub(began), err)
	}
}

func (e *Engine) observeCommit(verb string, began time.Time, u *unit) {
	c := u.commit
	if c == nil {
		return
	}
	c.Verb, c.At, c.Took, c.Names = verb, u.now, e.now().Sub(began), e.catalog
	for _, a := range u.acts {
		if a.Kind != task.ActGiveUp { // no operator's
			c.Acts = append(c.Acts, a.Kind)
		}
	}
	e.observer.Committed(c)
	c.reset()
	e.commits.Put(c)
	u.commit = nil
}

func (u *unit) observeSubmitted(t *task.Task) {
	u.record(TaskSubmitted, t, "", "")
	if u.commit != nil {
		u.commit.Submitted = append(u.commit.Submitted, t.DefID)
		u.commit.TaskMoves = append(u.commit.TaskMoves, TaskMove{To: t.State})
		u.observeTask(t, "")
	}
}

// observeHanded is for a step that is about to be handed out.
func (u *unit) observeHanded(s *task.Step, worker int64, start bool) {
	if u.commit == nil {
		return
	}
	u.commit.Handed = append(u.commit.Handed, Handed{RouteID: s.RouteID, Worker: worker, Priority: s.Priority, ReadyAt: s.ReadyAt})
	if start { // the rest of the step is still that of the lease before
		u.commit.Started = append(u.commit.Started, Started{RouteID: s.RouteID, AssignedAt: u.now})
	}
}

func (u *unit) observeStarted(s *task.Step) {
	if u.commit != nil {
		u.commit.Started = append(u.commit.Started, Started{RouteID: s.RouteID, AssignedAt: s.AssignedAt})
	}
}

func (u *unit) observeRefused() {
	if u.commit != nil {
		u.commit.Refused++
	}
}

// observeCompleted is for an attempt that ended in success, which has no record.
func (u *unit) observeCompleted(w Work) {
	if u.commit == nil {
		return
	}
	if w.Task.Meta.TraceParent == "" { // the rule; and an attempt is large
		u.commit.Ended = append(u.commit.Ended, Ended{RouteID: w.Step.RouteID, Priority: w.Step.Priority, Outcome: task.Completed, After: w.Step.State,
			StartedAt: w.Step.StartedAt, Number: w.Step.Attempts})
		return
	}
	a := w.Step.EndAttempt(u.now, task.Completed, nil)
	a.After = w.Step.State
	u.observeEnded(w, a)
}

func (u *unit) observeEnded(w Work, a task.Attempt) {
	if u.commit == nil || a.Token == 0 { // a wait that was cut off is no attempt
		return
	}
	e := Ended{RouteID: w.Step.RouteID, Priority: w.Step.Priority, Outcome: a.Outcome, After: a.After, StartedAt: a.StartedAt, Number: a.Number}
	if a.Failure != nil {
		e.Class = a.Failure.Class
	}
	if w.Task != nil && w.Task.Meta.TraceParent != "" {
		e.Traced = &TracedAttempt{Attempt: a, Parent: w.Task.Meta.TraceParent, DefID: w.Step.DefID, Ordinal: w.Step.Ordinal}
	}
	u.commit.Ended = append(u.commit.Ended, e)
}

// observeLeft is for a task that has left a state.
func (u *unit) observeLeft(t *task.Task, was task.State) {
	if u.commit == nil {
		return
	}
	u.commit.TaskMoves = append(u.commit.TaskMoves, TaskMove{was, t.State})
	u.observeTask(t, was)
	switch {
	case t.State.Settled():
		u.commit.Settled = append(u.commit.Settled, Settled{DefID: t.DefID, Priority: t.Priority, State: t.State, CreatedAt: t.CreatedAt})
	case was == task.Errored:
		u.commit.Reopened = append(u.commit.Reopened, t.DefID)
	}
}

// observeMoved is for a step that came to another state, "" for one that is new. Hand-outs,
// starts and ends of attempts are told by themselves.
func (u *unit) observeMoved(w Work, from task.StepState) {
	if u.commit == nil {
		return
	}
	u.observeStep(w, from)
	if to := w.Step.State; !from.Leased() && !to.Leased() {
		u.commit.StepMoves = append(u.commit.StepMoves, StepMove{from, to})
	}
}

// observeKnown is for a submission that finds its task there already.
func (u *unit) observeKnown() {
	if u.commit != nil {
		u.commit.Known++
	}
}

// observePromoted is for a step that had another key before.
func (u *unit) observePromoted(s *task.Step, was int64) {
	if u.commit == nil || u.order.Mode == task.Aging { // there what had a key of another order got one of this
		return
	}
	if from, to := task.KeyLevel(was), task.KeyLevel(s.Key); from != to {
		u.commit.Promoted = append(u.commit.Promoted, Promoted{from, to})
	}
}

// observeWorkersFailed is for workers whose state was changed, if they came to the one given.
func (e *Engine) observeWorkersFailed(done []changedWorker, to task.WorkerState, reason string) {
	if e.observer == nil {
		return
	}
	for _, c := range done {
		if c.err == nil && c.worker.State == to && c.before.State != to {
			e.observer.WorkerFailed(reason)
		}
	}
}

func (u *unit) observeBreaker(w *task.Worker) {
	if u.commit != nil {
		u.commit.Turned = append(u.commit.Turned, BreakerTurned{Worker: w.ID, Name: w.Name, Open: w.BrokenAt != 0})
	}
}

func (u *unit) observeOpened(t *task.Task, c *task.Case) {
	u.recordCase(CaseBegun, t, c)
	if u.commit != nil {
		u.commit.Opened = append(u.commit.Opened, observedCase(t, c))
	}
}

// observeRecurred is for a pending case that tells of its task once more.
func (u *unit) observeRecurred(t *task.Task, c *task.Case) {
	if u.commit != nil {
		u.commit.Recurred = append(u.commit.Recurred, observedCase(t, c))
	}
}

func observedCase(t *task.Task, c *task.Case) CaseOpened {
	return CaseOpened{CaseID: c.ID, TaskID: t.ID, Reason: string(c.Reason), Cause: c.Cause, Class: c.Class, OriginalState: c.OriginalState,
		Parent: t.Meta.TraceParent}
}

func (u *unit) observeResolved(t *task.Task, c *task.Case) {
	u.recordCase(CaseEnded, t, c)
	if u.commit != nil {
		u.commit.Resolved = append(u.commit.Resolved, CaseResolved{CaseID: c.ID, TaskID: t.ID, Reason: string(c.Reason), Status: string(c.Status),
			OpenedAt: c.OpenedAt, Parent: t.Meta.TraceParent})
	}
}

// attemptTrace returns the trace context for the worker of a step that has just
// been handed out, "" when its task has none.
func (u *unit) attemptTrace(w Work) string {
	parent := w.Task.Meta.TraceParent
	if parent == "" || u.e.observer == nil {
		return parent
	}
	return u.e.observer.AttemptTrace(parent, w.Step.ID, w.Step.Token)
}

// NamesOfRoute implements Names.
func (c *catalog) NamesOfRoute(id int64) *task.Route {
	r, err := c.findRoute(context.Background(), id)
	if err != nil {
		return nil
	}
	return r
}

// NamesOfTemplate implements Names.
func (c *catalog) NamesOfTemplate(def int64) *task.Template {
	t, err := c.template(def, func(def int64) (*task.Template, error) { return c.store.FindTemplateByDef(context.Background(), def) })
	if err != nil {
		return nil
	}
	return t
}
