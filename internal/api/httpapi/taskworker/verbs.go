package taskworker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/httpapi/stepworker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Backend is the part of the engine that the verbs need.
type Backend interface {
	Registered(ctx context.Context, id uuid.UUID) (*protocol.WorkerInfo, error)
	// HeldTasks returns a worker's leases on each task, in the order of the request: nil for a task that does not
	// exist.
	HeldTasks(ctx context.Context, worker uuid.UUID, tasks []uuid.UUID) ([]*queueapi.HeldTask, error)
	Start(ctx context.Context, req protocol.StartRequest) ([]protocol.LeaseAnswer, error)
	Progress(ctx context.Context, report protocol.ProgressReport) (*protocol.LeaseAnswer, error)
	Settle(ctx context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error)
	Heartbeat(ctx context.Context, beat protocol.Heartbeat) (*protocol.HeartbeatResponse, error)
}

// Verbs are the verbs of a worker in the words of the queue. They are safe for concurrent use.
type Verbs struct {
	backend Backend
	steps   *stepworker.Verbs
}

// New returns the verbs over a Backend; steps are the protocol's own verbs.
func New(backend Backend, steps *stepworker.Verbs) *Verbs { return &Verbs{backend, steps} }

// Register registers a worker. Task types are the protocol's handlers; faults have the caller's names.
func (v *Verbs) Register(ctx context.Context, _ *endpoint.None, body *QueueWorker) (QueueRegistered, error) {
	reg := &protocol.WorkerRegistration{Name: body.Name, Namespaces: body.Namespaces, Handlers: body.TaskTypes,
		Capabilities: body.Capabilities,
		Capacity:     body.Capacity, Host: body.Host, Version: body.Version, HealthURL: body.HealthURL}
	r, err := v.steps.Register(ctx, nil, reg)
	if err != nil {
		return QueueRegistered{}, endpoint.Moved(err, "/handlers", "/task_types")
	}
	return QueueRegistered{WorkerID: r.WorkerID, PollIntervalMS: r.PollIntervalMS,
		PollIntervalSeconds: float64(r.PollIntervalMS) / 1000, HeartbeatIntervalMS: r.HeartbeatIntervalMS,
		VisibilityTimeoutSec: r.LeaseSeconds, StartTimeoutSeconds: r.StartTimeoutSeconds,
		MaxPayloadBytes: r.MaxResultPayloadBytes}, nil
}

// Poll claims tasks, and waits for one with wait_ms. It refuses capabilities that differ from the registered ones: the
// tasks would be those of the registration.
func (v *Verbs) Poll(ctx context.Context, params *stepworker.Path, body *QueuePoll) (QueuePolled, error) {
	var no QueuePolled
	if err := v.sameCapabilities(ctx, params.ID, body.capabilities()); err != nil {
		return no, err
	}
	// A full worker polls to learn whether it should drain.
	if body.capacity() == 0 {
		return v.pollForNothing(ctx, params.ID)
	}
	polled, err := v.steps.Poll(ctx, params, &protocol.PollRequest{Capacity: body.capacity(), WaitMS: body.WaitMS,
		Start: body.Start})
	if err != nil {
		return no, err
	}
	out := QueuePolled{Tasks: make([]QueueAssignment, len(polled.Steps)), ShouldDrain: polled.ShouldDrain,
		BreakerNote: polled.BreakerNote}
	for i := range polled.Steps {
		out.Tasks[i] = toQueueAssignment(&polled.Steps[i])
	}
	return out, nil
}

// pollForNothing answers a worker without capacity immediately. In the other protocol a capacity of 0 is a missing one.
func (v *Verbs) pollForNothing(ctx context.Context, id uuid.UUID) (QueuePolled, error) {
	w, err := v.backend.Registered(ctx, id)
	if err != nil {
		return QueuePolled{}, err
	}
	return QueuePolled{Tasks: []QueueAssignment{}, ShouldDrain: w.State == draining && !w.DrainsItself}, nil
}

func (v *Verbs) sameCapabilities(ctx context.Context, id uuid.UUID, named []string) error {
	if len(named) == 0 {
		return nil
	}
	w, err := v.backend.Registered(ctx, id)
	if err != nil {
		return err
	}
	slices.Sort(named)
	registered := slices.Clone(w.Capabilities)
	slices.Sort(registered)
	if slices.Equal(slices.Compact(named), slices.Compact(registered)) {
		return nil
	}
	return &tasker.Error{Code: tasker.CodeInvalid, Message: "the worker was registered with other capabilities",
		Hint: "register it again with these, or leave them out",
		Details: []tasker.Detail{{Location: "/capabilities",
			Message: fmt.Sprintf("must be %q, as registered", strings.Join(registered, ", "))}}}
}

