package local

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

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
