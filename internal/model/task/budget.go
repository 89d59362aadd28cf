package task

import "github.com/taskerhq/tasker/internal/model/failure"

// ClassLimits are the retries per class of failure; nil sets no limit.
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

// Budget is the number of attempts of a step.
type Budget struct {
	Attempts int
	// Chosen means set for this step, not its priority's default.
	Chosen bool
	// Own are the template's limits, Common the server's.
	Own, Common ClassLimits
}

// After returns the total number of attempts after a failure of a class. A limit only lowers the number, and counts
// the retries of all classes. The first of these applies:
//
//   - the template's limit of the class;
//   - a number set for the step, except for class logic, where more attempts do not help;
//   - the common limit of the class.
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
