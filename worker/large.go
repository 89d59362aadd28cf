package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/wire"
	"github.com/taskerhq/tasker/internal/kit/backoff"
	"github.com/taskerhq/tasker/worker/protocol"
)

// sendLarge sends a result above the inline limit and returns the StepResult that refers to it. While the blob store
// or the server fails, it retries as long as the worker holds the step: the result exists only here. The handler's
// slot stays taken.
func (s *session) sendLarge(job *Job, raw json.RawMessage) protocol.StepResult {
	b, can := s.backend.(protocol.LargeResultBackend)
	if !can || len(raw) > job.maxLarge {
		return tooLarge(job, len(raw), max(job.maxResult, job.maxLarge))
	}
	ctx, end := job.sending()
	defer end()
	var pause backoff.Pauses
	for {
		worker := s.me().WorkerID
		receipt, err := b.SendLargeResult(ctx, worker, protocol.LeaseRef{StepUUID: job.StepUUID, Token: job.Token}, raw)
		switch {
		case err == nil:
			return protocol.StepResult{Status: protocol.ResultCompleted, LargeResult: receipt.Reference}
		case tasker.ErrorCode(err) == tasker.CodeTooLarge:
			return refusal("result_too_large", fmt.Sprintf("the result of step %s: %v", job.StepName, err))
		case wire.RefusedWhole(err):
			return refusal("result_refused", err.Error())
		case tasker.ErrorCode(err) == tasker.CodeStaleToken, tasker.ErrorCode(err) == tasker.CodeWrongState:
			// The step is another worker's; the server refuses this too.
			return protocol.StepResult{Status: protocol.ResultReleased}
		case tasker.ErrorCode(err) == tasker.CodeNotFound:
			s.registerAgain(ctx, worker)
		}
		s.log.Warn("send a large result", "step", job.StepName, "step_uuid", job.StepUUID, "bytes", len(raw), "error", err)
		if !s.mayTryAgain(job) || !pause.Wait(ctx, tasker.ErrorRetryAfter(err)) {
			return protocol.StepResult{Status: protocol.ResultReleased}
		}
	}
}

// sending returns a context for requests after job's handler has returned. It outlives the handler's context after a
// timeout, where the server ends the attempt. It ends with the lease, and soon after a stopping worker has ended its
// handlers' contexts: early enough to return the step.
func (j *Job) sending() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(j.ctx))
	stop := context.AfterFunc(j.ctx, func() {
		switch cause := context.Cause(j.ctx); {
		case errors.Is(cause, ErrTimedOut):
		case errors.Is(cause, ErrDraining):
			time.AfterFunc(stopGrace/2, cancel)
		default:
			cancel()
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

func (s *session) mayTryAgain(job *Job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !job.dropped
}

func tooLarge(job *Job, size, limit int) protocol.StepResult {
	with := ""
	if job.session != nil && job.session.codec != nil {
		with = " with what its codec adds"
	}
	return refusal("result_too_large", fmt.Sprintf("the result of step %s has %d bytes%s, the server takes %d",
		job.StepName, size, with, limit))
}

// Parent returns the raw result of the direct dependency called name, and false if there is none. Its first call
// reads a large result from the server; ParentResult does so too, and ParentResults has only the others.
func (j *Job) Parent(name string) (json.RawMessage, bool, error) {
	of, large := j.LargeResults[name]
	if !large {
		raw, found := j.ParentResults[name]
		return raw, found, nil
	}
	j.largeMu.Lock()
	defer j.largeMu.Unlock()
	if raw, read := j.large[name]; read {
		return raw, true, nil
	}
	if j.session == nil {
		return nil, false, errors.New("a job outside of a worker cannot read the large result of step " + name)
	}
	b, can := j.session.backend.(protocol.LargeResultBackend)
	if !can {
		return nil, false, errors.New("the Backend of the worker cannot read the large result of step " + name)
	}
	raw, err := j.readParent(b, name, &of)
	if err != nil {
		return nil, false, fmt.Errorf("read the result of step %s: %w", name, err)
	}
	if raw, err = j.session.decodeParent(j, name, raw); err != nil {
		return nil, false, err
	}
	if j.large == nil {
		j.large = map[string]json.RawMessage{}
	}
	j.large[name] = raw
	return raw, true, nil
}

// readParent retries for a minute while the blob store or the server fails, which is no fault of the step.
func (j *Job) readParent(b protocol.LargeResultBackend, name string, of *tasker.LargeResult,
) (raw json.RawMessage, err error) {
	var pause backoff.Pauses
	for begun := time.Now(); ; {
		var content io.ReadCloser
		lease := protocol.LeaseRef{StepUUID: j.StepUUID, Token: j.Token}
		content, err = b.LargeParentResult(j.ctx, j.session.me().WorkerID, lease, name)
		if err == nil {
			raw, err = of.ReadAll(content)
		}
		if err == nil || !tasker.ErrorCode(err).Temporary() || time.Since(begun) > backoff.Patience ||
			!pause.Wait(j.ctx, tasker.ErrorRetryAfter(err)) {
			return raw, err
		}
	}
}
