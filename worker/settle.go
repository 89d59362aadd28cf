package worker

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/wire"
	"github.com/taskerhq/tasker/internal/kit/backoff"
	"github.com/taskerhq/tasker/worker/protocol"
)

// settleLoop reports results until ctx ends. Results that arrive during one report share the next.
func (s *session) settleLoop(ctx context.Context) {
	for {
		s.awaitBatch(ctx, s.settleWake)
		batch := s.takeResults()
		if len(batch.list) > 0 {
			s.settle(ctx, batch)
			s.settled(batch)
			continue
		}
		select {
		case <-s.settleWake:
			runtime.Gosched() // handlers about to end share the report
		case <-ctx.Done():
			return
		}
	}
}

func (s *session) takeResults() results {
	s.mu.Lock()
	defer s.mu.Unlock()
	var batch results
	if len(s.done.list) == 0 {
		return batch
	}
	weight, n := 0, 0
	for n < len(s.done.list) && n < wire.MaxItems && (n == 0 || weight < wire.MaxBytes) {
		weight += wire.ResultWeight(&s.done.list[n])
		n++
	}
	if n == len(s.done.list) {
		batch, s.done = s.done, results{}
		s.done.jobs = make([]*Job, 0, n)
		s.done.list = make([]protocol.StepResult, 0, n)
	} else {
		batch = results{jobs: s.done.jobs[:n:n], list: s.done.list[:n:n]}
		s.done = results{jobs: s.done.jobs[n:], list: s.done.list[n:]}
	}
	s.settling = n
	return batch
}

func (s *session) settled(batch results) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settling = 0
	for _, job := range batch.jobs {
		job.ackMessage()
		if s.held[job.StepUUID] == job {
			delete(s.held, job.StepUUID)
		}
	}
	s.wakeFetch()
	if s.draining {
		s.drainWake.send()
	}
}

// settle returns when every result of batch is accepted, refused for good, or beyond its lease.
func (s *session) settle(ctx context.Context, batch results) {
	var pause backoff.Pauses
	for {
		batch = s.reportable(batch)
		if len(batch.list) == 0 {
			return
		}
		me := s.me().WorkerID
		answers, err := s.backend.Settle(ctx, protocol.SettleRequest{WorkerID: me, Results: batch.list})
		if ctx.Err() == nil {
			s.note(err)
		}
		if err == nil {
			err = wire.SameLength("settle steps", len(batch.list), len(answers))
		}
		switch {
		case err == nil:
			batch, err = s.evaluate(batch, answers)
			if err == nil {
				continue // the remaining results were changed and can be sent immediately
			}
		case wire.RefusedWhole(err):
			if half := len(batch.list) / 2; half > 0 {
				s.settle(ctx, results{batch.jobs[:half:half], batch.list[:half:half]})
				s.settle(ctx, results{batch.jobs[half:], batch.list[half:]})
				return
			}
			batch = s.refused(batch, 0, err, results{})
			continue
		case tasker.ErrorCode(err) == tasker.CodeNotFound:
			s.registerAgain(ctx, me)
		}
		if ctx.Err() == nil {
			s.log.Warn("report results", "results", len(batch.list), "error", err)
		}
		if !s.waitToReport(ctx, &pause, err) {
			s.giveUp(batch, ctx.Err())
			return
		}
	}
}

// lastTries bounds the pause between reports of a stopping worker to about a second.
const lastTries = 3

// waitToReport pauses until the next report, a server's answer or the begin of a stop, and reports whether ctx is
// alive.
func (s *session) waitToReport(ctx context.Context, pause *backoff.Pauses, err error) bool {
	s.mu.Lock()
	if s.draining {
		pause.Failures = min(pause.Failures, lastTries)
	}
	s.mu.Unlock()
	return pause.WaitOr(ctx, tasker.ErrorRetryAfter(err), s.settleAgain)
}

// reportable drops results that are not worth another try. A result is reported even after the end of its lease,
// because the server may take the step away late; one lease later it certainly has. While no server answers, a result
// is kept as long as its attempt may last. The number of kept results is bounded, because they stop the intake; see
// room.
func (s *session) reportable(batch results) results {
	now := time.Now()
	var kept, late results
	s.mu.Lock()
	lease := leaseOf(&s.self)
	tooLate := func(job *Job) bool {
		end := s.lostAt(job, now)
		return !end.IsZero() && now.After(end.Add(lease))
	}
	if !slices.ContainsFunc(batch.jobs, func(job *Job) bool { return job.dropped || tooLate(job) }) {
		s.mu.Unlock()
		return batch
	}
	for i, job := range batch.jobs {
		switch {
		case job.dropped:
		case tooLate(job):
			late.add(job, batch.list[i])
		default:
			kept.add(job, batch.list[i])
		}
	}
	s.mu.Unlock()
	s.giveUp(late, ErrLeaseLost)
	return kept
}

// evaluate returns the results to send again, and the error to wait out first, if any.
func (s *session) evaluate(batch results, answers []protocol.SettleAnswer) (again results, wait error) {
	for i := range answers {
		err := answers[i].Error
		switch {
		case err == nil:
			s.tell(batch.jobs[i], &batch.list[i], &answers[i])
		case wire.RefusedWhole(err):
			again = s.refused(batch, i, err, again)
		case tasker.ErrorCode(err).Temporary():
			again.add(batch.jobs[i], batch.list[i])
			wait = err
		default:
			// The lease was lost or the task cancelled meanwhile. The step no longer belongs to this worker.
			s.log.Info("result was not taken", "step", batch.jobs[i].StepName,
				"step_uuid", batch.jobs[i].StepUUID, "error", err)
		}
	}
	return again, wait
}

// refused replaces the i-th result of batch, which the server will never accept, by a failure with the reason, and
// appends it to again: the step must not run repeatedly to the same end.
func (s *session) refused(batch results, i int, err error, again results) results {
	job := batch.jobs[i]
	s.mu.Lock()
	twice := job.refused
	job.refused = true
	s.mu.Unlock()
	if twice {
		s.giveUp(results{batch.jobs[i : i+1], batch.list[i : i+1]}, err)
		return again
	}
	r := refusal("result_refused", err.Error())
	r.StepUUID, r.Token = job.StepUUID, job.Token
	again.add(job, r)
	return again
}

// giveUp logs the results that no server will get. Their steps run again when their leases end.
func (s *session) giveUp(batch results, err error) {
	for i, job := range batch.jobs {
		s.log.Error("result could not be reported", "step", job.StepName, "step_uuid", job.StepUUID,
			"status", batch.list[i].Status, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		s.unreported += len(batch.jobs)
	}
	for _, job := range batch.jobs {
		job.releaseMessage()
	}
}
