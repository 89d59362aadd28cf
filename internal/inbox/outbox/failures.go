package outbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/intake"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	writeBatch                = 200
	writePause, maxWritePause = time.Second, 10 * time.Minute
)

type failureWrite struct {
	send   deadletter.Send
	source *deadletter.Source // nil: no source wants it
	job    []byte
	err    error
}

// WriteFailures writes failures of tasks made by intakes to the queues that their sources name, in one process at a
// time. It repeats a failure under the same identifier, after growing pauses, until the broker confirms it: brokers
// that remember identifiers add it once. It drops failures of deleted tasks and those without a source that takes them.
// It returns how many are done and whether more are due. A *due.Error names skipped ones.
func (in *Outbox) WriteFailures(ctx context.Context) (n int, more bool, err error) {
	now := in.Now()
	list, err := in.dueFailures.Read(now, writeBatch, func(limit int) ([]deadletter.Send, error) {
		return in.store.DueSends(ctx, deadletter.SendFailure, now, in.orphans(), limit)
	})
	if err != nil || len(list) == 0 {
		return 0, false, err
	}
	t, err := in.TakeTurn(ctx, loopFailures)
	if err != nil {
		return 0, false, err
	}
	refused := false
	err = in.dueFailures.Try(ctx, now, list, func(ctx context.Context, some []deadletter.Send) error {
		done, other, err := in.writeFailures(ctx, t, some)
		n, refused = n+done, refused || other
		return err
	})
	if errors.Is(err, desk.ErrTurnLost) {
		return n, false, nil
	}
	// Those behind rows that fail are written at once, and those behind what a broker does not take are not.
	return n, len(list) == writeBatch && (n > 0 || !refused), err
}

// writeFailures writes some failures, and returns how many are done, and whether one was sent and not taken.
func (in *Outbox) writeFailures(ctx context.Context, t Turn, list []deadletter.Send) (n int, refused bool, err error) {
	writes := make([]*failureWrite, len(list))
	for i, s := range list {
		if writes[i], err = in.failureWrite(ctx, s); err != nil {
			if ctx.Err() != nil {
				return 0, false, err
			}
			writes[i] = &failureWrite{send: s, err: err}
		}
	}
	var sending []outgoing
	if err := in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) (err error) {
		sending, err = in.markFailures(ctx, tx, t, writes)
		return err
	}); err != nil || len(sending) == 0 {
		return 0, false, err
	}
	outcomes := in.SendMarked(ctx, sending)
	refused = slices.ContainsFunc(outcomes, func(o Outcome) bool { return !o.delivered() })
	err = in.recording(ctx, in.dueFailures, outcomes, func(ctx context.Context, some []Outcome) error {
		done, err := in.recordFailures(ctx, t, some)
		if err == nil {
			n += done
		}
		return err
	})
	return n, refused, err
}

const maxWaiting = 10_000

// IntakeFailures counts waiting failures, up to maxWaiting, and returns the time of the oldest; 0 for none.
func (in *Outbox) IntakeFailures(ctx context.Context) (waiting int, oldest task.Instant, err error) {
	return in.store.CountFailures(ctx, maxWaiting)
}

func (in *Outbox) failureWrite(ctx context.Context, s deadletter.Send) (*failureWrite, error) {
	w := &failureWrite{send: s}
	t, steps, err := in.Tasks.Steps(ctx, s.About)
	if task.CodeOf(err) == task.NotFound || err == nil && t.Meta.Intake == nil {
		return w, nil
	}
	if err != nil {
		return nil, err
	}
	template, err := in.Tasks.TemplateOf(ctx, t.DefID)
	if err != nil {
		return nil, err
	}
	source, err := in.store.FindSource(ctx, template.Namespace, t.Meta.Intake.Source)
	if err != nil || source == nil || source.Intake == nil || source.Intake.WriteFailures == "" {
		return w, err
	}
	records, err := in.Tasks.Records(ctx, s.About)
	if err != nil {
		return nil, err
	}
	if reason, _, is := task.WhyUnopened(t.Context); is {
		return nil, task.Errorf(task.Unavailable, "the context of the task %s cannot be decrypted here: %s", t.ID, reason)
	}
	payload, err := intake.Payload(t.Meta.Intake, t.Context)
	if err != nil { // an edit made the context something else: that is the job now
		payload = t.Context
	}
	w.source, w.job = source, failedJob(t, steps, records.Attempts, payload, s.At).Encode()
	return w, nil
}