// toQueueAssignment converts a leased step. A trace context that is not of the form of W3C gives no trace ID.
func toQueueAssignment(a *protocol.Assignment) QueueAssignment {
	out := QueueAssignment{TaskID: a.TaskUUID, StepUUID: a.StepUUID, Token: a.Token, TaskType: a.Handler,
		Namespace: a.Namespace, Parameters: a.Parameters, ParentResults: a.ParentResults, LargeResults: a.LargeResults,
		Status: queueapi.QueueAssigned, Attempt: a.Attempt, MaxAttempts: a.MaxAttempts, PriorityLevel: a.Priority,
		TimeoutSeconds: a.TimeoutSeconds, VisibilityTimeoutUntil: a.LeaseExpiresAt, DeadlineAt: a.DeadlineAt,
		TraceParent: a.TraceParent, CorrelationID: a.CorrelationID}
	if a.State == tasker.StepInProgress {
		out.Status = queueapi.QueueExecuting
	}
	if parts := strings.Split(a.TraceParent, "-"); len(parts) >= 4 {
		out.TraceID = parts[1]
	}
	return out
}

// heldTasks returns nil for a task that is missing or outside the key's limits.
func (v *Verbs) heldTasks(ctx context.Context, worker uuid.UUID, tasks []uuid.UUID) ([]*queueapi.HeldTask, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	return v.backend.HeldTasks(ctx, worker, tasks)
}

// held returns the lease on a task that a worker within the key's limits holds, or in status the reason for none:
// cancelled, or lost. With step and token there is no look-up; the engine checks both.
func (v *Verbs) held(ctx context.Context, worker uuid.UUID, r *QueueLeaseRef,
) (ref protocol.LeaseRef, status string, err error) {
	if r.StepUUID != nil && r.Token != "" {
		return protocol.LeaseRef{StepUUID: *r.StepUUID, Token: r.Token}, protocol.LeaseHeld, nil
	}
	held, err := v.heldTasks(ctx, worker, []uuid.UUID{r.TaskID})
	if err != nil {
		return ref, "", err
	}
	if held[0] == nil {
		return ref, "", tasker.Errorf(tasker.CodeNotFound, "there is no task %s", r.TaskID)
	}
	return leaseOf(held[0], r)
}

// leaseOf returns the matching lease among a worker's leases on a task. Invalid if several match: guessing could settle
// the wrong step.
func leaseOf(h *queueapi.HeldTask, r *QueueLeaseRef) (ref protocol.LeaseRef, status string, err error) {
	found := 0
	for _, l := range h.Leases {
		if (r.StepUUID == nil || *r.StepUUID == l.StepUUID) && (r.Token == "" || r.Token == l.Token) {
			ref = l
			found++
		}
	}
	switch {
	case found == 1:
		return ref, protocol.LeaseHeld, nil
	case found > 1:
		return ref, "", &tasker.Error{Code: tasker.CodeInvalid, Message: "the worker holds several steps of the task",
			Hint: "say which", Details: []tasker.Detail{{Location: "/step_uuid", Message: "is required"}}}
	case h.State == tasker.TaskCancelled:
		return ref, protocol.LeaseCancelled, nil
	}
	return ref, protocol.LeaseLost, nil
}

// toQueueLease converts the answer about one lease.
func toQueueLease(id uuid.UUID, l *protocol.LeaseAnswer) QueueLease {
	return QueueLease{TaskID: id, Acknowledged: l.Status == protocol.LeaseHeld, Status: l.Status,
		VisibilityTimeoutUntil: l.LeaseExpiresAt, DeadlineAt: l.DeadlineAt}
}

// Start starts a claimed task. A lost lease is not an error: the answer is not acknowledged, with the reason.
func (v *Verbs) Start(ctx context.Context, params *stepworker.Path, body *QueueStart) (QueueLease, error) {
	var no QueueLease
	ref, status, err := v.held(ctx, params.ID, &body.QueueLeaseRef)
	if err != nil {
		return no, err
	}
	if status != protocol.LeaseHeld {
		return QueueLease{TaskID: body.TaskID, Status: status}, nil
	}
	leases, err := v.backend.Start(ctx, protocol.StartRequest{WorkerID: params.ID, Steps: []protocol.LeaseRef{ref}})
	if err != nil {
		return no, endpoint.Moved(err, "/steps/0", "")
	}
	lease, err := endpoint.First(leases)
	if err != nil {
		return no, err
	}
	if lease.Error != nil {
		return no, endpoint.Moved(lease.Error, "/steps/0", "")
	}
	return toQueueLease(body.TaskID, &lease), nil
}

