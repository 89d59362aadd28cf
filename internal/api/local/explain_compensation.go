package local

import (
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

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
