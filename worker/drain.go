package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/worker/protocol"
)

// drain waits for the handlers, ends their contexts, and then abandons them. life keeps settling and heartbeats
// running meanwhile. After DrainTimeout drain drops results that no server accepts.
func (s *session) drain(life context.Context) error {
	end := time.Now().Add(s.opts.DrainTimeout)
	abort := s.opts.Abort
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	s.settleAgain.send()

	left := 0
	if !s.await(max(s.opts.DrainTimeout, 0), s.noneRunning, abort) {
		s.stopAll()
		if !s.await(stopGrace, s.noneRunning, nil) {
			left = s.leave()
		}
	}
	settled := s.await(time.Until(end)-settleGrace, s.noneUnreported, abort) ||
		s.await(settleGrace, s.noneUnreported, nil)

	// The server reassigns the steps of this worker that remain: those of abandoned handlers, and of a poll that
	// ended before its answer.
	ctx, cancel := context.WithTimeout(life, drainGrace)
	defer cancel()
	if _, err := s.backend.Drain(ctx, protocol.WorkerAct{WorkerID: s.me().WorkerID, Final: true}); err != nil {
		// Not worth an error: without the final drain the leases expire.
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

// await waits up to d for done, which it calls with mu held, or until abort is closed. It reports whether done became
// true.
func (s *session) await(d time.Duration, done func() bool, abort <-chan struct{}) bool {
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
		case <-abort:
			return false
		}
	}
}

func (s *session) noneRunning() bool { return s.running == 0 }

// noneUnreported reports whether every result is accepted or dropped. The caller holds mu.
func (s *session) noneUnreported() bool { return len(s.done.list)+s.settling == 0 }

func (s *session) stopAll() {
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

func (s *session) leave() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, job := range s.held {
		if !job.ended {
			s.drop(job)
		}
	}
	return s.running
}
