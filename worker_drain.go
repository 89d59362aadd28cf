package tasker

import (
	"context"
	"fmt"
	"time"
)

// drain ends the shift: handlers may finish, then they are told to, then they
// are left behind. life keeps settling and heartbeats going meanwhile. Results that
// no server takes, for lack of one, are given up when DrainTimeout is over.
func (s *shift) drain(life context.Context) error {
	end := time.Now().Add(s.opts.DrainTimeout)
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	s.settleAgain.send() // the pause may be longer than what time is left

	left := 0
	if !s.await(max(s.opts.DrainTimeout, 0), s.noneRunning) {
		s.stopAll()
		if !s.await(stopGrace, s.noneRunning) {
			left = s.leave()
		}
	}
	settled := s.await(max(settleGrace, time.Until(end)), s.noneUnreported)

	// What the server still counts as ours, it gives to others: steps of the
	// handlers left behind, and of a poll that was ended on its way.
	ctx, cancel := context.WithTimeout(life, drainGrace)
	defer cancel()
	if _, err := s.backend.Drain(ctx, DrainRequest{WorkerID: s.me().WorkerID, Final: true}); err != nil {
		// Not worth an error: without a good-bye the leases run out.
		s.log.Warn("say good-bye to the server", "error", err)
	}
	s.mu.Lock()
	unreported := s.unreported
	s.mu.Unlock()
	switch {
	case left > 0:
		return fmt.Errorf("stop worker %s: %d handlers did not return", s.opts.Name, left)
	case !settled || unreported > 0:
		return fmt.Errorf("stop worker %s: some results could not be reported", s.opts.Name)
	}
	return nil
}

// await waits up to d for done, which is called with mu held, and reports
// whether it came true.
func (s *shift) await(d time.Duration, done func() bool) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		s.mu.Lock()
		ok := done()
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-s.drainWake:
		case <-timer.C:
			return false
		}
	}
}

func (s *shift) noneRunning() bool { return s.running == 0 }

func (s *shift) noneUnreported() bool { return len(s.done.list)+s.settling == 0 }

// stopAll ends the contexts of the running handlers.
func (s *shift) stopAll() {
	s.mu.Lock()
	var running []*Job
	for _, job := range s.held {
		if !job.ended {
			running = append(running, job)
		}
	}
	s.mu.Unlock()
	for _, job := range running {
		job.cancel(ErrDraining)
	}
}

// leave gives up on the handlers that do not return, and counts them.
func (s *shift) leave() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, job := range s.held {
		if !job.ended {
			s.drop(job)
		}
	}
	return s.running
}
