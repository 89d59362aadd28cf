package local

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (x *explainer) checkpoint(s *task.Step) string {
	c, ok := x.checkpoints[s.ID]
	switch {
	case !ok:
		return ""
	case s.State.Leased() && c.Token == s.Token:
		return fmt.Sprintf(" It stored a checkpoint of %s at %s.", wording.Count(c.Bytes, "byte"), clock(c.At))
	case s.State.Leased():
		return fmt.Sprintf(" It received a checkpoint of %s, which was stored at %s.", wording.Count(c.Bytes, "byte"),
			clock(c.At))
	}
	return fmt.Sprintf(" Its next attempt receives the checkpoint of %s that was stored at %s.",
		wording.Count(c.Bytes, "byte"), clock(c.At))
}

func (x *explainer) tooLarge() string {
	limit := "raise engine.limits.large_result_bytes"
	switch in := x.task.Meta.Intake; {
	case len(x.tpl.Sensitive) > 0 || in != nil && len(in.Sensitive) > 0:
		return "Let the step return less, since a task with sensitive fields has no large results, and reset it; or " +
			"complete it with a result."
	case x.b.engine.MaxLargeResult() == 0:
		limit = "set blobs.url to a store for larger results"
	}
	return "Let the step return less, or " + limit + ", and reset it; or complete it with a result."
}

// muchReturned is the number of returns in a row that an explanation mentions.
const muchReturned = 10

// returns is a sentence on consecutive lost workers, or on the number of returns; else "". A step whose last failure
// says so needs none.
func (x *explainer) returns(s *task.Step) string {
	a := x.lastAttempt(s)
	if a == nil || s.State.Terminal() || a.Failure != nil && !s.State.Leased() && s.State != task.StepEnqueued {
		return ""
	}
	switch r := task.ReturnsOf(s.ID, x.records.Attempts, x.records.Acts); {
	case r.Workers() > 1:
		return fmt.Sprintf(" Before, %s.", r)
	case r.All >= muchReturned:
		return fmt.Sprintf(" It came back %d times in a row without an end: its workers snoozed or released it, or were "+
			"lost.", r.All)
	}
	return ""
}

// breakLoop is the advice for a task whose steps wait for each other. Registration refuses cycles; one comes from
// damage or from another program.
const breakLoop = "Resolve or complete one of them, or cancel the task; then correct the template."

// loop describes the first cycle of steps that wait for each other. Template.Cycle is computed at the read of the
// template, so sound tasks are not walked.
func (x *explainer) loop() string {
	if x.tpl.Cycle == "" {
		return ""
	}
	for _, s := range x.steps {
		if found := x.loopBehind(s); found != nil {
			return x.inLoop(found)
		}
	}
	return ""
}

// loopBehind returns the cycle that a step waits for, or is part of; nil without one.
func (x *explainer) loopBehind(s *task.Step) []*task.Step {
	if x.tpl.Cycle == "" {
		return nil
	}
	return x.walk(s, nil, map[*task.Step]bool{})
}

// walk follows the parents that a step waits for until it reaches one on its path, and returns that cycle. done holds
// steps without a reachable cycle, so each step is visited once. A step that is not pending waits for no parent and
// ends the walk.
func (x *explainer) walk(s *task.Step, path []*task.Step, done map[*task.Step]bool) []*task.Step {
	if s.State != task.StepPending || done[s] {
		return nil
	}
	if i := slices.Index(path, s); i >= 0 {
		return path[i:]
	}
	path = append(path, s)
	for _, p := range x.spec(s).Parents {
		if found := x.walk(x.steps[p], path, done); found != nil {
			return found
		}
	}
	done[s] = true
	return nil
}

// inLoop is part of a sentence: no capital letter, no full stop.
func (x *explainer) inLoop(loop []*task.Step) string {
	if len(loop) == 1 {
		return "step " + x.spec(loop[0]).Name + " waits for itself"
	}
	names := make([]string, len(loop))
	for i, s := range loop {
		names[i] = x.spec(s).Name
	}
	return "steps " + strings.Join(names, ", ") + " wait for each other"
}

// noRepair is the advice for a step that the compensation of its task left behind.
const noRepair = "It does not run again, because the compensation of the task has begun. " +
	"Cancel the task, and submit it again."

// compensatedAt is 0 if the compensation has not begun.
func (x *explainer) compensatedAt() task.Instant {
	if !x.tpl.Compensated {
		return 0
	}
	for _, a := range x.records.Acts {
		if a.Kind == task.ActCompensate {
			return a.At
		}
	}
	return 0
}

func (x *explainer) awaitsRest() bool {
	return x.tpl.Compensated && x.tpl.CompensationOf(x.steps).Due()
}

func (x *explainer) compensates(spec task.StepSpec) (why, next string) {
	why, next = "It runs only if the task fails.", "It is skipped when the task completes."
	if undoes := x.names(spec.Undoes); undoes != "" {
		why = "It runs only if the task fails, to undo " + undoes + "."
	}
	switch {
	case x.awaitsRest() && !x.task.State.Settled():
		next = "The task has failed: it runs as soon as the child tasks of the task are at rest."
	case x.task.State == task.Errored:
		next = "The task has failed, but none of what its compensation steps undo was done. Repair the failed steps."
	}
	return why, next
}

func (x *explainer) nothingToUndo(s *task.Step) string {
	name := x.spec(s).Name
	if x.compensatedAt() == 0 {
		return fmt.Sprintf("Step %s was skipped at %s: the task has not failed.", name, clock(s.FinishedAt))
	}
	return fmt.Sprintf("Step %s was skipped at %s: %s was not complete, so there is nothing to undo.", name,
		clock(s.FinishedAt), x.names(x.spec(s).Undoes))
}

func (x *explainer) compensatedSummary(summary string) string {
	began := x.compensatedAt()
	if began == 0 {
		return summary
	}
	var failed []string
	done, open := 0, 0
	for _, s := range x.steps {
		switch spec := x.spec(s); {
		case !spec.OnFailure:
		case s.State == task.StepErrored:
			failed = append(failed, spec.Name)
		case s.State.Done():
			done++
		case s.State == task.StepPending:
			open++
		}
	}
	before, _, _ := strings.Cut(summary, ", and no other step can run")
	before = strings.TrimSuffix(before, ".")
	if len(failed) > 0 {
		return fmt.Sprintf("%s. Its compensation began at %s and failed at %s; %s. Repair %s; the rest of it then continues.",
			before, clock(began), strings.Join(failed, ", "), wording.Count(open, "step")+" of it wait",
			strings.Join(failed, ", "))
	}
	return fmt.Sprintf("%s. Its compensation began at %s and has ended: %s done. Cancel the task, and submit it again.",
		before, clock(began), wording.Count(done, "step"))
}

func (x *explainer) names(indexes []int) string {
	names := make([]string, len(indexes))
	for i, n := range indexes {
		names[i] = x.tpl.Steps[n].Name
	}
	return strings.Join(names, ", ")
}
