package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/worker/protocol"
)

const checkpointTime = 10 * time.Second

// Checkpoint stores the position of the step, as JSON, for the next attempt: after a failure, a lost lease, a snooze
// or a drain. The last one counts, and nil deletes it. It renews the lease, like Progress, and sends one request; the
// checkpoint is stored when it returns nil. CodeInvalid: it exceeds the limit, 64 KiB by default.
//
// For a few seconds it also works in the cleanup after ErrDraining or ErrTimedOut. After ErrCancelled or ErrLeaseLost
// it stores nothing and returns that error.
func (j *Job) Checkpoint(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the checkpoint of step %s: %w", j.StepName, err)
	}
	if j.session == nil {
		return nil
	}
	if j.session.codec != nil {
		if raw, err = j.session.codec.EncodeValue(context.WithoutCancel(j.ctx), json.RawMessage(raw)); err != nil {
			return fmt.Errorf("encode the checkpoint of step %s: %w", j.StepName, err)
		}
	}
	return j.session.checkpoint(j, raw)
}

// LastCheckpoint unmarshals the last checkpoint of an earlier attempt into out, and reports whether there is one.
// Errors are those of Decode: a handler that can begin anew ignores them.
func (j *Job) LastCheckpoint(out any) (bool, error) {
	if len(j.Assignment.Checkpoint) == 0 {
		return false, nil
	}
	err := decodeInput(j.Assignment.Checkpoint, out, "checkpoint", "the checkpoint of step "+j.StepName)
	return err == nil, err
}

func (s *session) checkpoint(job *Job, raw json.RawMessage) error {
	ctx := job.ctx
	if cause := context.Cause(ctx); cause != nil {
		if !errors.Is(cause, ErrDraining) && !errors.Is(cause, ErrTimedOut) {
			return cause
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), checkpointTime)
		defer cancel()
	}
	return s.report(ctx, job, protocol.ProgressReport{Checkpoint: raw})
}
