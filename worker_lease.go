package tasker

import (
	"time"

	"github.com/google/uuid"
)

// watch makes sure that expire runs when the job's deadline or lease ends. One
// timer serves all steps: it is moved only for a step that is due earlier than
// all others, and a firing too early costs one look around. The caller holds mu.
func (s *shift) watch(job *Job) {
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

// dueAt is when something ends for the running job; zero: never. The caller
// holds mu.
func (s *shift) dueAt(job *Job) time.Time {
	lost := s.lostAt(job, time.Now())
	if job.deadline.IsZero() || (!lost.IsZero() && lost.Before(job.deadline)) {
		return lost
	}
	return job.deadline
}

// expire ends the contexts of the handlers that are out of time. A lease that
// a server did not renew until its end is lost: from then on another worker may
// run the step, so this one must not go on. While no server answers it goes on.
func (s *shift) expire() {
	now := time.Now()
	var late, lost []*Job
	outlives := false
	s.mu.Lock()
	s.nextDue = time.Time{}
	for _, job := range s.held {
		if job.ended {
			continue // its result is on its way; settling knows how long to try
		}
		if end := s.lostAt(job, now); !end.IsZero() && !now.Before(end) {
			s.drop(job)
			lost = append(lost, job)
			continue
		}
		if !job.leaseEnd.IsZero() && !now.Before(job.leaseEnd) && !s.outliving {
			s.outliving, outlives = true, true // once for all steps is enough
		}
		if !job.deadline.IsZero() && !now.Before(job.deadline) {
			job.deadline = time.Time{} // once is enough
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

// drop makes the shift forget job: nothing will be reported of it. Its handler
// keeps its slot until it returns. The caller holds mu.
func (s *shift) drop(job *Job) {
	job.dropped = true
	if s.held[job.StepUUID] == job {
		delete(s.held, job.StepUUID)
	}
}

// renew applies the server's answers to what was sent about jobs. A lease that
// no answer calls lost or cancelled is held from when the question was sent.
// Of a job that has ended meanwhile no lease is held because its result has
// arrived, or is about to be refused; either is for settling to find out.
func (s *shift) renew(jobs []*Job, answers []LeaseAnswer, sent time.Time) {
	var gone map[uuid.UUID]string
	for i := range answers {
		if a := &answers[i]; a.Status == LeaseLost || a.Status == LeaseCancelled {
			if gone == nil {
				gone = make(map[uuid.UUID]string)
			}
			gone[a.StepUUID] = a.Status
		}
	}
	var stopped []*Job
	s.mu.Lock()
	lease := s.self.lease()
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
		if gone[job.StepUUID] == LeaseCancelled {
			job.cancel(ErrCancelled)
			continue
		}
		s.log.Warn("lease was lost, stopping the step", "step", job.StepName, "step_uuid", job.StepUUID)
		job.cancel(ErrLeaseLost)
	}
}