// markFailures marks failures that have a job, postpones unreadable ones, and drops those without a taker. The failure
// keeps the time of its task: the turn marks it.
func (in *Outbox) markFailures(ctx context.Context, tx engine.Tx, t Turn, writes []*failureWrite) (
	sending []outgoing, err error,
) {
	if err := t.Holds(ctx, tx); err != nil {
		return nil, err
	}
	now := in.Now()
	var dropped []task.ID
	var changed []deadletter.Send
	for _, w := range writes {
		s := w.send
		switch {
		case w.err == nil && w.source == nil:
			dropped = append(dropped, s.Owner)
			continue
		case w.err == nil && in.carriers[w.source.Driver] == nil:
			w.err = fmt.Errorf("this server has no driver %q", w.source.Driver)
		}
		if w.err != nil {
			s.Tries++
			later(&s, w.err, now)
			changed = append(changed, s)
			continue
		}
		s.Mark(t.no, now)
		s.At, s.Destination = w.send.At, w.source.Intake.WriteFailures
		changed = append(changed, s)
		sending = append(sending, outgoing{Send: s, source: w.source, out: seam.Outgoing{SendID: s.Owner.String(),
			Letter: &deadletter.Letter{ID: s.Owner, Namespace: w.source.Namespace, Source: w.source.Name,
				MessageID: s.Owner.String()},
			Content: deadletter.Content{Payload: w.job}}})
	}
	return sending, errors.Join(in.store.SaveSends(ctx, tx, changed),
		in.store.DropSends(ctx, tx, deadletter.SendFailure, dropped))
}

func later(s *deadletter.Send, why error, now task.Instant) {
	s.State, s.Error = deadletter.SendPlanned, failure.Cut(why.Error(), deadletter.MaxCause)
	if s.Copies > 0 {
		s.State = deadletter.SendUnknown
	}
	pause := task.Retry{Backoff: task.BackoffExponential, Base: writePause, Max: maxWritePause}
	s.NextAt = now.Add(pause.Delay(s.Tries, 0, 0))
}

func (in *Outbox) recordFailures(ctx context.Context, t Turn, outcomes []Outcome) (done int, err error) {
	var ids []task.ID
	var changed []deadletter.Send
	now := in.Now()
	for _, o := range outcomes {
		s := o.Send
		switch {
		case o.delivered():
			ids = append(ids, s.Owner)
			continue
		case errors.Is(o.Err, seam.ErrNotTried):
			s.NotTried(o.Err.Error(), 0)
			later(&s, o.Err, now)
			if s.NextAt = now.Add(untriedPause); o.late {
				s.NextAt = now
			}
		default:
			if errors.Is(o.Err, seam.ErrUnknown) {
				s.Copies++
			}
			later(&s, o.Err, now)
		}
		changed = append(changed, s)
	}
	return len(ids), in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		if err := t.Holds(ctx, tx); err != nil {
			return err
		}
		return errors.Join(in.store.DropSends(ctx, tx, deadletter.SendFailure, ids), in.store.SaveSends(ctx, tx, changed))
	})
}

// failedJob is a message that became a task, and why the task failed.
func failedJob(t *task.Task, steps []*task.Step, attempts []task.Attempt, payload []byte, at task.Instant,
) *failure.Job {
	j := &failure.Job{Job: payload, Queue: t.Meta.Intake.Queue, Error: "the task failed without a failed attempt",
		FirstFailedAt: at.Time(), LastFailedAt: at.Time()}
	context := map[string]any{"task_uuid": t.ID.String()}
	failed := map[task.ID]bool{}
	for _, s := range steps {
		failed[s.ID] = s.State == task.StepErrored
	}
	attempts = slices.DeleteFunc(slices.Clone(attempts), func(a task.Attempt) bool {
		return a.Failure == nil || !failed[a.StepID] || a.FinishedAt > at
	})
	slices.SortStableFunc(attempts, func(a, b task.Attempt) int { return cmp.Compare(a.FinishedAt, b.FinishedAt) })
	if len(attempts) > 0 {
		last := attempts[len(attempts)-1]
		attempts = slices.DeleteFunc(attempts, func(a task.Attempt) bool { return a.StepID != last.StepID })
		f := last.Failure
		j.Error, j.ErrorType, j.StackTrace = f.Message, f.Type, f.Stack
		j.HTTPStatus, j.ResponseBody, j.Attempts = f.HTTPStatus, f.ResponseBody, last.Number
		j.FirstFailedAt, j.LastFailedAt = attempts[0].FinishedAt.Time(), last.FinishedAt.Time()
		for i := 1; i < len(attempts); i++ {
			j.RetryDelays = append(j.RetryDelays, max(attempts[i].AssignedAt.Sub(attempts[i-1].FinishedAt), 0))
		}
		context["step_uuid"] = last.StepID.String()
	}
	j.Context, _ = json.Marshal(context)
	return j
}
