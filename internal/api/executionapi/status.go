package executionapi

import (
	"slices"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
)

// Status is the state of a task in the words of executions.
type Status string

// The statuses. A cancellation takes effect immediately, so no execution is canceling; clients may still filter by it.
const (
	Requested  Status = "requested"  // waits for a dependency, a retry or its run_at
	Scheduling Status = "scheduling" // ready: waits for a worker
	Scheduled  Status = "scheduled"  // assigned to a worker that has not started it
	Running    Status = "running"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Canceling  Status = "canceling"
	Cancelled  Status = "cancelled"
	Timeout    Status = "timeout"   // failed: its last attempt ran longer than its time limit
	Abandoned  Status = "abandoned" // failed: its worker was lost
)

// Statuses lists the statuses.
var Statuses = []Status{Requested, Scheduling, Scheduled, Running, Completed, Failed, Canceling, Cancelled, Timeout,
	Abandoned}

// Outcomes of attempts, as queueapi.QueueError names them.
const (
	outcomeTimedOut   = "timed_out"
	outcomeLost       = "lease_expired"
	outcomeNotStarted = "not_started"
	outcomeExpired    = "dispatch_expired"
)

// statusOf returns the status of a task: ready means that it waits for a worker; outcome ended its last attempt.
func statusOf(s queueapi.QueueStatus, ready bool, outcome string) Status {
	switch s {
	case queueapi.QueueQueued:
		if ready {
			return Scheduling
		}
		return Requested
	case queueapi.QueueAssigned:
		return Scheduled
	case queueapi.QueueExecuting:
		return Running
	case queueapi.QueueCompleted:
		return Completed
	case queueapi.QueueStopped:
		return Cancelled
	}
	switch outcome {
	case outcomeTimedOut:
		return Timeout
	case outcomeLost:
		return Abandoned
	}
	return Failed
}

func failed(s queueapi.QueueStatus) bool {
	return s == queueapi.QueueFailed || s == queueapi.QueueDeadLetter
}

func queueStatuses(of []Status) []queueapi.QueueStatus {
	var out []queueapi.QueueStatus
	for _, s := range of {
		switch s {
		case Requested, Scheduling:
			out = append(out, queueapi.QueueQueued)
		case Scheduled:
			out = append(out, queueapi.QueueAssigned)
		case Running:
			out = append(out, queueapi.QueueExecuting)
		case Completed:
			out = append(out, queueapi.QueueCompleted)
		case Cancelled:
			out = append(out, queueapi.QueueStopped)
		case Failed, Timeout, Abandoned:
			out = append(out, queueapi.QueueFailed, queueapi.QueueDeadLetter)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// StatusOfState returns the status for a state alone, as in an event.
func StatusOfState(s tasker.TaskState) Status {
	switch s {
	case tasker.TaskStepsInProcess, tasker.TaskEnqueuingSteps, tasker.TaskEvaluatingResults:
		return Scheduling
	case tasker.TaskComplete, tasker.TaskResolvedManually:
		return Completed
	case tasker.TaskCancelled:
		return Cancelled
	case tasker.TaskError:
		return Failed
	}
	return Requested
}

// RetryReason is why an execution was tried again.
type RetryReason string

// The reasons of retries.
const (
	WorkerUnavailable    RetryReason = "worker_unavailable"     // its worker did not start it in time
	QueueTimeout         RetryReason = "queue_timeout"          // it expired in the queue of its worker
	WorkerHeartbeatStale RetryReason = "worker_heartbeat_stale" // its worker was lost while it ran
	TransientError       RetryReason = "transient_error"
	ManualRetry          RetryReason = "manual_retry"
	UnknownReason        RetryReason = "unknown"
)

// reasonOf returns "" without a retry. last is the last failure, nil for none.
func reasonOf(retries, replays int, last *queueapi.QueueError) RetryReason {
	switch {
	case retries == 0 && replays == 0:
		return ""
	case retries == 0:
		return ManualRetry
	case last == nil:
		return UnknownReason
	}
	switch last.FailureReason {
	case outcomeExpired:
		return QueueTimeout
	case outcomeNotStarted:
		return WorkerUnavailable
	case outcomeLost:
		return WorkerHeartbeatStale
	}
	if last.Retryable {
		return TransientError
	}
	return UnknownReason
}
