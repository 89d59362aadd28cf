package tasker

import (
	"context"
	"time"
)

// defaultBeat is the rhythm when neither the server nor the options name one.
const defaultBeat = 30 * time.Second

// beatLoop tells the server that the worker lives until ctx ends.
func (s *shift) beatLoop(ctx context.Context) {
	var pause backoff
	for sleepOr(ctx, s.beatInterval(), s.beatWake) {
		for {
			err := s.beat(ctx)
			if err == nil {
				pause = backoff{}
				s.beatWake.clear() // this was the beat that it asked for
				break
			}
			if ctx.Err() != nil {
				return
			}
			s.log.Warn("heartbeat", "error", err)
			if pause.failures >= 3 {
				break // by now the usual rhythm is as good
			}
			// Sooner than the next beat is due: leases are running.
			if !pause.wait(ctx, err) {
				return
			}
		}
	}
}

// beatInterval leaves room for two beats to fail within one lease.
func (s *shift) beatInterval() time.Duration {
	me := s.me()
	d := time.Duration(me.HeartbeatIntervalMS) * time.Millisecond
	if s.opts.HeartbeatInterval > 0 {
		d = s.opts.HeartbeatInterval
	}
	if d <= 0 {
		d = defaultBeat
	}
	if third := me.lease() / 3; third > 0 {
		d = min(d, third)
	}
	return d
}

// beat sends one heartbeat. It names every lease the worker knows of, and an
// empty list when there is none: a step whose hand-out was lost on the way
// must not be kept alive by a worker that never heard of it.
func (s *shift) beat(ctx context.Context) error {
	beat, jobs := s.pulse()
	ctx, cancel := context.WithTimeout(ctx, s.beatInterval())
	defer cancel()
	sent := time.Now()
	resp, err := s.backend.Heartbeat(ctx, beat)
	s.note(err)
	if ErrorCode(err) == CodeNotFound {
		s.registerAgain(ctx, beat.WorkerID)
		return nil // the next beat goes out under the new id
	}
	if err != nil {
		return err
	}
	s.hear()
	s.renew(jobs, resp.Leases, sent)
	if resp.ShouldDrain {
		s.stopFetch()
	}
	return nil
}

func (s *shift) pulse() (Heartbeat, []*Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	beat := Heartbeat{
		WorkerID: s.self.WorkerID, CurrentLoad: s.running, Status: "active",
		Steps: make([]LeaseRef, 0, len(s.held)),
	}
	if s.draining {
		beat.Status = "draining"
	}
	jobs := make([]*Job, 0, len(s.held))
	for _, job := range s.held {
		beat.Steps = append(beat.Steps, LeaseRef{StepUUID: job.StepUUID, Token: job.Token})
		jobs = append(jobs, job)
	}
	return beat, jobs
}
