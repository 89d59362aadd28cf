package cases

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

type blockingFailure struct {
	step   *task.Step
	failed *task.Attempt
}

// blockingFailure includes failures of this transaction (c.ending). Of two at the same time, the step later in the
// template counts.
func (c *snapshotter) blockingFailure(of task.ID) *blockingFailure {
	failures := c.failures(c.evidence[of])
	var last *blockingFailure
	for _, s := range c.u.Rows.Families[of] {
		if s.State != task.StepErrored && s.State != task.StepWaitingForRetry {
			continue
		}
		failed := failures[s.ID]
		if a := c.ending[s.ID]; a != nil {
			failed = a
		}
		if failed != nil && (last == nil || failed.FinishedAt >= last.failed.FinishedAt) {
			last = &blockingFailure{s, failed}
		}
	}
	return last
}

// occurrence also counts the occurrence in its group, so it must be called once.
func (c *snapshotter) occurrence(o *Opening) (task.Occurrence, error) {
	out := task.Occurrence{At: c.u.Now, Reason: o.Reason, OriginalState: o.State}
	def, err := c.u.Rows.Template(o.Task.DefID)
	if err != nil {
		return out, err
	}
	handler, stack := "", ""
	if last := c.blockingFailure(o.Task.ID); last != nil {
		f := last.failed.Failure
		out.Fingerprint, out.Class, out.Message = f.Fingerprint(), task.ClassOf(f), kernel.MessageOfCase(f)
		out.Retryable = f.Retryable && out.Class != failure.Logic
		spec := def.Spec(last.step)
		out.Step = spec.Name
		handler, stack = spec.Handler, f.Stack
		if o.Cause == "" {
			o.Cause = task.CauseOf(last.step, last.failed)
			o.Detail = last.message(out.Step, o.Cause, out.Class)
		}
	} else if o.Reason == task.ReasonStaleness || o.Reason == task.ReasonWorkerUnavailable {
		out.Retryable, out.Class = true, c.stalledClass(o.Task.ID)
	}
	out.Cause = o.Cause
	if out.Group, err = c.group(&out, def, handler, stack); err != nil {
		return out, err
	}
	out.Snapshot, err = c.snapshot(o, def)
	return out, err
}

func (c *snapshotter) group(o *task.Occurrence, def *task.Template, handler, stack string) (int64, error) {
	of := &task.Case{Reason: o.Reason, Fingerprint: o.Fingerprint, Message: o.Message, Class: o.Class,
		Retryable: o.Retryable, Step: o.Step}
	print := deadletter.PrintOfCase(of, handler, def.Name, stack)
	print, err := kernel.PrintBy(c.u, def.Namespace, print, func() deadletter.Facts {
		return deadletter.FactsOfCase(of, handler, def.Name, print)
	})
	if err != nil {
		return 0, err
	}
	return CaseSlot.Of(c.u).groups.join(def.Namespace, print), nil
}

// stalledClass is the class of a problem without a failure; "" if nothing runs or is ready.
func (c *snapshotter) stalledClass(of task.ID) failure.Class {
	class := failure.Class("")
	for _, s := range c.u.Rows.Families[of] {
		switch {
		case s.State.Leased():
			return failure.Resource
		case s.OnRoute():
			class = failure.Worker
		}
	}
	return class
}

// message becomes the detail of the snapshot, so it names the step.
func (l *blockingFailure) message(step string, cause task.CaseCause, class failure.Class) string {
	s := l.step
	switch cause {
	case task.CauseRetriesExhausted:
		return fmt.Sprintf("step %s failed for good: attempt %d of %d failed", step, s.Attempts, s.MaxAttempts)
	case task.CauseLostWorkers:
		return fmt.Sprintf("step %s failed for good: it lost its worker, in attempt %d of %d", step, s.Attempts,
			s.MaxAttempts)
	case task.CauseClassLimit:
		return fmt.Sprintf("step %s failed for good: failures of the class %s are not repeated after attempt %d of %d", step,
			class, s.Attempts, s.MaxAttempts)
	case task.CauseNoRetries:
		return fmt.Sprintf("step %s failed for good: it has one attempt", step)
	case task.CauseNotRetryable:
		return fmt.Sprintf("step %s failed for good: its failure must not be repeated", step)
	default:
		return fmt.Sprintf("step %s is in error: %s", step, failure.Cut(l.failed.Failure.Message, 255))
	}
}
