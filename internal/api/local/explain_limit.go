package local

import (
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// limits explains the time limits of the task: in its state, and as a whole. A settled task has none.
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
	if t.SubmittersDeadline() {
		out = append(out, fmt.Sprintf("Its submission set a deadline, %s, in %s; then it is in error, whatever it does.",
			clock(t.DeadlineAt), x.until(t.DeadlineAt)))
	} else if whole.Threshold > 0 {
		out = append(out,
			fmt.Sprintf("Its max_duration_minutes (%s) end at %s, in %s; then it is in error, whatever it does.",
				whole.Threshold, clock(t.DeadlineAt), x.until(t.DeadlineAt)))
	}
	return out
}

// limitOfState explains when the task is stale in its state; "" without a limit. A threshold for all tasks starts at
// the end of a promise to a step, which the sentence names. A template's threshold ignores promises: its author set it
// for the steps.
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
		at := l.StaleAt(x.task, x.now)
		return fmt.Sprintf("It is stale at %s, in %s: the threshold %s for %s is %s.", clock(at), x.until(at), of, state,
			l.Threshold)
	}
	name := x.spec(l.PromisedStep).Name
	if l.Promise == task.PromisedRelease {
		return fmt.Sprintf("It is not stale while step %s is held back by a pause, a limit or an outage.", name)
	}
	if l.Promise == task.PromisedOutside {
		return fmt.Sprintf("It is not stale while step %s waits for something that no worker does.", name)
	}
	if l.PromisedUntil == task.Endless {
		return fmt.Sprintf("It is not stale while step %s waits in its queue, which has no longest wait (max_wait).", name)
	}
	promise := map[task.Promise]string{
		task.PromisedAttempt: "the attempt of step %s may run until %s",
		task.PromisedTurn:    "step %s may wait in its queue until %s",
		task.PromisedTime:    "step %s waits for a time that it was given, %s",
	}[l.Promise]
	at := l.StaleAt(x.task, x.now)
	return fmt.Sprintf("It is stale at %s, in %s: "+promise+", and the threshold for all tasks for %s, %s, begins then.",
		clock(at), x.until(at), name, clock(l.PromisedUntil), state, l.Threshold-l.Prolonged)
}

func (v *view) lastFailure(s *task.Step) *task.Attempt {
	for i := len(v.records.Attempts) - 1; i >= 0; i-- {
		if a := &v.records.Attempts[i]; a.StepID == s.ID && a.Failure != nil {
			return a
		}
	}
	return nil
}

// givenUp returns the act that put a step in error because its task took too long, with the step's wait before it; nil
// for another cause. The act must be the last one on the step and have the time of its error: the step may have been
// repaired and failed again since.
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

// waitOf returns the wait of a step that was given up; zero for another act or unreadable data, which shortens the
// sentence.
func waitOf(a *task.Act) (out engine.GivenUp) {
	if a.Kind == task.ActGiveUp {
		if err := json.Unmarshal(a.Data, &out); err != nil {
			return engine.GivenUp{}
		}
	}
	return out
}
