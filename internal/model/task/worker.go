package task

import (
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
)

// Worker is a process that claims steps.
type Worker struct {
	No            int64
	ID            ID
	Name          string
	State         WorkerState
	Namespaces    []string
	Handlers      []string // empty means all
	Capabilities  []string
	Capacity      int
	Load          int
	Host          string
	Version       string
	StartedAt     Instant
	LastHeartbeat Instant
	HealthURL     string
	// ProbeFailures counts failed probes in a row; ProbeError explains the last.
	ProbeFailures int
	ProbeError    string
	// BrokenAt is when its circuit breaker opened; 0: closed.
	BrokenAt  Instant
	Transport Transport
	// CordonedAt is not 0 while an operator cordons it: it gets no more steps, in any state, and keeps its own.
	CordonedAt   Instant
	CordonedBy   string
	CordonReason string
	// DrainedAt is the beginning of its drain; 0: none, or by a node of an older version. DrainedBy is the operator,
	// "" for the worker itself. An operator's drain lasts until a resume, even beyond the worker's death; the
	// worker's own ends with a heartbeat that reports none.
	DrainedAt   Instant
	DrainedBy   string
	DrainReason string
	Unread      string
}

// WorkerState is the state of a worker.
type WorkerState string

// Worker states.
const (
	WorkerActive    WorkerState = "active"
	WorkerDraining  WorkerState = "draining"
	WorkerUnhealthy WorkerState = "unhealthy" // gets no steps until a probe succeeds; keeps its own
	WorkerDead      WorkerState = "dead"
)

// WorkerStates lists the states.
var WorkerStates = []WorkerState{WorkerActive, WorkerDraining, WorkerUnhealthy, WorkerDead}

// Leaving reports whether a worker should finish its steps and stop polling.
func (s WorkerState) Leaving() bool { return s == WorkerDraining || s == WorkerDead }

// Transport is the way of steps to a worker.
type Transport string

// The transports.
const (
	TransportHTTP Transport = ""
	TransportAMQP Transport = "amqp" // it receives steps in its own queue; it may poll, too
)

// Word names the transport for people and JSON.
func (t Transport) Word() string {
	if t == TransportHTTP {
		return "http"
	}
	return string(t)
}

// TransportNamed returns a transport by name; "" is http. ok is false for an unknown name.
func TransportNamed(word string) (t Transport, ok bool) {
	switch word {
	case "", TransportHTTP.Word():
		return TransportHTTP, true
	case string(TransportAMQP):
		return TransportAMQP, true
	}
	return "", false
}

// DeliveryQueue names the queue of steps for a worker with TransportAMQP.
func DeliveryQueue(prefix string, worker ID) string { return prefix + worker.String() + ".executions" }

// Cordoned reports whether an operator has cordoned the worker.
func (w *Worker) Cordoned() bool { return w.CordonedAt != 0 }

// Cordon has no effect on a cordoned worker.
func (w *Worker) Cordon(now Instant, by, reason string) {
	if !w.Cordoned() {
		w.CordonedAt, w.CordonedBy, w.CordonReason = now, by, reason
	}
}

// Uncordon reverts Cordon.
func (w *Worker) Uncordon() { w.CordonedAt, w.CordonedBy, w.CordonReason = 0, "", "" }

// Serves reports whether the worker can run steps of the route.
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

// DrainsItself reports whether the worker drains without an operator's order.
func (w *Worker) DrainsItself() bool {
	return w.State == WorkerDraining && w.DrainedAt != 0 && w.DrainedBy == ""
}

// Drain records an operator's drain, unless there is one. A worker that left takes no steps anyway.
func (w *Worker) Drain(now Instant, by, reason string) {
	if w.State == WorkerDead || w.State == WorkerDraining && !w.DrainsItself() {
		return
	}
	w.State, w.DrainedAt, w.DrainedBy, w.DrainReason = WorkerDraining, now, by, reason
}

// Resume ends a drain. It returns false for a dead worker without an operator's drain.
func (w *Worker) Resume() bool {
	resumed := w.State != WorkerDead || w.DrainedBy != ""
	if w.State == WorkerDraining {
		w.State = WorkerActive
	}
	w.DrainedAt, w.DrainedBy, w.DrainReason = 0, "", ""
	return resumed
}

// Heard records a heartbeat. A worker that reports draining drains. Otherwise a dead one, or one that drained by
// itself, becomes active, unless an operator drained it.
func (w *Worker) Heard(now Instant, draining bool) {
	w.LastHeartbeat = max(w.LastHeartbeat, now)
	switch {
	case w.State == WorkerDead && w.DrainedBy != "":
		w.State, w.ProbeFailures, w.ProbeError = WorkerDraining, 0, ""
	case w.State == WorkerDead:
		w.State, w.ProbeFailures, w.ProbeError = WorkerActive, 0, ""
	case w.DrainsItself() && !draining:
		w.State = WorkerActive
	}
	switch {
	case w.State != WorkerDraining && draining:
		w.State, w.DrainedAt, w.DrainedBy, w.DrainReason = WorkerDraining, now, "", ""
	case w.State != WorkerDraining: // an older node may have resumed it
		w.DrainedAt, w.DrainedBy, w.DrainReason = 0, "", ""
	}
}

// Probed records a health probe; fault is "" for success. After unhealthyAfter failures in a row an active worker is
// unhealthy; a success ends that. It reports a change.
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

// BreakerState is the state of a circuit breaker, of a worker or a broker's connection.
type BreakerState string

// The states of a circuit breaker.
const (
	BreakerClosed   BreakerState = "closed"
	BreakerOpen     BreakerState = "open"
	BreakerHalfOpen BreakerState = "half_open" // the worker gets a few test attempts
)

// Breaker returns the state of the worker's circuit breaker, its next automatic change or period (0: never), and the
// number of the half-open period. Half-open periods repeat, each as long as the open one, until an attempt ends.
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

// Lost reports whether an attempt ended because nothing was heard of it in time.
func (o Outcome) Lost() bool { return o == NotStarted || o == LeaseExpired || o == DispatchExpired }

// WorkersFault reports whether an attempt's end points to the worker rather than the step: a missed heartbeat, or a
// missing resource.
func WorkersFault(o Outcome, f *Failure) bool {
	switch o {
	case NotStarted, LeaseExpired, TimedOut, DispatchExpired:
		return true
	case Failed:
		return f != nil && f.workers()
	default:
		return false
	}
}

// A failure that is not retryable counts as logic.
func (f *Failure) workers() bool {
	c := f.Class
	if c == "" || c == failure.Logic {
		c = failure.ClassByWord(f.report())
	}
	return c == failure.Resource || c == failure.Worker
}
