package task

import "github.com/taskerhq/tasker/internal/failure"

// ClassLimits say how many retries failures of each class allow; nil says nothing
// about a class.
type ClassLimits struct {
	Transient *int `json:"transient,omitempty"`
	Resource  *int `json:"resource,omitempty"`
	Logic     *int `json:"logic,omitempty"`
	Worker    *int `json:"worker,omitempty"`
}

// Of returns the limit of a class, nil for none.
func (l ClassLimits) Of(c failure.Class) *int {
	switch c {
	case failure.Resource:
		return l.Resource
	case failure.Logic:
		return l.Logic
	case failure.Worker:
		return l.Worker
	default:
		return l.Transient
	}
}

// Budget is how many attempts a step may have.
type Budget struct {
	// Attempts is the step's own number, first attempt included.
	Attempts int
	// Chosen says that somebody chose that number for this step; else it is what
	// everything of its priority gets.
	Chosen bool
	// Own are the limits of the step's template, Common those for all.
	Own, Common ClassLimits
}

// After returns how many attempts there may be in all once one has failed with a
// class. A limit only ever lowers the step's own number. It counts all retries, of
// whatever class: a step that fails in a new way each time is not healthier than
// one that fails in one.
//
//   - what its template says of the class holds;
//   - else a number that was chosen for the step holds, except against logic: what
//     cannot succeed is not repeated because it may be repeated often;
//   - else the common limit of the class holds.
func (b Budget) After(c failure.Class) int {
	limit := b.Own.Of(c)
	if limit == nil && (!b.Chosen || c == failure.Logic) {
		limit = b.Common.Of(c)
	}
	if limit == nil {
		return b.Attempts
	}
	return min(b.Attempts, *limit+1)
}
