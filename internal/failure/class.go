package failure

import (
	"cmp"
	"slices"
	"strings"
)

// Class is what kind of trouble a failure is: it decides whether a retry may help,
// and how many there are.
type Class string

// The classes of failures.
const (
	// Transient: something outside was not available for a moment.
	Transient Class = "transient"
	// Resource: the attempt needed more time or memory than it had.
	Resource Class = "resource"
	// Logic: the same input fails the same way.
	Logic Class = "logic"
	// Worker: the worker is to blame, not the step.
	Worker Class = "worker"
)

// Classes lists the classes.
var Classes = []Class{Transient, Resource, Logic, Worker}

// Known reports whether there is such a class.
func (c Class) Known() bool { return slices.Contains(Classes, c) }

// Report is what is known of a failure and decides what kind it is. Every field may
// be empty.
type Report struct {
	Type    string // of the error, as a language names it
	Code    string // that a program chose for it
	Message string
	// Class is the one that the reporter named; one that is not Known counts as none.
	Class Class
	// Retryable: the reporter does not rule a retry out.
	Retryable bool
}

// words are the codes and types that tell a class without further knowledge. All
// others are transient: that is what a worker most likely means that knows nothing
// of classes.
var words = map[string]Class{
	"TIMEOUT":            Resource,
	"TIMED_OUT":          Resource,
	"OOM":                Resource,
	"OOM_KILLED":         Resource,
	"OUT_OF_MEMORY":      Resource,
	"WORKER_OOM":         Resource,
	"DISK_FULL":          Resource,
	"RESOURCE":           Resource,
	"RESOURCE_EXHAUSTED": Resource,
	"WORKER":             Worker,
	"WORKER_FAILURE":     Worker,
	"WORKER_LOST":        Worker,
	"LEASE_EXPIRED":      Worker,
	"UNKNOWN_HANDLER":    Worker,
}

// ClassOf returns the class of a failure: the one that it names; Logic where it rules
// a retry out; what its code, else its type, is known for; else Transient.
func ClassOf(r Report) Class {
	if r.Class.Known() {
		return r.Class
	}
	if !r.Retryable {
		return Logic
	}
	return cmp.Or(ClassByWord(r), Transient)
}

// ClassByWord returns the class that the code, else the type, of a failure is known
// for, "" for none. Case does not matter, and a hyphen or a space is an underscore.
func ClassByWord(r Report) Class {
	return cmp.Or(words[canonical(r.Code)], words[canonical(r.Type)])
}

// overloaded are the codes of servers and workers that ask for fewer requests.
var overloaded = map[string]bool{
	"RATE_LIMIT":              true,
	"RATE_LIMITED":            true,
	"TEMPORARY_UNAVAILABLE":   true,
	"TEMPORARILY_UNAVAILABLE": true,
}

// Overloaded reports whether the code of a failure says that there were too many
// requests already.
func Overloaded(r Report) bool { return overloaded[canonical(r.Code)] }

// canonical is a word as the tables have it.
func canonical(s string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToUpper(s))
}
