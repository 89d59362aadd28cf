package worker

import (
	"context"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/backoff"
	"github.com/taskerhq/tasker/worker/protocol"
)

// defaultBeat applies if neither the server nor the options set an interval. It is the server's default.
const defaultBeat = 30 * time.Second

func (s *session) beatLoop(ctx context.Context) {
	var pause backoff.Pauses
	for backoff.SleepOr(ctx, s.beatInterval(), s.beatWake) {
		for {
			err := s.beat(ctx)
			if err == nil {
				pause = backoff.Pauses{}
				s.beatWake.clear()
				break
			}
			if ctx.Err() != nil {
				return
			}
			s.log.Warn("heartbeat", "error", err)
			if pause.Failures >= 3 {
				break // the regular interval is now as short
			}
			// Retry before the next regular beat: leases are running out.
			if !pause.Wait(ctx, tasker.ErrorRetryAfter(err)) {
				return
			}
		}
	}
}

// beatInterval lets two beats fail within one lease.
func (s *session) beatInterval() time.Duration {
	me := s.me()
	d := time.Duration(me.HeartbeatIntervalMS) * time.Millisecond
	if s.opts.HeartbeatInterval > 0 {
		d = s.opts.HeartbeatInterval
	}
	if d <= 0 {
		d = defaultBeat
	}
	if third := leaseOf(&me) / 3; third > 0 {
		d = min(d, third)
	}
	return d
}

// beat names every lease that the worker holds, and sends an empty list if there is none: a worker must not renew the
// lease of a step whose assignment never reached it.
func (s *session) beat(ctx context.Context) error {
	beat, jobs := s.pulse()
	ctx, cancel := context.WithTimeout(ctx, s.beatInterval())
	defer cancel()
	sent := time.Now()
	resp, err := s.backend.Heartbeat(ctx, beat)
	s.note(err)
	if tasker.ErrorCode(err) == tasker.CodeNotFound {
		s.registerAgain(ctx, beat.WorkerID)
		return nil // the next beat carries the new ID
	}
	if err != nil {
		return err
	}
	s.noteAnswer()
	s.renew(jobs, resp.Leases, sent)
	if resp.ShouldDrain {
		s.stopFetch()
	}
	return nil
}

func (s *session) pulse() (protocol.Heartbeat, []*Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	beat := protocol.Heartbeat{
		WorkerID: s.self.WorkerID, CurrentLoad: s.running, Status: "active",
		Steps: make([]protocol.LeaseRef, 0, len(s.held)),
	}
	if s.draining {
		beat.Status = "draining"
	}
	jobs := make([]*Job, 0, len(s.held))
	for _, job := range s.held {
		beat.Steps = append(beat.Steps, protocol.LeaseRef{StepUUID: job.StepUUID, Token: job.Token})
		jobs = append(jobs, job)
	}
	return beat, jobs
}
