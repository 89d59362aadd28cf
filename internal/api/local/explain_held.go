package local

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (x *explainer) paused(s *task.Step, p *task.Pause) (why, next string) {
	why = fmt.Sprintf("It has been ready since %s, and %s.", clock(s.ReadyAt), pausedText(p))
	if p.Until != 0 {
		return why, fmt.Sprintf("It can be claimed when the pause ends, at %s, in %s, or is resumed earlier (%s).",
			clock(p.Until), x.until(p.Until), resumeCommand(p))
	}
	return why, fmt.Sprintf("It can be claimed when the pause is resumed (%s).", resumeCommand(p))
}

func pausedText(p *task.Pause) string {
	s := fmt.Sprintf("the %s has been paused since %s by %s", p.PauseTarget, clock(p.At), p.Actor)
	if p.Reason != "" {
		s += ": " + firstLine(p.Reason)
	}
	return s
}

func resumeCommand(p *task.Pause) string {
	s := "tasker resume " + string(p.Kind) + " " + p.Namespace
	if p.Name != "" {
		s += "/" + p.Name
	}
	for _, c := range task.SplitCapabilities(p.Capabilities) {
		s += " --capability " + c
	}
	return s
}

func (x *explainer) outage(s *task.Step, o *task.Outage) (why, next string) {
	why = fmt.Sprintf("It has been ready since %s, and %s.", clock(s.ReadyAt), outageText(o))
	if !o.ProbeStep.IsZero() {
		return why, fmt.Sprintf("A probe has been running since %s: a step of task %s. If it succeeds, the outage is over; "+
			"an operator can close it earlier (tasker outage close %s).", clock(o.ProbeAt), toUUID(o.ProbeTask), toUUID(o.ID))
	}
	return why, fmt.Sprintf("%s. If that succeeds, the outage is over; an operator can close it earlier "+
		"(tasker outage close %s).", x.nextProbe(o), toUUID(o.ID))
}

func (x *explainer) nextProbe(o *task.Outage) string {
	at := x.b.engine.ProbeDue(o)
	if at <= x.now {
		return "One step is let through as a probe as soon as a worker polls that serves the route"
	}
	return fmt.Sprintf("One step is let through as a probe at %s, in %s", clock(at), x.until(at))
}

func outageText(o *task.Outage) string {
	r := o.Route()
	s := fmt.Sprintf("%s has had an outage since %s, opened by %s with one fingerprint", routeText(&r), clock(o.OpenedAt),
		failureCount(o.Failures))
	if o.Title != "" {
		s += fmt.Sprintf(" (%s)", firstLine(o.Title))
	}
	return s + ", group " + deadletter.GroupID(o.Group).String()
}

func failureCount(n int) string {
	if n == 1 {
		return "1 failure"
	}
	return fmt.Sprintf("%d failures", n)
}

func (x *explainer) limited(ctx context.Context, s *task.Step, route *task.Route) (why, next string, err error) {
	l, holders, err := x.b.engine.LimitedBy(ctx, route)
	if err != nil || l == nil {
		return "", "", ToError(err)
	}
	place, err := x.b.engine.QueuePlace(ctx, s)
	if err != nil {
		return "", "", ToError(err)
	}
	why = fmt.Sprintf("It has been ready since %s and waits for the limit of the %s, set by %s", clock(s.ReadyAt),
		l.PauseTarget, l.Actor)
	if l.Reason != "" {
		why += ": " + firstLine(l.Reason)
	}
	why += ". "
	if l.Permits > 0 && l.Held >= l.Permits {
		why += fmt.Sprintf("%s may run at once and %d run%s", wording.Count(l.Permits, "step"), l.Held,
			holdersOf(l.Held, holders))
		next = "It can be claimed when one of them ends and it is first"
	} else {
		why += fmt.Sprintf("%s may begin, and the next one at %s, in %s", l.Rate, clock(l.NextAt), x.until(l.NextAt))
		next = "It can be claimed when the rate allows it and it is first"
	}
	return why + fmt.Sprintf("; %s ahead of it in the queue.", atLeast(place, "step")),
		fmt.Sprintf("%s, or when the limit is changed (%s).", next, limitCommand(l)), nil
}

func limitCommand(l *engine.OperatorLimitView) string {
	s := "tasker limit delete " + l.Namespace + "/" + l.Name
	if l.Kind == task.PauseRoute {
		s += " --route"
	}
	for _, c := range task.SplitCapabilities(l.Capabilities) {
		s += " --capability " + c
	}
	return s
}

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
