package worker

import (
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/worker/protocol"
)

// watch ensures that expire runs when the job's deadline or lease ends. One timer serves all steps: it moves only for
// a step that is due first, and firing too early costs one check. The caller holds mu.
func (s *session) watch(job *Job) {
	at := s.dueAt(job)
	if at.IsZero() || (!s.nextDue.IsZero() && !at.Before(s.nextDue)) {
		return
	}
	s.nextDue = at
	if s.due == nil {
		s.due = time.AfterFunc(time.Until(at), s.expire)
		return
	}
	s.due.Reset(time.Until(at))
}

// dueAt is when the deadline or lease of the running job ends; zero: never. The caller holds mu.
func (s *session) dueAt(job *Job) time.Time {
	lost := s.lostAt(job, time.Now())
	if job.deadline.IsZero() || (!lost.IsZero() && lost.Before(job.deadline)) {
		return lost
	}
	return job.deadline
}

// expire ends the contexts of handlers whose time is over. A lease that a server did not renew in time is lost:
// another worker may run the step. While no server answers, the handler continues.
func (s *session) expire() {
	now := time.Now()
	var late, lost []*Job
	outlives := false
	s.mu.Lock()
	s.nextDue = time.Time{}
	for _, job := range s.held {
		if job.ended {
			continue // its result is being reported; settling decides how long to try
		}
		if end := s.lostAt(job, now); !end.IsZero() && !now.Before(end) {
			s.drop(job)
			lost = append(lost, job)
			continue
		}
		if !job.leaseEnd.IsZero() && !now.Before(job.leaseEnd) && !s.outliving {
			s.outliving, outlives = true, true
		}
		if !job.deadline.IsZero() && !now.Before(job.deadline) {
			job.deadline = time.Time{}
			late = append(late, job)
		}
		s.watch(job)
	}
	s.mu.Unlock()
	if outlives {
		s.log.Warn("no server answers, steps go on past the end of their leases")
	}
	for _, job := range late {
		job.cancel(ErrTimedOut)
	}
	for _, job := range lost {
		s.log.Warn("lease ran out, stopping the step", "step", job.StepName, "step_uuid", job.StepUUID)
		job.cancel(ErrLeaseLost)
	}
}

// drop forgets job and reports nothing more about it. The handler keeps its slot until it returns. The caller holds
// mu.
func (s *session) drop(job *Job) {
	job.dropped = true
	if s.held[job.StepUUID] == job {
		delete(s.held, job.StepUUID)
	}
}

// renew applies the server's answers to a call about jobs. A lease that is not lost or cancelled is renewed from the
// time of the call. A lost lease of a job that has ended meanwhile is no loss: the server has its result or is about
// to refuse it, and settling finds out which.
func (s *session) renew(jobs []*Job, answers []protocol.LeaseAnswer, sent time.Time) {
	var gone map[uuid.UUID]string
	for i := range answers {
		if a := &answers[i]; a.Status == protocol.LeaseLost || a.Status == protocol.LeaseCancelled {
			if gone == nil {
				gone = make(map[uuid.UUID]string)
			}
			gone[a.StepUUID] = a.Status
		}
	}
	var stopped []*Job
	s.mu.Lock()
	lease := leaseOf(&s.self)
	for _, job := range jobs {
		switch {
		case job.dropped:
		case gone[job.StepUUID] != "" && job.ended:
		case gone[job.StepUUID] != "":
			s.drop(job)
			stopped = append(stopped, job)
		case lease > 0:
			s.hold(job, sent.Add(lease))
		}
	}
	s.mu.Unlock()
	for _, job := range stopped {
		if gone[job.StepUUID] == protocol.LeaseCancelled {
			job.cancel(ErrCancelled)
			continue
		}
		s.log.Warn("lease was lost, stopping the step", "step", job.StepName, "step_uuid", job.StepUUID)
		job.cancel(ErrLeaseLost)
	}
}
