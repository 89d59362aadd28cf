package local

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ExplainTask implements tasker.TaskBackend. It explains steps that are skipped or not terminal; others need no advice.
// The texts are for people and may change; programs read the states. CodeNotFound: no such task, or one outside the
// key's reach.
func (b *Backend) ExplainTask(ctx context.Context, id uuid.UUID) (*tasker.Explanation, error) {
	v, err := b.view(ctx, toID(id))
	if err != nil {
		return nil, err
	}
	x := &explainer{view: v, now: b.engine.Now()}
	if x.turn, err = x.readTurn(ctx); err != nil {
		return nil, err
	}
	out := &tasker.Explanation{TaskUUID: id, State: tasker.TaskState(v.task.State)}
	for _, s := range v.steps {
		if s.State.Terminal() && s.State != task.StepSkipped {
			continue
		}
		why, next, err := x.step(ctx, s)
		if err != nil {
			return nil, err
		}
		why += x.returns(s) + x.checkpoint(s)
		out.Steps = append(
			out.Steps,
			tasker.StepExplanation{
				StepUUID: toUUID(s.ID),
				Name:     v.spec(s).Name,
				State:    tasker.StepState(s.State),
				Why:      why,
				Next:     next,
			},
		)
	}
	out.Summary, out.Origin, out.Limits = x.summary(), x.origin(), x.limits()
	if out.Unique, err = x.unique(ctx); err != nil {
		return nil, err
	}
	return out, nil
}

// explainer describes the condition of a task from the view. Only a ready step needs more reads: its workers and its
// position. So the task may be newer than its explanation.
type explainer struct {
	*view
	// now is the same for all sentences of one answer, so their times add up.
	now task.Instant
	// turn explains a task held for its turn; else "".
	turn string
}

// summary is one sentence about the whole task. The default sentence counts the steps.
func (x *explainer) summary() string {
	t := x.task
	switch t.State {
	case task.Complete:
		return fmt.Sprintf("The task completed at %s.", clock(t.FinishedAt))
	case task.ResolvedManually:
		return fmt.Sprintf("The task was resolved manually at %s.", clock(t.FinishedAt))
	case task.Cancelled:
		return strings.TrimSpace(
			fmt.Sprintf(
				"The task was cancelled at %s%s.",
				clock(t.FinishedAt),
				byWhom(t.Meta.CancelledBy, t.Meta.CancelledKey, t.Meta.CancelReason),
			),
		)
	case task.Pending:
		if x.turn != "" {
			return "The task has not begun: " + x.turn + "."
		}
		return fmt.Sprintf("The task is scheduled: it starts at %s, in %s.", clock(t.RunAt), x.until(t.RunAt))
	case task.EnqueuingSteps:
		if x.awaitsRest() {
			return "The task has failed. Its compensation begins as soon as its child tasks are at rest: those that run " +
				"are cut off, and undo what they have done."
		}
		return "The task continues after an act of an operator: its steps are about to be enqueued."
	case task.WaitingForRetry:
		return "The task is waiting: every step that could run is waiting for a retry or is snoozed."
	case task.Errored:
		return x.compensatedSummary(x.erroredSummary())
	case task.WaitingForDependencies:
		if x.turn != "" {
			return "No step of the task can run now: " + x.turn + "."
		}
		if loop := x.loop(); loop != "" {
			return "The task cannot continue automatically: " + loop + ". " + breakLoop
		}
		return "No step of the task can run now: the remaining steps wait for a time or for their dependencies."
	}
	c := t.Counts
	outside := 0
	for _, s := range x.steps {
		if s.State == task.StepWaiting {
			outside++
		}
	}
	s := fmt.Sprintf(
		"The task is in progress: %d of %s done, %d queued or running",
		c.Done,
		wording.Count(c.Total(), "step"),
		max(c.Active-outside, 0),
	)
	if outside > 0 {
		s += fmt.Sprintf(", %d waiting for what no worker does", outside)
	}
	if c.Waiting > 0 {
		s += fmt.Sprintf(", %d waiting for a time", c.Waiting)
	}
	if c.Failed > 0 {
		s += fmt.Sprintf(", %d failed permanently", c.Failed)
	}
	if began := x.compensatedAt(); began != 0 {
		s += ". Its compensation began at " + clock(began)
	}
	return s + "."
}

