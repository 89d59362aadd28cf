package task

import (
	"fmt"
	"slices"
)

// Returns count the last attempts of a step that ended one after the other without an end of its handler.
type Returns struct {
	// Lost and NotStarted are those whose workers were lost, and did not start the step, since the step was snoozed.
	Lost, NotStarted int
	// All are also those that workers released or snoozed.
	All int
}

// ReturnsOf counts the last returns of a step. attempts are in the order of their ends, with those of other steps. Of
// the acts, a reset and a replay of the step begin a new count. That a step was released says nothing about it; after a
// snooze its handler had come to its end and brought no worker down.
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

// LastReset returns when an operator let the step begin anew, 0 if none did.
func LastReset(step ID, acts []Act) (at Instant) {
	for i := range acts {
		if a := &acts[i]; a.StepID == step && slices.Contains(ResetActs, a.Kind) {
			at = max(at, a.At)
		}
	}
	return at
}

// Workers is how many workers in a row were lost with the step, or did not start it.
func (r Returns) Workers() int { return r.Lost + r.NotStarted }

// String says what became of them.
func (r Returns) String() string {
	switch {
	case r.NotStarted == 0:
		return fmt.Sprintf("%d workers in a row were lost with this step", r.Lost)
	case r.Lost == 0:
		return fmt.Sprintf("%d workers in a row did not start this step", r.NotStarted)
	}
	return fmt.Sprintf("%d workers in a row were lost with this step or did not start it", r.Workers())
}
