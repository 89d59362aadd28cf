package kernel

import (
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Without an observer, each of these methods is one comparison.

type observed struct {
	u *Unit

	Commit    *Commit // nil without an observer
	recording bool    // the feed has listeners
	// repeats counts earlier runs without a commit.
	verb    string
	began   time.Time
	repeats int
	changes []feed.Change
}

func ObserverFeature() Feature {
	return Feature{
		Name:  "observer",
		Moved: func(u *Unit, w Work, from task.StepState) { u.Observed.Moved(w, from) },
		Left: func(u *Unit, d Departure) {
			u.Observed.left(d.Task, d.Was)
			u.Observed.record(feed.TaskMoved, d.Task, d.Was, d.cause)
		},
		After: []FollowUp{{afterObserver, "observer", func(u *Unit) {
			if u.Observed.Commit != nil {
				u.Observed.Commit.Repeats = u.Observed.repeats
			}
			u.E.observeCommit(u.Observed.verb, u.Observed.began, u)
		}}},
	}
}

func (e *Kernel) newCommit() *Commit {
	if e.Observer == nil {
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

func (e *Kernel) startObserving() time.Time {
	if e.Observer == nil {
		return time.Time{}
	}
	return e.Clock()
}

func (e *Kernel) observeFailure(verb string, began time.Time, err error) {
	if e.Observer != nil {
		e.Observer.Failed(verb, e.Clock().Sub(began), err)
	}
}

// The observer must not keep the Commit, which returns to the pool.
func (e *Kernel) observeCommit(verb string, began time.Time, u *Unit) {
	c := u.Observed.Commit
	if c == nil {
		return
	}
	c.Verb, c.At, c.Took, c.Names = verb, u.Now, e.Clock().Sub(began), e.Catalog
	for _, a := range u.Records.Acts {
		if a.Kind != task.ActGiveUp && a.Kind != task.ActCompensate { // not an operator's
			c.Acts = append(c.Acts, a.Kind)
		}
	}
	e.Observer.Committed(c)
	c.reset()
	e.commits.Put(c)
	u.Observed.Commit = nil
}

func (ob *observed) Submitted(t *task.Task) {
	ob.record(feed.TaskSubmitted, t, "", "")
	if ob.Commit != nil {
		ob.Commit.Submitted = append(ob.Commit.Submitted, t.DefID)
		ob.Commit.TaskMoves = append(ob.Commit.TaskMoves, TaskMove{To: t.State})
		ob.taskMoved(t, "")
	}
}

func (ob *observed) handed(s *task.Step, worker int64, start bool) {
	if ob.Commit == nil {
		return
	}
	ob.Commit.Handed = append(ob.Commit.Handed, Handed{RouteID: s.RouteID, Worker: worker, Priority: s.Priority,
		ReadyAt: s.ReadyAt})
	if start { // the step's other fields still belong to the earlier lease
		ob.Commit.Started = append(ob.Commit.Started, Started{RouteID: s.RouteID, AssignedAt: ob.u.Now})
	}
}

func (ob *observed) started(s *task.Step) {
	if ob.Commit != nil {
		ob.Commit.Started = append(ob.Commit.Started, Started{RouteID: s.RouteID, AssignedAt: s.AssignedAt})
	}
}

func (ob *observed) refused() {
	if ob.Commit != nil {
		ob.Commit.Refused++
	}
}

// A success has no row.
func (ob *observed) completed(w Work) {
	if ob.Commit == nil {
		return
	}
	if w.Task.Meta.TraceParent == "" { // usual case; an attempt is large
		ob.Commit.Ended = append(ob.Commit.Ended, Ended{RouteID: w.Step.RouteID, Worker: w.Step.WorkerNo,
			Priority: w.Step.Priority, Outcome: task.Completed, After: w.Step.State,
			StartedAt: w.Step.StartedAt, Number: w.Step.Attempts})
		return
	}
	a := w.Step.EndAttempt(ob.u.Now, task.Completed, nil)
	a.After = w.Step.State
	ob.ended(w, a)
}

// ended includes data for a span if the task is traced.
func (ob *observed) ended(w Work, a task.Attempt) {
	if ob.Commit == nil || a.Token == 0 { // a cut wait is no attempt
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
	ob.Commit.Ended = append(ob.Commit.Ended, e)
}

func (ob *observed) left(t *task.Task, was task.State) {
	if ob.Commit == nil {
		return
	}
	ob.Commit.TaskMoves = append(ob.Commit.TaskMoves, TaskMove{was, t.State})
	ob.taskMoved(t, was)
	switch {
	case t.State.Settled():
		ob.Commit.Settled = append(ob.Commit.Settled,
			Settled{DefID: t.DefID, Priority: t.Priority, State: t.State, CreatedAt: t.CreatedAt})
	case was == task.Errored:
		ob.Commit.Reopened = append(ob.Commit.Reopened, t.DefID)
	}
}

// from is "" for a new step. Hand-outs, starts and ends of attempts are recorded separately.
func (ob *observed) Moved(w Work, from task.StepState) {
	if ob.Commit == nil {
		return
	}
	ob.stepMoved(w, from)
	if to := w.Step.State; !from.Leased() && !to.Leased() {
		ob.Commit.StepMoves = append(ob.Commit.StepMoves, StepMove{from, to})
	}
}

func (ob *observed) Known() {
	if ob.Commit != nil {
		ob.Commit.Known++
	}
}

func (ob *observed) Unique(outcome UniqueOutcome, n int) {
	if ob.Commit != nil {
		ob.Commit.Unique[slices.Index(UniqueOutcomes, outcome)] += n
	}
}

func (ob *observed) promoted(s *task.Step, was int64) {
	if ob.Commit == nil || ob.u.Order.Mode == task.Aging { // under Aging, the old key had another order
		return
	}
	if from, to := task.KeyLevel(was), task.KeyLevel(s.Key); from != to {
		ob.Commit.Promoted = append(ob.Commit.Promoted, Promoted{from, to})
	}
}

func (e *Kernel) observeWorkersFailed(done []changedWorker, to task.WorkerState, reason string) {
	if e.Observer == nil {
		return
	}
	for _, c := range done {
		if c.err == nil && c.worker.State == to && c.before.State != to {
			e.Observer.WorkerFailed(reason)
		}
	}
}

func (ob *observed) breaker(w *task.Worker) {
	if ob.Commit != nil {
		ob.Commit.Turned = append(ob.Commit.Turned, BreakerTurned{Worker: w.ID, Name: w.Name, Open: w.BrokenAt != 0})
	}
}

func (ob *observed) CaseOpened(t *task.Task, c *task.Case) {
	ob.recordCase(feed.CaseBegun, t, c)
	if ob.Commit != nil {
		ob.Commit.Opened = append(ob.Commit.Opened, observedCase(t, c))
	}
}

func (ob *observed) CaseRecurred(t *task.Task, c *task.Case) {
	if ob.Commit != nil {
		ob.Commit.Recurred = append(ob.Commit.Recurred, observedCase(t, c))
	}
}

func observedCase(t *task.Task, c *task.Case) CaseOpened {
	return CaseOpened{CaseID: c.ID, TaskID: t.ID, Reason: string(c.Reason), Cause: c.Cause, Class: c.Class,
		OriginalState: c.OriginalState,
		Parent:        t.Meta.TraceParent}
}

func (ob *observed) CaseResolved(t *task.Task, c *task.Case) {
	ob.recordCase(feed.CaseEnded, t, c)
	if ob.Commit != nil {
		ob.Commit.Resolved = append(ob.Commit.Resolved,
			CaseResolved{CaseID: c.ID, TaskID: t.ID, Reason: string(c.Reason), Status: string(c.Status),
				OpenedAt: c.OpenedAt, Parent: t.Meta.TraceParent})
	}
}

func (ob *observed) attemptTrace(w Work) string {
	parent := w.Task.Meta.TraceParent
	if parent == "" || ob.u.E.Observer == nil {
		return parent
	}
	return ob.u.E.Observer.AttemptTrace(parent, w.Step.ID, w.Step.Token)
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
	ob.changes = append(ob.changes, feed.Change{Kind: kind, At: ob.u.Now, Task: t.ID, DefID: t.DefID, Priority: t.Priority,
		CorrelationID: t.CorrelationID, Tags: t.Meta.Tags, From: from, To: t.State, Cause: cause})
}

func (ob *observed) recordCase(kind feed.ChangeKind, t *task.Task, c *task.Case) {
	if !ob.recording {
		return
	}
	ob.changes = append(ob.changes, feed.Change{Kind: kind, At: ob.u.Now, Task: t.ID, DefID: t.DefID, Priority: t.Priority,
		CorrelationID: t.CorrelationID, Tags: t.Meta.Tags, Case: c.ID, Reason: string(c.Reason), Status: string(c.Status)})
}
