package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/intake"
	"github.com/taskerhq/tasker/internal/task"
)

// FailedJob is a message that became a task, and why the task failed for good, in the words of the format job_failure.
type FailedJob struct {
	Job                          []byte
	Queue                        string
	Error, ErrorType, StackTrace string
	Attempts                     int
	FirstFailedAt, LastFailedAt  time.Time
	HTTPStatus                   int
	ResponseBody                 string
	RetryDelays                  []time.Duration
	Context                      json.RawMessage // a JSON object
}

const (
	// writeBatch bounds the failures of one turn.
	writeBatch = 200
	// writePause and maxWritePause bound the pause after a failure could not be written.
	writePause, maxWritePause = time.Second, 10 * time.Minute
)

// failureWrite is a failure that is being written to a queue.
type failureWrite struct {
	failure deadletter.IntakeFailure
	source  *deadletter.Source // nil: nobody waits for it any more
	job     []byte
	err     error // why it was not written
}

// WriteFailures writes failures of tasks that intakes have made to the queues that their sources name. It must run in
// one process at a time; another may go on where this one stopped. A failure that cannot be written is tried again,
// after growing pauses, until it is: under the same identifier, by which brokers that remember identifiers add it once.
// What a source no longer wants, and what belongs to a task that was deleted, is dropped.
//
// It returns how many failures are done, and whether more are due.
func (in *Inbox) WriteFailures(ctx context.Context) (n int, more bool, err error) {
	due, err := in.store.DueIntakeFailures(ctx, in.now(), writeBatch)
	if err != nil || len(due) == 0 {
		return 0, false, err
	}
	writes := make([]*failureWrite, len(due))
	for i, f := range due {
		writes[i], err = in.failureWrite(ctx, f)
		switch {
		case err == nil:
		case ctx.Err() != nil || task.CodeOf(err) == task.Unavailable:
			return 0, false, err
		default: // a row that cannot be read does not hold up the others
			writes[i] = &failureWrite{failure: f, err: err}
		}
	}
	in.sendFailures(ctx, writes)
	n, err = in.recordWrites(ctx, writes)
	return n, len(due) == writeBatch && n > 0, err
}

// maxWaiting bounds the failures that metrics count.
const maxWaiting = 10_000

// IntakeFailures returns how many failures are still to be written, up to maxWaiting, and the time of the oldest; 0 for
// none.
func (in *Inbox) IntakeFailures(ctx context.Context) (waiting int, oldest task.Instant, err error) {
	return in.store.CountIntakeFailures(ctx, maxWaiting)
}

// failureWrite finds the job to write and its queue. Err is the database's.
func (in *Inbox) failureWrite(ctx context.Context, f deadletter.IntakeFailure) (*failureWrite, error) {
	w := &failureWrite{failure: f}
	t, steps, err := in.tasks.Steps(ctx, f.Task)
	if task.CodeOf(err) == task.NotFound || err == nil && t.Meta.Intake == nil {
		return w, nil
	}
	if err != nil {
		return nil, err
	}
	template, err := in.tasks.TemplateOf(ctx, t.DefID)
	if err != nil {
		return nil, err
	}
	source, err := in.store.FindSource(ctx, template.Namespace, t.Meta.Intake.Source)
	if err != nil || source == nil || source.Intake == nil || source.Intake.WriteFailures == "" {
		return w, err
	}
	records, err := in.tasks.Records(ctx, f.Task)
	if err != nil {
		return nil, err
	}
	if reason, _, is := task.WhyUnopened(t.Context); is {
		return nil, task.Errorf(task.Unavailable, "the context of the task %s cannot be decrypted here: %s", t.ID, reason)
	}
	payload, err := intake.Payload(t.Meta.Intake, t.Context)
	if err != nil { // the context was edited into something else: it is the job now
		payload = t.Context
	}
	w.source = source
	w.job = in.opts.FailedJob(failedJob(t, steps, records.Attempts, payload, f.At))
	return w, nil
}

// failedJob tells how a task failed, by the attempts of the step that failed last.
func failedJob(t *task.Task, steps []*task.Step, attempts []task.Attempt, payload []byte, at task.Instant) *FailedJob {
	j := &FailedJob{Job: payload, Queue: t.Meta.Intake.Queue, Error: "the task failed without a failed attempt",
		FirstFailedAt: at.Time(), LastFailedAt: at.Time()}
	context := map[string]any{"task_uuid": t.ID.String()}
	failed := map[task.ID]bool{}
	for _, s := range steps {
		failed[s.ID] = s.State == task.StepErrored
	}
	attempts = slices.DeleteFunc(slices.Clone(attempts), func(a task.Attempt) bool {
		return a.Failure == nil || !failed[a.StepID] || a.FinishedAt > at
	})
	slices.SortStableFunc(attempts, func(a, b task.Attempt) int { return int(min(max(a.FinishedAt-b.FinishedAt, -1), 1)) })
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
	j.Context, _ = json.Marshal(context) // texts can always be written
	return j
}

// sendFailures sends failures, those of one source together and in their order.
func (in *Inbox) sendFailures(ctx context.Context, writes []*failureWrite) {
	bySource := map[deadletter.SourceKey][]*failureWrite{}
	for _, w := range writes {
		if w.source != nil {
			bySource[w.source.Key()] = append(bySource[w.source.Key()], w)
		}
	}
	for _, list := range bySource {
		source := list[0].source
		carrier := in.opts.Carriers[source.Driver]
		if carrier == nil {
			for _, w := range list {
				w.err = fmt.Errorf("this server has no driver %q", source.Driver)
			}
			continue
		}
		out := make([]Outgoing, len(list))
		for i, w := range list {
			// A carrier derives the identifier of the send from that of the letter.
			out[i] = Outgoing{Letter: &deadletter.Letter{ID: w.failure.ID, MessageID: w.failure.ID.String()},
				Content: deadletter.Content{Payload: w.job}}
		}
		errs := carrier.Send(ctx, source, source.Intake.WriteFailures, out)
		for i, w := range list {
			w.err = errs[i]
		}
	}
}

// recordWrites removes what is done, and puts off what is not. It returns how many are done.
func (in *Inbox) recordWrites(ctx context.Context, writes []*failureWrite) (done int, err error) {
	var ids []task.ID
	var later []deadletter.IntakeFailure
	now := in.now()
	for _, w := range writes {
		if w.err == nil {
			ids = append(ids, w.failure.ID)
			continue
		}
		f := w.failure
		f.Error, f.NextAt = failure.Cut(w.err.Error(), deadletter.MaxCause), now.Add(untriedPause)
		if !errors.Is(w.err, ErrNotTried) {
			f.Tries++
			f.NextAt = now.Add(task.Retry{Backoff: task.BackoffExponential, Base: writePause, Max: maxWritePause}.
				Delay(f.Tries, 0, 0))
		}
		later = append(later, f)
	}
	return len(ids), in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		if err := in.store.DropIntakeFailures(ctx, tx, ids); err != nil {
			return err
		}
		return in.store.SaveIntakeFailures(ctx, tx, later)
	})
}
