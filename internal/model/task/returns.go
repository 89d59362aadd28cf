package task

import (
	"fmt"
	"slices"
)

// Returns counts a step's last consecutive attempts that ended without its handler.
type Returns struct {
	// Lost and NotStarted count lost workers and unstarted attempts since the last snooze.
	Lost, NotStarted int
	All              int
}

// ReturnsOf counts the last returns of a step. attempts, also of other steps, are in the order of their ends. A reset
// or replay restarts the count. A release says nothing; a snooze proves that the handler ended without killing the
// worker.
func ReturnsOf(step ID, attempts []Attempt, acts []Act) (r Returns) {
	began, snoozed := LastReset(step, acts), false
	for _, a := range slices.Backward(attempts) {
		if a.StepID != step {
			continue
		}
		switch {
		case a.FinishedAt <= began:
			return r
		case a.Outcome == Snoozed:
			snoozed = true
		case a.Outcome == LeaseExpired && !snoozed:
			r.Lost++
		case a.Outcome == NotStarted && !snoozed:
			r.NotStarted++
		case a.Outcome != LeaseExpired && a.Outcome != NotStarted && a.Outcome != Released:
			return r
		}
		r.All++
	}
	return r
}

// LastReset returns when an operator last restarted the step, 0 for never.
func LastReset(step ID, acts []Act) (at Instant) {
	for i := range acts {
		if a := &acts[i]; a.StepID == step && slices.Contains(ResetActs, a.Kind) {
			at = max(at, a.At)
		}
	}
	return at
}

// Workers counts the workers in a row that were lost, or did not start the step.
func (r Returns) Workers() int { return r.Lost + r.NotStarted }

func (r Returns) String() string {
	switch {
	case r.NotStarted == 0:
		return fmt.Sprintf("%d workers in a row were lost with this step", r.Lost)
	case r.Lost == 0:
		return fmt.Sprintf("%d workers in a row did not start this step", r.NotStarted)
	}
	return fmt.Sprintf("%d workers in a row were lost with this step or did not start it", r.Workers())
}
