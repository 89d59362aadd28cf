package local

import (
	"context"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// origin is a sentence on the message or the schedule that made the task; else "".
func (x *explainer) origin() string {
	if of := x.task.Meta.Schedule; of != nil {
		return scheduled(of)
	}
	if of := x.task.Meta.Child; of != nil {
		return childOrigin(of)
	}
	in := x.task.Meta.Intake
	if in == nil {
		return ""
	}
	s := fmt.Sprintf("The source %s took it in from the queue %s", in.Source, in.Queue)
	if in.Position != "" {
		s += fmt.Sprintf(", as message %s", in.Position)
	}
	if in.SentAt != 0 {
		s += fmt.Sprintf(", which was sent at %s", clock(in.SentAt))
	}
	return s + "."
}

func scheduled(of *task.Scheduled) string {
	switch of.Kind {
	case "missed":
		return fmt.Sprintf("The schedule %s submitted it for %s, a time that had been missed.", of.Name, clock(of.At))
	case "run":
		return fmt.Sprintf("An operator ran the schedule %s at %s.", of.Name, clock(of.At))
	case "backfill":
		return fmt.Sprintf("A backfill of the schedule %s submitted it for %s.", of.Name, clock(of.At))
	}
	return fmt.Sprintf("The schedule %s submitted it for %s.", of.Name, clock(of.At))
}

// readTurn explains a held task: the task that has the turn of its ordering key, its state, and the number before; ""
// for a task that is not held.
func (x *explainer) readTurn(ctx context.Context) (string, error) {
	t := x.task
	if !t.Meta.Held || t.State.Settled() {
		return "", nil
	}
	place, err := x.b.engine.OrderPlace(ctx, t, x.tpl.Namespace)
	if err != nil {
		return "", ToError(err)
	}
	s := fmt.Sprintf("it waits for its turn under the ordering key %q", t.Meta.OrderingKey)
	if place.Head.IsZero() {
		return s, nil
	}
	head, err := x.b.engine.Task(ctx, place.Head, 0)
	switch {
	case task.CodeOf(err) == task.NotFound: // it ended meanwhile, and retention deleted it
		return s, nil
	case err != nil:
		return "", ToError(err)
	}
	s += fmt.Sprintf(", which the task %s has (%s)", toUUID(place.Head), head.State)
	if place.Before > 0 {
		s += ", with " + wording.Count(place.Before, "task") + " in between"
	}
	if head.State == task.Errored {
		s += "; that keeps its turn until it is repaired or cancelled"
	}
	return s, nil
}

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
