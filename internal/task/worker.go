package task

import (
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/failure"
)

// Worker is a process that claims steps.
type Worker struct {
	No            int64 // the store's short key, 0 before it is stored
	ID            ID
	Name          string
	State         WorkerState
	Namespaces    []string // none means all
	Handlers      []string // none means all
	Capabilities  []string // sorted
	Capacity      int
	Load          int
	Host          string
	Version       string
	StartedAt     Instant
	LastHeartbeat Instant
	// HealthURL is where it says how it is, "" for nowhere.
	HealthURL string
	// ProbeFailures counts the probes that have failed since the last good one, and
	// ProbeError says why the last of them did.
	ProbeFailures int
	ProbeError    string
	// BrokenAt is when its circuit breaker opened; 0 while it is closed.
	BrokenAt Instant
	// Unread says why a part of the row could not be read, "" for nearly all.
	Unread string
}

// WorkerState is the state of a worker.
type WorkerState string

// Worker states.
const (
	WorkerActive    WorkerState = "active"
	WorkerDraining  WorkerState = "draining"  // takes nothing more
	WorkerUnhealthy WorkerState = "unhealthy" // gets nothing until a probe succeeds; keeps what it has
	WorkerDead      WorkerState = "dead"      // said good-bye, or missed its heartbeats
)

// WorkerStates are all of them.
var WorkerStates = []WorkerState{WorkerActive, WorkerDraining, WorkerUnhealthy, WorkerDead}

// Leaving reports whether a worker in the state is to finish what it has and poll
// no more.
func (s WorkerState) Leaving() bool { return s == WorkerDraining || s == WorkerDead }

// Serves reports whether the worker can carry out steps of the route.
func (w *Worker) Serves(r Route) bool {
	if len(w.Namespaces) > 0 && !slices.Contains(w.Namespaces, r.Namespace) {
		return false
	}
	if len(w.Handlers) > 0 && !slices.Contains(w.Handlers, r.Handler) {
		return false
	}
	for _, c := range r.Capabilities {
		if _, has := slices.BinarySearch(w.Capabilities, c); !has {
			return false
		}
	}
	return true
}

// Heard books a sign of life: a worker that was taken for dead is active again,
// and one that says that it drains is draining.
func (w *Worker) Heard(now Instant, draining bool) {
	w.LastHeartbeat = max(w.LastHeartbeat, now)
	if w.State == WorkerDead {
		w.State, w.ProbeFailures, w.ProbeError = WorkerActive, 0, ""
	}
	if draining {
		w.State = WorkerDraining
	}
}

// Probed books how a look at the worker's health ended: fault is "" for well. So
// many failures in a row make an active worker unhealthy; the first success ends it.
// It reports whether there is anything to store.
func (w *Worker) Probed(fault string, unhealthyAfter int) bool {
	before := *w
	if fault == "" {
		w.ProbeFailures, w.ProbeError = 0, ""
	} else {
		w.ProbeFailures, w.ProbeError = w.ProbeFailures+1, fault
	}
	switch {
	case w.State == WorkerActive && w.ProbeFailures >= unhealthyAfter:
		w.State = WorkerUnhealthy
	case w.State == WorkerUnhealthy && w.ProbeFailures == 0:
		w.State = WorkerActive
	}
	return w.State != before.State || w.ProbeFailures != before.ProbeFailures || w.ProbeError != before.ProbeError
}

// BreakerState is the state of a worker's circuit breaker.
type BreakerState string

// The states of a circuit breaker.
const (
	BreakerClosed   BreakerState = "closed"
	BreakerOpen     BreakerState = "open"      // the worker gets nothing
	BreakerHalfOpen BreakerState = "half_open" // it gets a few attempts, to see whether they succeed
)

// Breaker returns the state of the worker's circuit breaker, when that changes or
// begins anew by itself (0: never), and which half-open period it is in: they
// follow each other, each as long as the breaker was open, until an attempt has
// ended in one way or the other.
func (w *Worker) Breaker(now Instant, openFor time.Duration) (s BreakerState, until Instant, period int64) {
	if w.BrokenAt == 0 || openFor <= 0 {
		return BreakerClosed, 0, 0
	}
	period = int64(max(now.Sub(w.BrokenAt), 0) / openFor)
	until = w.BrokenAt.Add(time.Duration(period+1) * openFor)
	if period == 0 {
		return BreakerOpen, until, 0
	}
	return BreakerHalfOpen, until, period
}

// WorkersFault reports whether an attempt that ended so says more about the
// worker than about the step: nobody heard of it in time, or it lacked a resource.
func WorkersFault(o Outcome, f *Failure) bool {
	switch o {
	case NotStarted, LeaseExpired, TimedOut:
		return true
	case Failed:
		return f != nil && f.workers()
	default:
		return false
	}
}

// workers reports whether the failure is of a class for which the worker is to blame.
// One that is not to be repeated is logic, and goes by its words.
func (f *Failure) workers() bool {
	c := f.Class
	if c == "" || c == failure.Logic {
		c = failure.ClassByWord(f.report())
	}
	return c == failure.Resource || c == failure.Worker
}
