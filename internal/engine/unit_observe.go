package engine

import (
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Without an observer, each of these methods is one comparison.

type observed struct {
	u *unit

	commit    *Commit // nil without an observer
	recording bool    // the feed has listeners
	// repeats counts earlier runs without a commit.
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

func (e *Engine) newCommit() *Commit {
	if e.observer == nil {
		return nil
	}
	if c, ok := e.commits.Get().(*Commit); ok {
		return c
	}
	return &Commit{PriorityName: e.PriorityName}
}

func (c *Commit) reset() {
	clear(c.Ended)
	clear(c.Transitions)
	*c = Commit{PriorityName: c.PriorityName, Submitted: c.Submitted[:0], Handed: c.Handed[:0], Started: c.Started[:0],
		Ended:   c.Ended[:0],
		Settled: c.Settled[:0], TaskMoves: c.TaskMoves[:0], StepMoves: c.StepMoves[:0], Transitions: c.Transitions[:0]}
}

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

// The observer must not keep the Commit, which returns to the pool.
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

func (ob *observed) submitted(t *task.Task) {
	ob.record(feed.TaskSubmitted, t, "", "")
	if ob.commit != nil {
		ob.commit.Submitted = append(ob.commit.Submitted, t.DefID)
		ob.commit.TaskMoves = append(ob.commit.TaskMoves, TaskMove{To: t.State})
		ob.taskMoved(t, "")
	}
}

func (ob *observed) handed(s *task.Step, worker int64, start bool) {
	if ob.commit == nil {
		return
	}
	ob.commit.Handed = append(ob.commit.Handed, Handed{RouteID: s.RouteID, Worker: worker, Priority: s.Priority,
		ReadyAt: s.ReadyAt})
	if start { // the step's other fields still belong to the earlier lease
		ob.commit.Started = append(ob.commit.Started, Started{RouteID: s.RouteID, AssignedAt: ob.u.now})
	}
}

func (ob *observed) started(s *task.Step) {
	if ob.commit != nil {
		ob.commit.Started = append(ob.commit.Started, Started{RouteID: s.RouteID, AssignedAt: s.AssignedAt})
	}
}

func (ob *observed) refused() {
	if ob.commit != nil {
		ob.commit.Refused++
	}
}

// A success has no row.
func (ob *observed) completed(w Work) {
	if ob.commit == nil {
		return
	}
	if w.Task.Meta.TraceParent == "" { // usual case; an attempt is large
		ob.commit.Ended = append(ob.commit.Ended, Ended{RouteID: w.Step.RouteID, Worker: w.Step.WorkerNo,
			Priority: w.Step.Priority, Outcome: task.Completed, After: w.Step.State,
			StartedAt: w.Step.StartedAt, Number: w.Step.Attempts})
		return
	}
	a := w.Step.EndAttempt(ob.u.now, task.Completed, nil)
	a.After = w.Step.State
	ob.ended(w, a)
}

// ended includes data for a span if the task is traced.
func (ob *observed) ended(w Work, a task.Attempt) {
	if ob.commit == nil || a.Token == 0 { // a cut wait is no attempt
		return
	}
	e := Ended{RouteID: w.Step.RouteID, Worker: a.WorkerNo, Priority: w.Step.Priority, Outcome: a.Outcome,
		After: a.After, StartedAt: a.StartedAt, Number: a.Number, Blames: task.WorkersFault(a.Outcome, a.Failure)}
	if a.Failure != nil {
		e.Class = a.Failure.Class
	}
	if a.Outcome.Lost() {
		e.LostSince = a.AssignedAt
	}
	if w.Task != nil && w.Task.Meta.TraceParent != "" {
		e.Traced = &TracedAttempt{Attempt: a, Parent: w.Task.Meta.TraceParent, DefID: w.Step.DefID, Ordinal: w.Step.Ordinal}
	}
	ob.commit.Ended = append(ob.commit.Ended, e)
}

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

// from is "" for a new step. Hand-outs, starts and ends of attempts are recorded separately.
func (ob *observed) moved(w Work, from task.StepState) {
	if ob.commit == nil {
		return
	}
	ob.stepMoved(w, from)
	if to := w.Step.State; !from.Leased() && !to.Leased() {
		ob.commit.StepMoves = append(ob.commit.StepMoves, StepMove{from, to})
	}
}

func (ob *observed) known() {
	if ob.commit != nil {
		ob.commit.Known++
	}
}

func (ob *observed) unique(outcome UniqueOutcome, n int) {
	if ob.commit != nil {
		ob.commit.Unique[slices.Index(UniqueOutcomes, outcome)] += n
	}
}

func (ob *observed) promoted(s *task.Step, was int64) {
	if ob.commit == nil || ob.u.order.Mode == task.Aging { // under Aging, the old key had another order
		return
	}
	if from, to := task.KeyLevel(was), task.KeyLevel(s.Key); from != to {
		ob.commit.Promoted = append(ob.commit.Promoted, Promoted{from, to})
	}
}

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

func (ob *observed) breaker(w *task.Worker) {
	if ob.commit != nil {
		ob.commit.Turned = append(ob.commit.Turned, BreakerTurned{Worker: w.ID, Name: w.Name, Open: w.BrokenAt != 0})
	}
}

func (ob *observed) caseOpened(t *task.Task, c *task.Case) {
	ob.recordCase(feed.CaseBegun, t, c)
	if ob.commit != nil {
		ob.commit.Opened = append(ob.commit.Opened, observedCase(t, c))
	}
}

func (ob *observed) caseRecurred(t *task.Task, c *task.Case) {
	if ob.commit != nil {
		ob.commit.Recurred = append(ob.commit.Recurred, observedCase(t, c))
	}
}

func observedCase(t *task.Task, c *task.Case) CaseOpened {
	return CaseOpened{CaseID: c.ID, TaskID: t.ID, Reason: string(c.Reason), Cause: c.Cause, Class: c.Class,
		OriginalState: c.OriginalState,
		Parent:        t.Meta.TraceParent}
}

func (ob *observed) caseResolved(t *task.Task, c *task.Case) {
	ob.recordCase(feed.CaseEnded, t, c)
	if ob.commit != nil {
		ob.commit.Resolved = append(ob.commit.Resolved,
			CaseResolved{CaseID: c.ID, TaskID: t.ID, Reason: string(c.Reason), Status: string(c.Status),
				OpenedAt: c.OpenedAt, Parent: t.Meta.TraceParent})
	}
}

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

func (ob *observed) record(kind feed.ChangeKind, t *task.Task, from task.State, cause string) {
	if !ob.recording {
		return
	}
	ob.changes = append(ob.changes, feed.Change{Kind: kind, At: ob.u.now, Task: t.ID, DefID: t.DefID, Priority: t.Priority,
		CorrelationID: t.CorrelationID, Tags: t.Meta.Tags, From: from, To: t.State, Cause: cause})
}

func (ob *observed) recordCase(kind feed.ChangeKind, t *task.Task, c *task.Case) {
	if !ob.recording {
		return
	}
	ob.changes = append(ob.changes, feed.Change{Kind: kind, At: ob.u.now, Task: t.ID, DefID: t.DefID, Priority: t.Priority,
		CorrelationID: t.CorrelationID, Tags: t.Meta.Tags, Case: c.ID, Reason: string(c.Reason), Status: string(c.Status)})
}
