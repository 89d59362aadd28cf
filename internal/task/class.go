package task

import (
	"cmp"
	"slices"
	"strings"
)

// Class says what kind of trouble a failure is: what its repetition may be good
// for, and how often that is tried.
type Class string

// The classes of failures.
const (
	// Transient: the world was not as it should be for a moment.
	Transient Class = "transient"
	// Resource: the attempt needed more than it had, time or memory.
	Resource Class = "resource"
	// Logic: the same input will fail the same way.
	Logic Class = "logic"
	// Lost: the worker is to blame, not the step.
	Lost Class = "worker"
)

// Classes lists the classes.
var Classes = []Class{Transient, Resource, Logic, Lost}

// Known reports whether there is such a class.
func (c Class) Known() bool { return slices.Contains(Classes, c) }

// classWords are the codes and types of failures that tell their class by
// themselves. Others are transient: it is the one class that a worker which knows
// nothing of classes may be presumed to mean.
var classWords = map[string]Class{
	"TIMEOUT":            Resource,
	"TIMED_OUT":          Resource,
	"OOM":                Resource,
	"OOM_KILLED":         Resource,
	"OUT_OF_MEMORY":      Resource,
	"WORKER_OOM":         Resource,
	"DISK_FULL":          Resource,
	"RESOURCE":           Resource,
	"RESOURCE_EXHAUSTED": Resource,
	"WORKER":             Lost,
	"WORKER_FAILURE":     Lost,
	"WORKER_LOST":        Lost,
	"LEASE_EXPIRED":      Lost,
	"UNKNOWN_HANDLER":    Lost,
}

// ClassOf returns the class of a failure: the one that it names; logic where it says
// that it must not be repeated; what its code, else its type, is known for; else
// transient.
func ClassOf(f *Failure) Class {
	if f.Class.Known() {
		return f.Class
	}
	if !f.Retryable {
		return Logic
	}
	return cmp.Or(f.wordClass(), Transient)
}

// wordClass is the class that the code, else the type, of a failure is known for, or "".
func (f *Failure) wordClass() Class {
	return cmp.Or(classWords[canonicalCode(f.Code)], classWords[canonicalCode(f.Type)])
}

// canonicalCode is a code as the tables here have it.
func canonicalCode(s string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToUpper(s))
}

// ClassLimits say how many retries failures of each class allow; nil says nothing
// about a class.
type ClassLimits struct {
	Transient *int `json:"transient,omitempty"`
	Resource  *int `json:"resource,omitempty"`
	Logic     *int `json:"logic,omitempty"`
	Worker    *int `json:"worker,omitempty"`
}

// Of returns the limit of a class, nil for none.
func (l ClassLimits) Of(c Class) *int {
	switch c {
	case Resource:
		return l.Resource
	case Logic:
		return l.Logic
	case Lost:
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
func (b Budget) After(c Class) int {
	limit := b.Own.Of(c)
	if limit == nil && (!b.Chosen || c == Logic) {
		limit = b.Common.Of(c)
	}
	if limit == nil {
		return b.Attempts
	}
	return min(b.Attempts, *limit+1)
}