// erroredSummary names a cycle, the cause of the transition, or the number of failed steps.
func (x *explainer) erroredSummary() string {
	if loop := x.loop(); loop != "" && x.task.Counts.Failed == 0 {
		return fmt.Sprintf(
			"The task has been in error since %s and cannot continue automatically: %s. %s",
			clock(x.task.FinishedAt),
			loop,
			breakLoop,
		)
	}
	// Only the latest transition into error explains the present one. It has a cause if the task as a whole was put in
	// error; else the failed steps explain it.
	for _, e := range slices.Backward(x.records.Events) {
		switch {
		case e.To != task.Errored:
			continue
		case e.Cause != "":
			return fmt.Sprintf(
				"The task has been in error since %s: %s. It continues when an operator repairs a step.",
				clock(x.task.FinishedAt),
				e.Cause,
			)
		}
		break // explained by its steps, not by an earlier event
	}
	failed, repaired := wording.Count(x.task.Counts.Failed, "step"), "that step is repaired"
	if x.task.Counts.Failed != 1 {
		repaired = "those steps are repaired"
	}
	return fmt.Sprintf("The task has been in error since %s: %s failed permanently, and no other step can run. "+
		"The task continues when %s.", clock(x.task.FinishedAt), failed, repaired)
}

// byWhom names the actor, the key if it differs, and the reason, as far as they are set.
func byWhom(actor, key, reason string) string {
	s := ""
	if actor != "" {
		s += " by " + actor
	}
	if key != "" && key != actor {
		s += " with the key " + key
	}
	if reason != "" {
		s += ": " + reason
	}
	return s
}

// step explains why a step is in its state (why), and what would change that (next), in whole sentences.
func (x *explainer) step(ctx context.Context, s *task.Step) (why, next string, err error) {
	switch s.State {
	case task.StepPending:
		why, next = x.pending(s)
		return why, next, nil
	case task.StepWaiting:
		return x.outside(ctx, s)
	case task.StepEnqueued:
		return x.enqueued(ctx, s)
	case task.StepAssigned, task.StepInProgress:
		return x.leased(ctx, s)
	case task.StepSkipped:
		why, next = x.skipped(s)
		return why, next, nil
	case task.StepWaitingForRetry:
		why, next = x.waiting(s)
	default:
		why, next = x.failed(s)
	}
	expired, err := x.expiredDispatch(ctx, x.lastAttempt(s))
	return why + expired, next, err
}

// pending explains a step that waits for its time or its parents. Three cases differ: parents that will complete,
// parents in error, and parents that wait for each other. The advice names the broken step, even several dependencies
// away.
func (x *explainer) pending(s *task.Step) (why, next string) {
	if s.Queue == task.Timers {
		at := task.Instant(s.Key)
		if s.Note != "" {
			return fmt.Sprintf("It was left alone: %s.", s.Note), fmt.Sprintf(
				"A node looks at it again at %s, in %s.", clock(at), x.until(at))
		}
		return fmt.Sprintf(
			"It is scheduled for %s, in %s.",
			clock(at),
			x.until(at),
		), "It becomes ready automatically at that time."
	}
	if x.turn != "" && s.OpenParents == 0 {
		return "It waits for the turn of its task.", "It becomes ready automatically when that comes."
	}
	if spec := x.spec(s); spec.OnFailure && (s.OpenParents == 0 || x.compensatedAt() == 0) {
		return x.compensates(spec)
	}
	var waits []string
	next = "It becomes ready automatically when they are complete."
	for _, p := range x.spec(s).Parents {
		parent := x.steps[p]
		if parent.State.Satisfies() {
			continue
		}
		waits = append(waits, fmt.Sprintf("%s (%s)", x.tpl.Steps[p].Name, parent.State))
	}
	if loop := x.loopBehind(s); loop != nil {
		return "It waits for " + strings.Join(
				waits,
				", ",
			) + ".", fmt.Sprintf(
				"It cannot become ready automatically: %s. %s",
				x.inLoop(loop),
				breakLoop,
			)
	}
	if broken := x.broken(s, map[int]bool{}); !x.spec(s).OnFailure && x.compensatedAt() != 0 {
		next = noRepair
	} else if len(broken) > 0 {
		next = fmt.Sprintf("Repair %s; then it continues automatically.", strings.Join(broken, ", "))
	}
	return "It waits for " + strings.Join(waits, ", ") + ".", next
}

// broken names the steps in error that s waits for, directly or through others. seen holds visited ordinals: a step is
// named once, and a cycle in a damaged template ends the walk.
func (x *explainer) broken(s *task.Step, seen map[int]bool) []string {
	var names []string
	for _, p := range x.spec(s).Parents {
		if seen[p] {
			continue
		}
		seen[p] = true
		if x.steps[p].State == task.StepErrored {
			names = append(names, x.tpl.Steps[p].Name)
		}
		names = append(names, x.broken(x.steps[p], seen)...)
	}
	return names
}

