package task

import (
	"cmp"
	"time"
)

// Holding is a lease that was granted outside of the store.
type Holding struct {
	Worker     int64
	Token      int64
	AssignedAt Instant
	StartedAt  Instant // 0: the attempt has not begun
	Until      Instant
	Progress   int
	Note       string
}

// Adopt makes a ready step what it is under a lease that was granted outside of
// the store: assigned, or in progress with an attempt more. The token must be
// newer than that of any lease before: an older one is over. It does not begin before
// the step was ready, whatever the clock said of the process that granted it.
func (s *Step) Adopt(h Holding) error {
	if s.State != StepEnqueued || h.Token <= s.Token {
		return Errorf(StaleToken, "the lease with token %d on step %s is not in force: the step is %s", h.Token, s.ID,
			s.State)
	}
	to := StepAssigned
	if h.StartedAt != 0 {
		to = StepInProgress
	}
	if err := s.move(to); err != nil {
		return err
	}
	s.Token, s.WorkerNo, s.AssignedAt, s.StartedAt, s.FinishedAt = h.Token, h.Worker, max(h.AssignedAt, s.ReadyAt), 0, 0
	s.Progress, s.Note = h.Progress, h.Note
	if to == StepInProgress {
		s.StartedAt = max(h.StartedAt, s.AssignedAt)
		s.Attempts++
		s.Renew(h.Until)
		return nil
	}
	s.LeaseUntil = h.Until
	s.Queue, s.Key = Leases, int64(h.Until)
	return nil
}

// Learn brings the lease on a step that has been adopted in line with what somebody
// else knows of the same lease, where that is newer: the attempt has begun, the lease is
// longer. It reports whether anything has changed.
func (s *Step) Learn(h Holding) bool {
	switch {
	case !s.HeldUnder(h.Token):
		return false
	case s.State == StepAssigned && h.StartedAt != 0:
		if s.begin(max(h.StartedAt, s.AssignedAt), max(h.Until, s.LeaseUntil)) != nil {
			return false
		}
	case h.Until <= s.LeaseUntil:
		return false
	case s.State == StepInProgress:
		s.Renew(h.Until)
	default:
		return false // it has to begin when it had to
	}
	s.Progress, s.Note = max(s.Progress, h.Progress), cmp.Or(h.Note, s.Note)
	return true
}

// Tokens of leases that are granted outside of the store are times in
// microseconds, so that they grow even when what granted them has lost its
// memory. Those of the store are counted from 1 within a step.
const (
	firstTimeToken = int64(1) << 50 // in 2005
	// maxTokenAge bounds how old a lease can be that is still worth a word.
	maxTokenAge = 30 * 24 * time.Hour
)

// CountedToken reports whether a token is one of the store.
func CountedToken(token int64) bool { return token < firstTimeToken }

// TimeToken reports whether a token may be one of a lease that was granted
// outside of the store and is not too old at now.
func TimeToken(token int64, now Instant) bool {
	return token >= firstTimeToken && token <= int64(now.Add(time.Minute)) && token >= int64(now.Add(-maxTokenAge))
}
