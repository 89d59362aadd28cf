package task

import (
	"cmp"
	"time"
)

// Holding is a lease granted outside the store.
type Holding struct {
	Worker     int64
	Token      int64
	AssignedAt Instant
	StartedAt  Instant
	Until      Instant
	Progress   int
	Note       string
}

// Adopt brings a ready step under a lease granted outside the store. The token must be newer than every earlier one.
// The lease begins when the step was ready at the earliest.
func (s *Step) Adopt(h Holding) error {
	if !s.OnRoute() || h.Token <= s.Token {
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

// Learn updates an adopted step from a newer record of the same lease, and reports a change.
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
		return false // the start deadline stays
	}
	s.Progress, s.Note = max(s.Progress, h.Progress), cmp.Or(h.Note, s.Note)
	return true
}

// Tokens of leases granted outside the store are times in microseconds, so they increase even if the dispatcher loses
// its memory. Tokens of the store count from 1 within a step.
const (
	firstTimeToken = int64(1) << 50 // in 2005
	maxTokenAge    = 30 * 24 * time.Hour
)

// CountedToken reports whether the store granted a token.
func CountedToken(token int64) bool { return token < firstTimeToken }

// TimeToken reports whether a lease granted outside the store can have the token and is usable at now.
func TimeToken(token int64, now Instant) bool {
	return token >= firstTimeToken && token <= int64(now.Add(time.Minute)) && token >= int64(now.Add(-maxTokenAge))
}
