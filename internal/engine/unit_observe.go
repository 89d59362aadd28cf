package engine

import (
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
)

// This file records the effects of a unit of work for the observer. Without an observer, each of these methods is one
// comparison.

// observed holds the reports of a unit to the observer and to listeners.
type observed struct {
	u *unit

	commit    *Commit // nil: there is no observer
	recording bool    // the feed has listeners
	// verb, began and repeats are for the commit: repeats counts the earlier runs that were not committed.
	verb    string
	began   time.Time
	repeats int
	changes []feed.Change
}

func observerFeature() feature {
	return feature{
		name:  "observer",
		moved: func(u *unit, w Work, from task.StepState) { u.observed.moved(w, from) },
		left: func(u *unit, d departure) {
			u.observed.left(d.task, d.was)
			u.observed.record(feed.TaskMoved, d.task, d.was, d.cause)
		},
		after: []followUp{{afterObserver, "observer", func(u *unit) {
			if u.observed.commit != nil {
				u.observed.commit.Repeats = u.observed.repeats
			}
			u.e.observeCommit(u.observed.verb, u.observed.began, u)
		}}},
	}
}

// newCommit returns an empty Commit, or nil without an observer.
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
	clear(c.Ended) // drops the pointers
	clear(c.Transitions)
	*c = Commit{PriorityName: c.PriorityName, Submitted: c.Submitted[:0], Handed: c.Handed[:0], Started: c.Started[:0],
		Ended:   c.Ended[:0],
		Settled: c.Settled[:0], TaskMoves: c.TaskMoves[:0], StepMoves: c.StepMoves[:0], Transitions: c.Transitions[:0]}
}

// startObserving returns the time, or the zero time without an observer.
func (e *Engine) startObserving() time.Time {
	if e.observer == nil {
		return time.Time{}
	}
	return e.now()
}

// observeFailure reports a transaction that was not committed.
func (e *Engine) observeFailure(verb string, began time.Time, err error) {
	if e.observer != nil {
		e.observer.Failed(verb, e.now().Sub(began), err)
	}
}

// observeCommit completes the Commit of a unit, reports it, and returns it to the pool: the
// observer must not keep it.
func (e *Engine) observeCommit(verb string, began time.Time, u *unit) {
	c := u.observed.commit
	if c == nil {
		return
	}
	c.Verb, c.At, c.Took, c.Names = verb, u.now, e.now().Sub(began), e.catalog
	for _, a := range u.records.acts {
		if a.Kind != task.ActGiveUp && a.Kind != task.ActCompensate { // not an operator's
			c.Acts = append(c.Acts, a.Kind)
		}
	}
	e.observer.Committed(c)
	c.reset()
	e.commits.Put(c)
	u.observed.commit = nil
}

// submitted records a new task.
func (ob *observed) submitted(t *task.Task) {
	ob.record(feed.TaskSubmitted, t, "", "")
	if ob.commit != nil {
		ob.commit.Submitted = append(ob.commit.Submitted, t.DefID)
		ob.commit.TaskMoves = append(ob.commit.TaskMoves, TaskMove{To: t.State})
		ob.taskMoved(t, "")
	}
}

// handed records a step that is about to be handed out.
func (ob *observed) handed(s *task.Step, worker int64, start bool) {
	if ob.commit == nil {
		return
	}
	ob.commit.Handed = append(ob.commit.Handed, Handed{RouteID: s.RouteID, Worker: worker, Priority: s.Priority,
		ReadyAt: s.ReadyAt})
	if start { // the step's other fields still belong to the lease before
		ob.commit.Started = append(ob.commit.Started, Started{RouteID: s.RouteID, AssignedAt: ob.u.now})
	}
}

// started records an attempt that begins.
func (ob *observed) started(s *task.Step) {
	if ob.commit != nil {
		ob.commit.Started = append(ob.commit.Started, Started{RouteID: s.RouteID, AssignedAt: s.AssignedAt})
	}
}

// refused records a call under a token that is not in force.
func (ob *observed) refused() {
	if ob.commit != nil {
		ob.commit.Refused++
	}
}

// completed records an attempt that ended in success, which has no row.
func (ob *observed) completed(w Work) {
	if ob.commit == nil {
		return
	}
	if w.Task.Meta.TraceParent == "" { // the usual case; and an attempt is large
		ob.commit.Ended = append(ob.commit.Ended, Ended{RouteID: w.Step.RouteID, Worker: w.Step.WorkerNo,
			Priority: w.Step.Priority, Outcome: task.Completed, After: w.Step.State,
			StartedAt: w.Step.StartedAt, Number: w.Step.Attempts})
		return
	}
	a := w.Step.EndAttempt(ob.u.now, task.Completed, nil)
	a.After = w.Step.State
	ob.ended(w, a)
}

// ended records an attempt that ended, with what a span needs if its task is traced.
func (ob *observed) ended(w Work, a task.Attempt) {
	if ob.commit == nil || a.Token == 0 { // a wait that was cut off is no attempt
		return
	}
	e := Ended{RouteID: w.Step.RouteID, Worker: a.WorkerNo, Priority: w.Step.Priority, Outcome: a.Outcome,
		After: a.After, StartedAt: a.StartedAt, Number: a.Number, Blames: task.WorkersFault(a.Outcome, a.Failure)}
	if a.Failure != nil {
		e.Class = a.Failure.Class
	}
	if w.Task != nil && w.Task.Meta.TraceParent != "" {
		e.Traced = &TracedAttempt{Attempt: a, Parent: w.Task.Meta.TraceParent, DefID: w.Step.DefID, Ordinal: w.Step.Ordinal}
	}
	ob.commit.Ended = append(ob.commit.Ended, e)
}

