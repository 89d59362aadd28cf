package httpapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/queueapi"
)

func (s *server) registerQueueWorker(ctx context.Context, _ *none, body *queueWorker) (answer[queueRegistered], error) {
	reg := &tasker.WorkerRegistration{Name: body.Name, Namespaces: body.Namespaces, Handlers: body.TaskTypes,
		Capabilities: body.Capabilities,
		Capacity:     body.Capacity, Host: body.Host, Version: body.Version, HealthURL: body.HealthURL}
	registered, err := s.registerWorker(ctx, nil, reg)
	if err != nil {
		return answer[queueRegistered]{}, moved(err, "/handlers", "/task_types")
	}
	r := registered.body
	return ok(queueRegistered{WorkerID: r.WorkerID, PollIntervalMS: r.PollIntervalMS,
		PollIntervalSeconds: float64(r.PollIntervalMS) / 1000,
		HeartbeatIntervalMS: r.HeartbeatIntervalMS, VisibilityTimeoutSec: r.LeaseSeconds,
		StartTimeoutSeconds: r.StartTimeoutSeconds,
		MaxPayloadBytes:     r.MaxResultPayloadBytes}), nil
}

func (s *server) pollQueue(ctx context.Context, params *workerPath, body *queuePoll) (answer[queuePolled], error) {
	var no answer[queuePolled]
	if err := s.sameCapabilities(ctx, params.ID, body.capabilities()); err != nil {
		return no, err
	}
	if body.capacity() == 0 {
		return s.pollForNothing(ctx, params.ID)
	}
	polled, err := s.poll(ctx, params, &tasker.PollRequest{Capacity: body.capacity(), WaitMS: body.WaitMS,
		Start: body.Start})
	if err != nil {
		return no, err
	}
	out := queuePolled{Tasks: make([]queueAssignment, len(polled.body.Steps)), ShouldDrain: polled.body.ShouldDrain,
		BreakerNote: polled.body.BreakerNote}
	for i := range polled.body.Steps {
		out.Tasks[i] = toQueueAssignment(&polled.body.Steps[i])
	}
	return ok(out), nil
}

// pollForNothing answers a worker without capacity, at once. In the other protocol a capacity of 0 is a missing one.
func (s *server) pollForNothing(ctx context.Context, id uuid.UUID) (answer[queuePolled], error) {
	if err := s.reachWorker(ctx, id); err != nil {
		return answer[queuePolled]{}, err
	}
	w, err := s.backend.Registered(ctx, id)
	if err != nil {
		return answer[queuePolled]{}, err
	}
	return ok(queuePolled{Tasks: []queueAssignment{}, ShouldDrain: w.State == draining}), nil
}

