package worker

import (
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/wire"
)

// longestSilence bounds how long a step without a timeout outlives its lease.
const longestSilence = 24 * time.Hour

// unreachable reports whether err means that no server with the leases answered: the connection failed, no answer
// came in time, or the service or its database is unavailable.
func unreachable(err error) bool {
	return err != nil && (wire.Unanswered(err) || tasker.ErrorCode(err) == tasker.CodeUnavailable)
}

// note learns from a call about leases whether a server answers. Polls do not count: a server with Redis answers them
// while its database is unavailable.
//
// The first answer after a long silence begins a new lease for every held step, because the server does the same for
// workers that could not reach it. If only this worker was cut off, its next heartbeat, sent immediately, learns
// which leases are lost.
func (s *session) note(err error) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if unreachable(err) {
		s.unanswered = true
		return
	}
	silent, lease := now.Sub(s.spoken), leaseOf(&s.self)
	again := s.unanswered && silent >= lease/3 // otherwise the regular beat is early enough
	s.spoken, s.unanswered, s.outliving = now, false, false
	if !again {
		return
	}
	s.beatWake.send()
	s.settleAgain.send()
	if silent < lease/2 {
		return
	}
	for _, job := range s.held {
		if !job.leaseEnd.IsZero() && job.leaseEnd.Before(now.Add(lease)) {
			s.hold(job, now.Add(lease))
		}
	}
}

// silent reports whether no server has answered for so long that no lease could be renewed. A beat is sent each third
// of a lease, so one has failed when a lease ends in a silence. A process that was suspended for as long has sent
// none, so its silence proves nothing. The caller holds mu.
func (s *session) silent(now time.Time) bool {
	return s.unanswered && now.Sub(s.spoken) >= leaseOf(&s.self)/2
}

// lostAt is when the worker drops job unless its lease is renewed; zero: never. While no server answers, perhaps no
// server takes the step away, so the end of the lease is no reason to stop. The end of the attempt is one, because no
// server accepts a result after it; a further lease is for the result of the timeout. The caller holds mu.
func (s *session) lostAt(job *Job, now time.Time) time.Time {
	end := job.leaseEnd
	switch {
	case end.IsZero() || now.Before(end) || !s.silent(now):
		return end
	case job.base.due.IsZero():
		return end.Add(longestSilence)
	}
	if last := job.base.due.Add(leaseOf(&s.self)); last.After(end) {
		return last
	}
	return end
}

// hold requires mu.
func (s *session) hold(job *Job, end time.Time) {
	job.leaseEnd = end
	if !job.ended {
		s.watch(job)
	}
}
