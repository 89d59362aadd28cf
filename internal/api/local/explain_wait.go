package local

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/model/task"
)

func (x *explainer) outside(ctx context.Context, s *task.Step) (why, next string, err error) {
	spec := x.spec(s)
	if spec.Tasks != nil {
		return x.childrenOf(ctx, s, spec.Tasks)
	}
	why, next = x.waitOf(s, spec.Wait)
	return why, next, nil
}

func (x *explainer) waitOf(s *task.Step, wait *task.Wait) (why, next string) {
	end, timed := task.Instant(s.Key), s.Queue == task.Timers
	switch {
	case wait == nil:
		return fmt.Sprintf("It has been waiting since %s for something that no worker does.", clock(s.ReadyAt)),
			"It continues automatically."
	case wait.Kind() == task.WaitTime:
		return fmt.Sprintf("It waits for a time, %s, in %s.", clock(end), x.until(end)),
			"It completes automatically at that time; resolve it to continue now."
	}
	without := "Without an answer"
	if wait.Kind() == task.WaitSignal {
		why = fmt.Sprintf("It has been waiting since %s for the signal %q with the key %q.", clock(s.ReadyAt), wait.Signal,
			x.waits[s.ID].Key)
		next = "It continues when the signal arrives: tasker signal send, or POST /v1/signals."
		without = "Without it"
	} else {
		why = fmt.Sprintf("It has been waiting for an approval since %s: %q.", clock(s.ReadyAt), wait.Approval)
		next = "Approve or reject it: tasker task approve-step, or reject-step."
	}
	switch {
	case !timed:
		return why, next + " It waits without end."
	case wait.OnTimeout == task.EndContinues:
		return why, next + fmt.Sprintf(" %s it continues at %s, in %s.", without, clock(end), x.until(end))
	}
	return why, next + fmt.Sprintf(" %s it fails at %s, in %s.", without, clock(end), x.until(end))
}