// waiting explains a step that waits after a lost worker, a snooze, or a retry. Only a retry has a failure in the last
// attempt.
func (x *explainer) waiting(s *task.Step) (why, next string) {
	at := task.Instant(s.Key)
	next = fmt.Sprintf("It becomes ready automatically at %s, in %s; reset it to run it now.", clock(at), x.until(at))
	if a := x.lastAttempt(s); a != nil && a.Failure == nil &&
		(a.Outcome == task.NotStarted || a.Outcome == task.LeaseExpired) {
		return fmt.Sprintf(
			"Its worker was lost (%s) at %s. The steps of a lost worker return to the queue one after another.",
			a.Outcome,
			clock(a.FinishedAt),
		), next
	} else if a != nil && a.Failure == nil {
		return fmt.Sprintf("Its handler postponed it (%s) at %s.", a.Outcome, clock(a.FinishedAt)), next
	}
	class := ""
	if a := x.lastAttempt(s); a != nil && a.Failure.Class != "" {
		class = fmt.Sprintf(" (class %s)", a.Failure.Class)
	}
	return fmt.Sprintf(
		"Attempt %d of %d failed%s%s; the step waits for its retry.",
		s.Attempts,
		s.MaxAttempts,
		x.because(s),
		class,
	), next
}

// failed explains a step in error: its task was given up, its attempts are used up, or its failure allows no further
// attempt.
func (x *explainer) failed(s *task.Step) (why, next string) {
	next = "Fix the cause and reset the step; or resolve it, or complete it with a result."
	if a := x.lastFailure(s); a != nil && a.Failure.Type == "result_too_large" {
		next = x.tooLarge()
	}
	if !x.spec(s).OnFailure && x.compensatedAt() != 0 {
		next = noRepair
	}
	if act, waited := x.givenUp(s); act != nil {
		why = fmt.Sprintf("It was given up with its task at %s, after attempt %d of %d: %s.",
			clock(act.At), s.Attempts, s.MaxAttempts, act.Reason)
		if waited.DueAt != 0 {
			why += fmt.Sprintf(" It would have become ready at %s.", clock(task.Instant(waited.DueAt)))
		}
		// The attempt that ended with the task has the time of the act; its failure would repeat the reason.
		if a := x.lastFailure(s); a != nil && a.FinishedAt != act.At {
			why += fmt.Sprintf(" Its last error, at %s: %s", clock(a.FinishedAt), firstLine(a.Failure.Message))
		}
		return why, next
	}
	why = fmt.Sprintf("It failed permanently after attempt %d of %d%s.", s.Attempts, s.MaxAttempts, x.because(s))
	if a := x.lastAttempt(s); a != nil && a.Failure != nil && s.Attempts < s.MaxAttempts {
		switch class := task.ClassOf(a.Failure); task.CauseOf(s, a) {
		case task.CauseNotRetryable:
			why += " The failure was not retryable."
		case task.CauseClassLimit, task.CauseLostWorkers:
			why += fmt.Sprintf(" Failures of class %s allow no more retries.", class)
		}
	}
	return why, next
}

func (x *explainer) because(s *task.Step) string {
	if a := x.lastAttempt(s); a != nil && a.Failure != nil {
		return fmt.Sprintf(" at %s: %s", clock(a.FinishedAt), firstLine(a.Failure.Message))
	}
	return ""
}

// lastAttempt searches the records, which are oldest first, from the end; nil for none.
func (x *explainer) lastAttempt(s *task.Step) *task.Attempt {
	for i := len(x.records.Attempts) - 1; i >= 0; i-- {
		if x.records.Attempts[i].StepID == s.ID {
			return &x.records.Attempts[i]
		}
	}
	return nil
}

// until is the time left, in whole seconds. Below half a second it is "a moment": a loop acts soon.
func (x *explainer) until(at task.Instant) string {
	if d := at.Sub(x.now).Round(time.Second); d > 0 {
		return d.String()
	}
	return "a moment"
}

func clock(at task.Instant) string { return at.Time().Format("2006-01-02 15:04:05Z") }

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func atLeast(p engine.QueuePlace, noun string) string {
	if p.Least {
		return fmt.Sprintf("at least %d %ss", p.Ahead, noun)
	}
	return wording.Count(p.Ahead, noun)
}