// left records a task that has left a state.
func (ob *observed) left(t *task.Task, was task.State) {
	if ob.commit == nil {
		return
	}
	ob.commit.TaskMoves = append(ob.commit.TaskMoves, TaskMove{was, t.State})
	ob.taskMoved(t, was)
	switch {
	case t.State.Settled():
		ob.commit.Settled = append(ob.commit.Settled,
			Settled{DefID: t.DefID, Priority: t.Priority, State: t.State, CreatedAt: t.CreatedAt})
	case was == task.Errored:
		ob.commit.Reopened = append(ob.commit.Reopened, t.DefID)
	}
}

// moved records a step that changed to another state, from "" for a new one. Hand-outs, starts and ends of attempts are
// recorded separately.
func (ob *observed) moved(w Work, from task.StepState) {
	if ob.commit == nil {
		return
	}
	ob.stepMoved(w, from)
	if to := w.Step.State; !from.Leased() && !to.Leased() {
		ob.commit.StepMoves = append(ob.commit.StepMoves, StepMove{from, to})
	}
}

// known records a submission that found its task already stored.
func (ob *observed) known() {
	if ob.commit != nil {
		ob.commit.Known++
	}
}

// unique records what unique keys did to n submissions.
func (ob *observed) unique(outcome UniqueOutcome, n int) {
	if ob.commit != nil {
		ob.commit.Unique[slices.Index(UniqueOutcomes, outcome)] += n
	}
}

// promoted records a step whose key has changed.
func (ob *observed) promoted(s *task.Step, was int64) {
	if ob.commit == nil || ob.u.order.Mode == task.Aging { // under Aging, a key of another order was replaced
		return
	}
	if from, to := task.KeyLevel(was), task.KeyLevel(s.Key); from != to {
		ob.commit.Promoted = append(ob.commit.Promoted, Promoted{from, to})
	}
}

// observeWorkersFailed reports workers whose state was changed to the one given.
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

// breaker records a circuit breaker that opened or closed.
func (ob *observed) breaker(w *task.Worker) {
	if ob.commit != nil {
		ob.commit.Turned = append(ob.commit.Turned, BreakerTurned{Worker: w.ID, Name: w.Name, Open: w.BrokenAt != 0})
	}
}

// caseOpened records a new case.
func (ob *observed) caseOpened(t *task.Task, c *task.Case) {
	ob.recordCase(feed.CaseBegun, t, c)
	if ob.commit != nil {
		ob.commit.Opened = append(ob.commit.Opened, observedCase(t, c))
	}
}

// caseRecurred records another occurrence of a pending case.
func (ob *observed) caseRecurred(t *task.Task, c *task.Case) {
	if ob.commit != nil {
		ob.commit.Recurred = append(ob.commit.Recurred, observedCase(t, c))
	}
}

// observedCase is the report of a case's latest occurrence.
func observedCase(t *task.Task, c *task.Case) CaseOpened {
	return CaseOpened{CaseID: c.ID, TaskID: t.ID, Reason: string(c.Reason), Cause: c.Cause, Class: c.Class,
		OriginalState: c.OriginalState,
		Parent:        t.Meta.TraceParent}
}

// caseResolved records a case that was resolved.
func (ob *observed) caseResolved(t *task.Task, c *task.Case) {
	ob.recordCase(feed.CaseEnded, t, c)
	if ob.commit != nil {
		ob.commit.Resolved = append(ob.commit.Resolved,
			CaseResolved{CaseID: c.ID, TaskID: t.ID, Reason: string(c.Reason), Status: string(c.Status),
				OpenedAt: c.OpenedAt, Parent: t.Meta.TraceParent})
	}
}

// attemptTrace returns the trace context for the worker of a step that has just been handed out, "" when its task has
// none.
func (ob *observed) attemptTrace(w Work) string {
	parent := w.Task.Meta.TraceParent
	if parent == "" || ob.u.e.observer == nil {
		return parent
	}
	return ob.u.e.observer.AttemptTrace(parent, w.Step.ID, w.Step.Token)
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
	t, err := c.template(context.Background(), def, c.store.FindTemplateByDef)
	if err != nil {
		return nil
	}
	return t
}

// record records a change of a task by the transaction.
func (ob *observed) record(kind feed.ChangeKind, t *task.Task, from task.State, cause string) {
	if !ob.recording {
		return
	}
	ob.changes = append(ob.changes, feed.Change{Kind: kind, At: ob.u.now, Task: t.ID, DefID: t.DefID, Priority: t.Priority,
		CorrelationID: t.CorrelationID, Tags: t.Meta.Tags, From: from, To: t.State, Cause: cause})
}

// recordCase records a change of a case by the transaction.
func (ob *observed) recordCase(kind feed.ChangeKind, t *task.Task, c *task.Case) {
	if !ob.recording {
		return
	}
	ob.changes = append(ob.changes, feed.Change{Kind: kind, At: ob.u.now, Task: t.ID, DefID: t.DefID, Priority: t.Priority,
		CorrelationID: t.CorrelationID, Tags: t.Meta.Tags, Case: c.ID, Reason: string(c.Reason), Status: string(c.Status)})
}
