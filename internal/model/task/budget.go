package task

import "github.com/taskerhq/tasker/internal/model/failure"

// ClassLimits are the retries that each class of failure allows; nil means no limit of the class.
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
	// Attempts is the step's own number, first attempt included.
	Attempts int
	// Chosen reports that the number was set for this step. Otherwise it is the default of its priority.
	Chosen bool
	// Own are the limits of the step's template, Common those of all templates.
	Own, Common ClassLimits
}

// After returns the total number of attempts after a failure of a class. A limit only lowers the step's own number. It
// counts the retries of all classes: a step with a new failure each time is not healthier than one with a single
// failure.
//
//   - the template's limit of the class applies;
//   - else a number set for the step applies, except to class logic, where more attempts do not help;
//   - else the common limit of the class applies.
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
