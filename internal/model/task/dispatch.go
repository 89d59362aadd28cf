package task

import (
	"cmp"
	"slices"
	"time"
)

// The bounds of a dispatched step's wait in its worker's queue.
const (
	MinDispatchTTL = time.Second
	MaxDispatchTTL = 7 * 24 * time.Hour
)

// DispatchTTLOf returns the longest wait of a dispatched step in its worker's queue: the step's, else the template's,
// else common.
func (t *Template) DispatchTTLOf(s *Step, common time.Duration) time.Duration {
	return cmp.Or(t.Spec(s).DispatchTTL, t.DispatchTTL, common)
}

// ExpiredDispatches counts the step's expired dispatches since its last reset. charged are charged attempts, also of
// other steps, in any order.
//
// A reset leaves no mark, but numbers restart at 1: going back in time, a number not below its successor's is from
// before a reset.
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
