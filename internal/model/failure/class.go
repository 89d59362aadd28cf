package failure

import (
	"cmp"
	"slices"
	"strings"
)

// Class is the kind of a failure: it decides whether and how often to retry.
type Class string

const (
	// Transient means: something outside was not available for a moment.
	Transient Class = "transient"
	// Resource means: the attempt needed more time or memory than it had.
	Resource Class = "resource"
	// Logic means: the same input fails the same way.
	Logic Class = "logic"
	// Worker means: the fault lies with the worker, not the step.
	Worker Class = "worker"
)

// Classes lists the classes.
var Classes = []Class{Transient, Resource, Logic, Worker}

// Known reports whether the class exists.
func (c Class) Known() bool { return slices.Contains(Classes, c) }

// Report is the known facts about a failure, from which its class follows. Every field is optional.
type Report struct {
	Type    string // of the error, in its language
	Code    string // that a program chose for it
	Message string
	// Class is the reporter's class; an unknown one counts as none.
	Class Class
	// Retryable: the reporter allows a retry.
	Retryable bool
}

// words maps codes and types, as canonical spells them, to classes. All others are transient: a worker without
// classes most likely means that.
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

// ClassOf returns the reported class; else Logic if the report rules a retry out; else the class of its code, else
// of its type; else Transient.
func ClassOf(r Report) Class {
	if r.Class.Known() {
		return r.Class
	}
	if !r.Retryable {
		return Logic
	}
	return cmp.Or(ClassByWord(r), Transient)
}

// ClassByWord returns the class of a failure's code, else of its type, else "". It ignores case, and reads a hyphen
// or a space as an underscore.
func ClassByWord(r Report) Class {
	return cmp.Or(words[canonical(r.Code)], words[canonical(r.Type)])
}

var overloaded = map[string]bool{
	"RATE_LIMIT":              true,
	"RATE_LIMITED":            true,
	"TEMPORARY_UNAVAILABLE":   true,
	"TEMPORARILY_UNAVAILABLE": true,
}

// Overloaded reports whether the code means too many requests. Such a failure is transient, and a caller can wait
// longer.
func Overloaded(r Report) bool { return overloaded[canonical(r.Code)] }

func canonical(s string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToUpper(s))
}
