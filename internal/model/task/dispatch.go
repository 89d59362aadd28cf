package task

import (
	"cmp"
	"slices"
	"time"
)

// The bounds of how long a dispatched step may wait in the queue of its worker.
const (
	MinDispatchTTL = time.Second
	MaxDispatchTTL = 7 * 24 * time.Hour
)

// DispatchTTLOf returns how long a dispatched step may wait in the queue of its worker: as its template says for the
// step, else for all steps, else common.
func (t *Template) DispatchTTLOf(s *Step, common time.Duration) time.Duration {
	return cmp.Or(t.Spec(s).DispatchTTL, t.DispatchTTL, common)
}

// ExpiredDispatches counts the dispatches of a step that have expired since its last reset. charged are the charged
// attempts of the step, and possibly of others, in any order.
//
// A reset leaves no mark among the attempts, but their numbers begin again at 1: going back in time, an attempt whose
// number is not below that of the attempt after it is from before a reset.
func ExpiredDispatches(charged []Attempt, s *Step) int {
	own := slices.DeleteFunc(slices.Clone(charged), func(a Attempt) bool { return a.StepID != s.ID })
	slices.SortFunc(own, func(a, b Attempt) int { return cmp.Compare(b.Token, a.Token) })
	expired, next := 0, s.Attempts+1
	for _, a := range own {
		if a.Number >= next {
			break
		}
		if a.Outcome == DispatchExpired {
			expired++
		}
		next = a.Number
	}
	return expired
}
