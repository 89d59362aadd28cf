package local

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

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
