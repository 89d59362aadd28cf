package tasks

import (
	"html/template"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/operate"
)

type taskPage struct {
	Task    *tasker.Task
	Why     *tasker.Explanation
	Steps   []stepRow
	Listed  []stepRow // rows of the table: all steps, or the first of many
	History []event
	// Events counts all entries; History has the newest.
	Events int
	Case   *operate.Case
	Tree   *page.Branch // of the context
	// "" for none
	Graph, Timeline template.HTML

	Operate, Cancel bool // allowed by the key and the state
	Failed          int  // steps that a replay runs again
	Behind          int  // steps that wait for them
}

func (t taskPage) ScheduleAt() string {
	return "/schedules/" + url.PathEscape(t.Task.Namespace) + "/" + url.PathEscape(t.Task.Schedule.Name)
}

type stepRow struct {
	tasker.Step
	Attempts []tasker.Attempt
	// Empty for steps that are neither unsettled nor failed.
	Why tasker.StepExplanation
	// Acts that the state allows.
	MayReset, MayResolve, MayComplete bool
	MayDecide                         bool // it waits for an approval
	// After is the number of steps that run only after this one, if an act is offered.
	After int
	// Not in the table.
	Unlisted bool
	// First are the first child tasks, those in error before others.
	First []operate.Child
}

// At returns the address of the row of the step.
func (s stepRow) At() string {
	at := "#s-" + s.StepUUID.String()
	if s.Unlisted {
		return "?steps=all" + at
	}
	return at
}

type event struct {
	tasker.Transition
	Edit bool
}

// historyLines bounds the history on the page; the API has all of it.
const historyLines = 200

func (p *pages) task(r *page.Request) (out taskPage, err error) {
	id, err := r.UUID("uuid")
	if err != nil {
		return out, err
	}
	ctx := r.Reading()
	if out.Task, err = p.api.Task(ctx, id, 0); err != nil {
		return out, err
	}
	steps, err := p.api.Steps(ctx, id)
	if err != nil {
		return out, err
	}
	out.Tree = page.Tree(out.Task.Context)
	if out.Why, err = p.api.ExplainTask(r.Context(), id); err != nil {
		return out, err
	}
	history, err := p.api.TaskHistory(ctx, id)
	if err != nil {
		return out, err
	}
	if out.Case, err = p.cases.CaseOfTask(ctx, id); err != nil && tasker.ErrorCode(err) != tasker.CodeNotFound {
		return out, err
	}
	out.rows(steps, history, r.Query("steps") == "all")
	out.events(history)
	if err := p.firstChildren(r, out.Listed); err != nil {
		return out, err
	}
	out.Graph, out.Timeline = graph(out.Steps), timeline(out.Listed, r.Now)
	live := !out.Task.State.Settled() || out.Task.State == tasker.TaskError
	out.Operate, out.Cancel = r.Can(operates...), live && r.Can(cancels...)
	return out, nil
}

// rows joins steps with their attempts and explanations, and counts the consequences of acts.
func (t *taskPage) rows(steps []tasker.Step, history *tasker.TaskHistory, all bool) {
	why := map[uuid.UUID]tasker.StepExplanation{}
	for _, s := range t.Why.Steps {
		why[s.StepUUID] = s
	}
	attempts := map[uuid.UUID][]tasker.Attempt{}
	for _, a := range history.Attempts {
		attempts[a.StepUUID] = append(attempts[a.StepUUID], a)
	}
	var failed []string
	for _, s := range steps {
		row := stepRow{Step: s, Why: why[s.StepUUID], Attempts: attempts[s.StepUUID]}
		switch s.State {
		case tasker.StepError:
			row.MayReset, row.MayResolve, row.MayComplete = true, true, true
			failed = append(failed, s.Name)
		case tasker.StepWaitingForRetry:
			row.MayReset, row.MayResolve, row.MayComplete = true, true, true
		case tasker.StepWaiting:
			row.MayDecide = s.Wait != nil && s.Wait.Approval != ""
			row.MayResolve, row.MayComplete = true, true
		case tasker.StepPending, tasker.StepEnqueued:
			row.MayResolve, row.MayComplete = true, true
		}
		t.Steps = append(t.Steps, row)
	}
	children := childrenOf(steps)
	t.Failed, t.Behind = len(failed), len(behind(children, failed...))
	t.Listed = listed(t.Steps, all)
	shown := map[uuid.UUID]bool{}
	for i := range t.Listed {
		shown[t.Listed[i].StepUUID] = true
		if row := &t.Listed[i]; row.MayResolve {
			row.After = len(behind(children, row.Name))
		}
	}
	for i := range t.Steps {
		t.Steps[i].Unlisted = !shown[t.Steps[i].StepUUID]
	}
}

// stepsListed bounds the table of steps; the graph has all.
const stepsListed = 100

// listed returns all steps in order, or the urgent ones first if there are many.
func listed(steps []stepRow, all bool) []stepRow {
	out := slices.Clone(steps)
	if all || len(out) <= stepsListed {
		return out
	}
	rank := func(s *stepRow) int {
		switch {
		case s.State == tasker.StepError:
			return 0
		case s.State == tasker.StepWaitingForRetry:
			return 1
		case s.MayResolve || s.CompletedAt != nil:
			return 3
		}
		return 2 // under way
	}
	slices.SortStableFunc(out, func(a, b stepRow) int { return rank(&a) - rank(&b) })
	return out[:stepsListed]
}

func childrenOf(steps []tasker.Step) map[string][]string {
	children := map[string][]string{}
	for _, s := range steps {
		for _, parent := range s.Dependencies {
			children[parent] = append(children[parent], s.Name)
		}
	}
	return children
}

// behind returns the steps that run only after one of these.
func behind(children map[string][]string, of ...string) map[string]bool {
	seen := map[string]bool{}
	for next := slices.Clone(of); len(next) > 0; {
		name := next[len(next)-1]
		next = next[:len(next)-1]
		for _, child := range children[name] {
			if !seen[child] {
				seen[child] = true
				next = append(next, child)
			}
		}
	}
	return seen
}

func (t *taskPage) events(history *tasker.TaskHistory) {
	for _, tr := range history.Transitions {
		t.History = append(t.History, event{Transition: tr})
	}
	for _, e := range history.ContextEdits {
		t.History = append(t.History, event{Edit: true,
			Transition: tasker.Transition{At: e.At, Actor: e.Actor, Reason: e.Reason}})
	}
	slices.SortStableFunc(t.History, func(a, b event) int { return b.At.Compare(a.At) })
	t.Events = len(t.History)
	t.History = t.History[:min(t.Events, historyLines)]
}

// Took returns the duration so far.
func (t taskPage) Took(now time.Time) time.Duration {
	if t.Task.FinishedAt != nil {
		now = *t.Task.FinishedAt
	}
	return now.Sub(t.Task.CreatedAt)
}

// Settled reports whether the task changes only through an operator.
func (t taskPage) Settled() bool { return t.Task.State.Settled() }