// sameCapabilities refuses a poll with capabilities other than the registered ones: the tasks would be those of the
// registration.
func (s *server) sameCapabilities(ctx context.Context, id uuid.UUID, named []string) error {
	if len(named) == 0 {
		return nil
	}
	if err := s.reachWorker(ctx, id); err != nil {
		return err
	}
	w, err := s.backend.Registered(ctx, id)
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

func toQueueAssignment(a *tasker.Assignment) queueAssignment {
	out := queueAssignment{TaskID: a.TaskUUID, StepUUID: a.StepUUID, Token: a.Token, TaskType: a.Handler,
		Namespace: a.Namespace, Parameters: a.Parameters,
		ParentResults: a.ParentResults, Status: queueapi.QueueAssigned, Attempt: a.Attempt, MaxAttempts: a.MaxAttempts,
		PriorityLevel:  a.Priority,
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

// heldTasks returns a worker's leases on tasks; nil for a task that is outside the key's limits, or does not exist.
func (s *server) heldTasks(ctx context.Context, worker uuid.UUID, tasks []uuid.UUID) ([]*queueapi.HeldTask, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	held, err := s.backend.HeldTasks(ctx, worker, tasks)
	if err != nil {
		return nil, err
	}
	p := access.From(ctx)
	for i, h := range held {
		if h != nil && p.Limited() && !p.Reaches(h.Namespace) {
			held[i] = nil
		}
	}
	return held, nil
}

// held returns the lease on a task that a worker within the key's limits holds. Without one, status gives the reason:
// cancelled, or lost.
func (s *server) held(ctx context.Context, worker uuid.UUID,
	r *QueueLeaseRef,
) (ref tasker.LeaseRef, status string, err error) {
	if err := s.reachWorker(ctx, worker); err != nil {
		return ref, "", err
	}
	if r.StepUUID != nil && r.Token != "" {
		return tasker.LeaseRef{StepUUID: *r.StepUUID, Token: r.Token}, tasker.LeaseHeld, nil
	}
	held, err := s.heldTasks(ctx, worker, []uuid.UUID{r.TaskID})
	if err != nil {
		return ref, "", err
	}
	if held[0] == nil {
		return ref, "", tasker.Errorf(tasker.CodeNotFound, "there is no task %s", r.TaskID)
	}
	return leaseOf(held[0], r)
}

// leaseOf returns the matching lease among a worker's leases on a task.
func leaseOf(h *queueapi.HeldTask, r *QueueLeaseRef) (ref tasker.LeaseRef, status string, err error) {
	found := 0
	for _, l := range h.Leases {
		if (r.StepUUID == nil || *r.StepUUID == l.StepUUID) && (r.Token == "" || r.Token == l.Token) {
			ref = l
			found++
		}
	}
	switch {
	case found == 1:
		return ref, tasker.LeaseHeld, nil
	case found > 1:
		return ref, "", &tasker.Error{Code: tasker.CodeInvalid, Message: "the worker holds several steps of the task",
			Hint:    "say which",
			Details: []tasker.Detail{{Location: "/step_uuid", Message: "is required"}}}
	case h.State == tasker.TaskCancelled:
		return ref, tasker.LeaseCancelled, nil
	}
	return ref, tasker.LeaseLost, nil
}

func toQueueLease(id uuid.UUID, l *tasker.LeaseAnswer) queueLease {
	return queueLease{TaskID: id, Acknowledged: l.Status == tasker.LeaseHeld, Status: l.Status,
		VisibilityTimeoutUntil: l.LeaseExpiresAt, DeadlineAt: l.DeadlineAt}
}

func (s *server) startQueueTask(ctx context.Context, params *workerPath, body *queueStart) (answer[queueLease], error) {
	var no answer[queueLease]
	ref, status, err := s.held(ctx, params.ID, &body.QueueLeaseRef)
	if err != nil {
		return no, err
	}
	if status != tasker.LeaseHeld {
		return ok(queueLease{TaskID: body.TaskID, Status: status}), nil
	}
	leases, err := s.backend.Start(ctx, tasker.StartRequest{WorkerID: params.ID, Steps: []tasker.LeaseRef{ref}})
	if err != nil {
		return no, moved(err, "/steps/0", "")
	}
	lease, err := first(leases)
	if err != nil {
		return no, err
	}
	if lease.Error != nil {
		return no, moved(lease.Error, "/steps/0", "")
	}
	return ok(toQueueLease(body.TaskID, &lease)), nil
}

func (s *server) progressOfQueueTask(ctx context.Context, params *workerPath,
	body *queueProgress,
) (answer[queueLease], error) {
	var no answer[queueLease]
	ref, status, err := s.held(ctx, params.ID, &body.QueueLeaseRef)
	if err != nil {
		return no, err
	}
	if status != tasker.LeaseHeld {
		return ok(queueLease{TaskID: body.TaskID, Status: status}), nil
	}
	lease, err := s.backend.Progress(ctx, tasker.ProgressReport{WorkerID: params.ID, StepUUID: ref.StepUUID,
		Token:           ref.Token,
		ProgressPercent: body.ProgressPercent, StatusMessage: body.StatusMessage})
	if err != nil {
		return no, err
	}
	if lease.Error != nil {
		return no, lease.Error
	}
	return ok(toQueueLease(body.TaskID, lease)), nil
}

func (s *server) resultOfQueueTask(ctx context.Context, params *workerPath,
	body *queueResult,
) (answer[queueSettled], error) {
	var no answer[queueSettled]
	ref, status, err := s.held(ctx, params.ID, &body.QueueLeaseRef)
	if err != nil {
		return no, err
	}
	if status != tasker.LeaseHeld {
		return no, &tasker.Error{Code: tasker.CodeStaleToken,
			Message: fmt.Sprintf("the worker does not hold the task %s: %s", body.TaskID, status),
			Hint:    "nothing was settled; stop working on it"}
	}
	result := tasker.StepResult{StepUUID: ref.StepUUID, Token: ref.Token, Status: body.Status, Result: body.Result,
		Error: body.Error.failure()}
	settled, err := s.backend.Settle(ctx, tasker.SettleRequest{WorkerID: params.ID, Results: []tasker.StepResult{result}})
	if err != nil {
		return no, moved(err, "/results/0", "")
	}
	one, err := first(settled)
	if err != nil {
		return no, err
	}
	if one.Error != nil {
		return no, moved(one.Error, "/results/0", "")
	}
	return ok(queueSettled{TaskID: body.TaskID, Acknowledged: true, StepState: one.State, NextRetryAt: one.NextRetryAt}),
		nil
}

func (s *server) heartbeatOfQueueWorker(ctx context.Context, params *workerPath,
	body *queueBeat,
) (answer[queueBeaten], error) {
	var no answer[queueBeaten]
	if err := s.reachWorker(ctx, params.ID); err != nil {
		return no, err
	}
	beat := tasker.Heartbeat{WorkerID: params.ID, CurrentLoad: body.CurrentLoad, Health: body.Health}
	if body.Status == draining {
		beat.Status = draining
	}
	leases := make([]queueLease, len(body.CurrentTasks))
	var asked []int // the place in leases of each step of the heartbeat
	if body.CurrentTasks != nil {
		beat.Steps = []tasker.LeaseRef{}
	}
	held, err := s.heldTasks(ctx, params.ID, body.CurrentTasks)
	if err != nil {
		return no, err
	}
	for i, id := range body.CurrentTasks {
		leases[i] = queueLease{TaskID: id, Status: tasker.LeaseLost}
		if held[i] == nil {
			continue
		}
		ref, status, err := leaseOf(held[i], &QueueLeaseRef{TaskID: id})
		if err != nil {
			return no, moved(err, "/step_uuid", place("current_tasks", i))
		}
		if leases[i].Status = status; status == tasker.LeaseHeld {
			beat.Steps, asked = append(beat.Steps, ref), append(asked, i)
		}
	}
	beaten, err := s.backend.Heartbeat(ctx, beat)
	if err != nil {
		return no, err
	}
	for k, i := range asked {
		if k < len(beaten.Leases) {
			leases[i] = toQueueLease(body.CurrentTasks[i], &beaten.Leases[k])
		}
	}
	return ok(queueBeaten{Acknowledged: beaten.Acknowledged, ShouldDrain: beaten.ShouldDrain, Tasks: leases,
		BreakerNote: beaten.BreakerNote}), nil
}

// draining is the status of a worker that takes no more tasks.
const draining = "draining"

// dismissQueueWorker signs a worker off: a final drain.
func (s *server) dismissQueueWorker(ctx context.Context, params *workerPath,
	_ *none,
) (answer[*tasker.DrainResponse], error) {
	return s.drain(ctx, params, &tasker.DrainRequest{Final: true})
}
