package local

import (
	"context"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (x *explainer) parked(ctx context.Context, s *task.Step) (why, next string, err error) {
	since := "It has been ready since " + clock(s.ReadyAt)
	wait, err := x.b.engine.GateWaitOf(ctx, s)
	switch {
	case err != nil:
		return "", "", ToError(err)
	case wait == nil && ofPause(s):
		return since + ". The pause of its template has ended.",
			"It returns to its queue automatically, within seconds.", nil
	case wait == nil:
		return since + ", and is held back.", "It goes to its queue automatically when nothing holds it back.", nil
	case wait.Name == "":
		return since + ", and a limit is about to look at it.", "It passes automatically.", nil
	}
	why = since + " and waits at the limit " + wait.Name
	if wait.Key != "" {
		why += fmt.Sprintf(", key %q", wait.Key)
	}
	before := ""
	if wait.Before > 0 {
		before = ", with " + wording.Count(wait.Before, "step") + " before it"
	}
	if wait.Permits > 0 {
		return why + fmt.Sprintf(": %d of %s in use%s%s.", wait.Held, wording.Count(wait.Permits, "permit"),
			holdersOf(wait.Held, wait.Holders), before), "It passes automatically when a permit is free and it is first.", nil
	}
	why += fmt.Sprintf(" (%s)%s", wait.Rate, before)
	switch {
	case wait.NextAt > x.now:
		why += fmt.Sprintf("; the next step passes at %s, in %s", clock(wait.NextAt), x.until(wait.NextAt))
	case wait.Held >= wait.Rate.Burst:
		return why + fmt.Sprintf("; %s, as many as its burst.", passedOf(wait.Held)),
			"It passes automatically when one of them has begun and the rate allows it.", nil
	}
	return why + ".", "It passes automatically when the rate allows it.", nil
}

func passedOf(n int) string {
	if n == 1 {
		return "1 step has passed and waits for a worker"
	}
	return wording.Count(n, "step") + " have passed and wait for a worker"
}

func holdersOf(held int, holders []task.ID) string {
	if len(holders) == 0 {
		return ""
	}
	names := make([]string, len(holders))
	for i, id := range holders {
		names[i] = toUUID(id).String()
	}
	s := ", by task " + strings.Join(names, " and task ")
	if held > len(names) {
		s += " and others"
	}
	return s
}

func ofPause(s *task.Step) bool {
	_, paused := task.TemplateOf(s.Queue)
	return paused
}
