package local

import (
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// limits explains how long the task may stay in its state, and why so long: one sentence for its state, one
// for the task as a whole.
func (x *explainer) limits() []string {
	t := x.task
	if t.State.Settled() {
		return nil
	}
	state, whole := x.b.engine.LimitsOf(t, x.tpl, x.steps)
	var out []string
	if s := x.limitOfState(state); s != "" {
		out = append(out, s)
	}
	if whole.Threshold > 0 {
		out = append(out,
			fmt.Sprintf("Its max_duration_minutes (%s) end at %s, in %s; then it is in error, whatever it does.",
				whole.Threshold, clock(t.DeadlineAt), x.until(t.DeadlineAt)))
	}
	return out
}

func (x *explainer) limitOfState(l task.Limit) string {
	if l.Source == task.NoLimit {
		return ""
	}
	state := x.task.State
	if l.Promise == task.NoPromise {
		of := "for all tasks"
		if l.Source == task.LimitOfTemplate {
			of = "of its template"
		}
		at := l.StaleAt(x.now)
		if x.task.RunAt > x.now { // what comes before is not held against it
			at = x.task.RunAt.Add(l.Threshold)
		}
		return fmt.Sprintf("It is stale at %s, in %s: the threshold %s for %s is %s.", clock(at), x.until(at), of, state,
			l.Threshold)
	}
	name := x.spec(l.PromisedStep).Name
	if l.PromisedUntil == task.Endless {
		return fmt.Sprintf("It is not stale while step %s waits in its queue, which has no longest wait (max_wait).", name)
	}
	promise := map[task.Promise]string{
		task.PromisedAttempt: "the attempt of step %s may run until %s",
		task.PromisedTurn:    "step %s may wait in its queue until %s",
		task.PromisedTime:    "step %s waits for a time that it was given, %s",
	}[l.Promise]
	at := l.StaleAt(x.now)
	return fmt.Sprintf("It is stale at %s, in %s: "+promise+", and the threshold for all tasks for %s, %s, begins then.",
		clock(at), x.until(at), name, clock(l.PromisedUntil), state, l.Threshold-l.Prolonged)
}

// lastFailure is the last attempt of a step that ended with a failure, nil for none.
func (v *view) lastFailure(s *task.Step) *task.Attempt {
	for i := len(v.records.Attempts) - 1; i >= 0; i-- {
		if a := &v.records.Attempts[i]; a.StepID == s.ID && a.Failure != nil {
			return a
		}
	}
	return nil
}

// givenUp returns the act by which a step is in error because its task has taken too
// long, with what the step waited for; nil when that is not why.
func (v *view) givenUp(s *task.Step) (*task.Act, engine.GivenUp) {
	if s.State != task.StepErrored {
		return nil, engine.GivenUp{}
	}
	for i := len(v.records.Acts) - 1; i >= 0; i-- {
		a := &v.records.Acts[i]
		if a.StepID != s.ID {
			continue
		}
		if a.Kind == task.ActGiveUp && a.At == s.FinishedAt {
			return a, waitOf(a)
		}
		break
	}
	return nil, engine.GivenUp{}
}

// waitOf is what a step waited for that was given up; nothing of an act of another kind.
func waitOf(a *task.Act) (out engine.GivenUp) {
	if a.Kind == task.ActGiveUp {
		if err := json.Unmarshal(a.Data, &out); err != nil {
			return engine.GivenUp{}
		}
	}
	return out
}