// Progress renews the lease. A lost lease is answered as in Start.
func (v *Verbs) Progress(ctx context.Context, params *stepworker.Path, body *QueueProgress) (QueueLease, error) {
	var no QueueLease
	ref, status, err := v.held(ctx, params.ID, &body.QueueLeaseRef)
	if err != nil {
		return no, err
	}
	if status != protocol.LeaseHeld {
		return QueueLease{TaskID: body.TaskID, Status: status}, nil
	}
	lease, err := v.backend.Progress(ctx, protocol.ProgressReport{WorkerID: params.ID, StepUUID: ref.StepUUID,
		Token: ref.Token, ProgressPercent: body.ProgressPercent, StatusMessage: body.StatusMessage})
	if err != nil {
		return no, err
	}
	if lease.Error != nil {
		return no, lease.Error
	}
	return toQueueLease(body.TaskID, lease), nil
}

// Result ends a task, or one of its attempts. A worker without the lease gets stale_token: its result is not stored.
func (v *Verbs) Result(ctx context.Context, params *stepworker.Path, body *QueueResult) (QueueSettled, error) {
	var no QueueSettled
	ref, status, err := v.held(ctx, params.ID, &body.QueueLeaseRef)
	if err != nil {
		return no, err
	}
	if status != protocol.LeaseHeld {
		// A result of a lost lease must not look stored: the worker stops instead of reporting it again.
		return no, &tasker.Error{Code: tasker.CodeStaleToken,
			Message: fmt.Sprintf("the worker does not hold the task %s: %s", body.TaskID, status),
			Hint:    "nothing was settled; stop working on it"}
	}
	result := protocol.StepResult{StepUUID: ref.StepUUID, Token: ref.Token, Status: body.Status, Result: body.Result,
		Error: body.Error.failure()}
	settled, err := v.backend.Settle(ctx,
		protocol.SettleRequest{WorkerID: params.ID, Results: []protocol.StepResult{result}})
	if err != nil {
		return no, endpoint.Moved(err, "/results/0", "")
	}
	one, err := endpoint.First(settled)
	if err != nil {
		return no, err
	}
	if one.Error != nil {
		return no, endpoint.Moved(one.Error, "/results/0", "")
	}
	return QueueSettled{TaskID: body.TaskID, Acknowledged: true, StepState: one.State,
			NextRetryAt: one.NextRetryAt},
		nil
}

// Heartbeat renews the leases on tasks and reports lost ones. Without a list of tasks it renews all leases of the
// worker; with an empty list none.
func (v *Verbs) Heartbeat(ctx context.Context, params *stepworker.Path, body *QueueBeat) (QueueBeaten, error) {
	var no QueueBeaten
	beat := protocol.Heartbeat{WorkerID: params.ID, CurrentLoad: body.CurrentLoad, Health: body.Health}
	if body.Status == draining {
		beat.Status = draining
	}
	leases := make([]QueueLease, len(body.CurrentTasks))
	var asked []int // the place in leases of each step of the heartbeat
	// An empty list renews nothing; a missing list renews all.
	if body.CurrentTasks != nil {
		beat.Steps = []protocol.LeaseRef{}
	}
	held, err := v.heldTasks(ctx, params.ID, body.CurrentTasks)
	if err != nil {
		return no, err
	}
	for i, id := range body.CurrentTasks {
		// Lost until the engine says more: a task that does not exist any more has no lease.
		leases[i] = QueueLease{TaskID: id, Status: protocol.LeaseLost}
		if held[i] == nil {
			continue
		}
		ref, status, err := leaseOf(held[i], &QueueLeaseRef{TaskID: id})
		if err != nil {
			return no, endpoint.Moved(err, "/step_uuid", endpoint.ItemPath("current_tasks", i))
		}
		if leases[i].Status = status; status == protocol.LeaseHeld {
			beat.Steps, asked = append(beat.Steps, ref), append(asked, i)
		}
	}
	beaten, err := v.backend.Heartbeat(ctx, beat)
	if err != nil {
		return no, err
	}
	for k, i := range asked {
		// Answers are in the order of the heartbeat's steps; asked maps them to the caller's list.
		if k < len(beaten.Leases) {
			leases[i] = toQueueLease(body.CurrentTasks[i], &beaten.Leases[k])
		}
	}
	return QueueBeaten{Acknowledged: beaten.Acknowledged, ShouldDrain: beaten.ShouldDrain, Tasks: leases,
		BreakerNote: beaten.BreakerNote}, nil
}

const draining = "draining"

// Drain ends the assignment of tasks to a worker.
func (v *Verbs) Drain(ctx context.Context, params *stepworker.Path, body *stepworker.DrainRequest,
) (*protocol.DrainResponse, error) {
	return v.steps.Drain(ctx, params, body)
}

// Dismiss signs a worker off: a final drain, which releases its tasks without charging attempts.
func (v *Verbs) Dismiss(ctx context.Context, params *stepworker.Path, _ *endpoint.None,
) (*protocol.DrainResponse, error) {
	return v.steps.Drain(ctx, params, &stepworker.DrainRequest{Final: true})
}
