package httpapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

func (s *server) registerQueueWorker(ctx context.Context, _ *none, body *queueWorker) (answer[queueRegistered], error) {
	reg := &tasker.WorkerRegistration{Name: body.Name, Namespaces: body.Namespaces, Handlers: body.TaskTypes, Capabilities: body.Capabilities,
		Capacity: body.Capacity, Host: body.Host, Version: body.Version, HealthURL: body.HealthURL}
	registered, err := s.registerWorker(ctx, nil, reg)
	if err != nil {
		return answer[queueRegistered]{}, moved(err, "/handlers", "/task_types")
	}
	r := registered.body
	return ok(queueRegistered{WorkerID: r.WorkerID, PollIntervalMS: r.PollIntervalMS, PollIntervalSeconds: float64(r.PollIntervalMS) / 1000,
		HeartbeatIntervalMS: r.HeartbeatIntervalMS, VisibilityTimeoutSec: r.LeaseSeconds, StartTimeoutSeconds: r.StartTimeoutSeconds,
		MaxPayloadBytes: r.MaxResultPayloadBytes}), nil
}

func (s *server) pollQueue(ctx context.Context, params *workerPath, body *queuePoll) (answer[queuePolled], error) {
	var no answer[queuePolled]
	if err := s.sameCapabilities(ctx, params.ID, body.capabilities()); err != nil {
		return no, err
	}
	if body.capacity() == 0 {
		return s.pollForNothing(ctx, params.ID)
	}
	polled, err := s.poll(ctx, params, &tasker.PollRequest{Capacity: body.capacity(), WaitMS: body.WaitMS, Start: body.Start})
	if err != nil {
		return no, err
	}
	out := queuePolled{Tasks: make([]queueAssignment, len(polled.body.Steps)), ShouldDrain: polled.body.ShouldDrain}
	for i := range polled.body.Steps {
		out.Tasks[i] = toQueueAssignment(&polled.body.Steps[i])
	}
	return ok(out), nil
}

// pollForNothing answers a worker that has no room, at once. In the other protocol a
// capacity of 0 is one that was left out.
func (s *server) pollForNothing(ctx context.Context, id uuid.UUID) (answer[queuePolled], error) {
	if err := s.reachWorker(ctx, id); err != nil {
		return answer[queuePolled]{}, err
	}
	w, err := s.backend.Worker(ctx, id)
	if err != nil {
		return answer[queuePolled]{}, err
	}
	return ok(queuePolled{Tasks: []queueAssignment{}, ShouldDrain: w.State == draining}), nil
}

// sameCapabilities refuses a poll that names other capabilities than the worker was
// registered with: the tasks that it would bring are those of the registration.
func (s *server) sameCapabilities(ctx context.Context, id uuid.UUID, named []string) error {
	if len(named) == 0 {
		return nil
	}
	if err := s.reachWorker(ctx, id); err != nil {
		return err
	}
	w, err := s.backend.Worker(ctx, id)
	if err != nil {
		return err
	}
	slices.Sort(named)
	registered := slices.Clone(w.Capabilities)
	slices.Sort(registered)
	if slices.Equal(slices.Compact(named), slices.Compact(registered)) {
		return nil
	}
	return &tasker.Error{Code: tasker.CodeInvalid, Message: "the worker was registered with other capabilities", Hint: "register it again with these, or leave them out",
		Details: []tasker.Detail{{Location: "/capabilities", Message: fmt.Sprintf("must be %q, as registered", strings.Join(registered, ", "))}}}
}

func toQueueAssignment(a *tasker.Assignment) queueAssignment {
	out := queueAssignment{TaskID: a.TaskUUID, StepUUID: a.StepUUID, Token: a.Token, TaskType: a.Handler, Namespace: a.Namespace, Parameters: a.Parameters,
		ParentResults: a.ParentResults, Status: tasker.QueueAssigned, Attempt: a.Attempt, MaxAttempts: a.MaxAttempts, PriorityLevel: a.Priority,
		TimeoutSeconds: a.TimeoutSeconds, VisibilityTimeoutUntil: a.LeaseExpiresAt, DeadlineAt: a.DeadlineAt, TraceParent: a.TraceParent, CorrelationID: a.CorrelationID}
	if a.State == tasker.StepInProgress {
		out.Status = tasker.QueueExecuting
	}
	if parts := strings.Split(a.TraceParent, "-"); len(parts) >= 4 {
		out.TraceID = parts[1]
	}
	return out
}

// held is the lease of a task that a worker holds. Where there is none, status says
// why: cancelled, or lost.
func (s *server) held(ctx context.Context, worker uuid.UUID, r *QueueLeaseRef) (ref tasker.LeaseRef, status string, err error) {
	if r.StepUUID != nil && r.Token != 0 {
		return tasker.LeaseRef{StepUUID: *r.StepUUID, Token: r.Token}, tasker.LeaseHeld, nil
	}
	if err := s.reachTask(ctx, r.TaskID); err != nil {
		return ref, "", err
	}
	history, err := s.backend.TaskHistory(ctx, r.TaskID)
	if err != nil {
		return ref, "", err
	}
	found := 0
	for _, a := range history.Attempts {
		mine := a.WorkerID != nil && *a.WorkerID == worker && a.Outcome == running
		if mine && (r.StepUUID == nil || *r.StepUUID == a.StepUUID) && (r.Token == 0 || r.Token == a.Token) {
			ref = tasker.LeaseRef{StepUUID: a.StepUUID, Token: a.Token}
			found++
		}
	}
	switch {
	case found == 1:
		return ref, tasker.LeaseHeld, nil
	case found > 1:
		return ref, "", &tasker.Error{Code: tasker.CodeInvalid, Message: "the worker holds several steps of the task", Hint: "say which",
			Details: []tasker.Detail{{Location: "/step_uuid", Message: "is required"}}}
	}
	task, err := s.backend.Task(ctx, r.TaskID, 0)
	if err != nil {
		return ref, "", err
	}
	if task.State == tasker.TaskCancelled {
		return ref, tasker.LeaseCancelled, nil
	}
	return ref, tasker.LeaseLost, nil
}

// running is the outcome of an attempt that has none yet.
const running = "running"

func toQueueLease(id uuid.UUID, l *tasker.LeaseAnswer) queueLease {
	return queueLease{TaskID: id, Acknowledged: l.Status == tasker.LeaseHeld, Status: l.Status, VisibilityTimeoutUntil: l.LeaseExpiresAt, DeadlineAt: l.DeadlineAt}
}

func (s *server) startQueueTask(ctx context.Context, params *workerPath, body *queueStart) (answer[queueLease], error) {
	var no answer[queueLease]
	if err := s.reachWorker(ctx, params.ID); err != nil {
		return no, err
	}
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

func (s *server) progressOfQueueTask(ctx context.Context, params *workerPath, body *queueProgress) (answer[queueLease], error) {
	var no answer[queueLease]
	if err := s.reachWorker(ctx, params.ID); err != nil {
		return no, err
	}
	ref, status, err := s.held(ctx, params.ID, &body.QueueLeaseRef)
	if err != nil {
		return no, err
	}
	if status != tasker.LeaseHeld {
		return ok(queueLease{TaskID: body.TaskID, Status: status}), nil
	}
	lease, err := s.backend.Progress(ctx, tasker.ProgressReport{WorkerID: params.ID, StepUUID: ref.StepUUID, Token: ref.Token,
		ProgressPercent: body.ProgressPercent, StatusMessage: body.StatusMessage})
	if err != nil {
		return no, err
	}
	if lease.Error != nil {
		return no, lease.Error
	}
	return ok(toQueueLease(body.TaskID, lease)), nil
}

func (s *server) resultOfQueueTask(ctx context.Context, params *workerPath, body *queueResult) (answer[queueSettled], error) {
	var no answer[queueSettled]
	if err := s.reachWorker(ctx, params.ID); err != nil {
		return no, err
	}
	ref, status, err := s.held(ctx, params.ID, &body.QueueLeaseRef)
	if err != nil {
		return no, err
	}
	if status != tasker.LeaseHeld {
		return no, &tasker.Error{Code: tasker.CodeStaleToken, Message: fmt.Sprintf("the worker does not hold the task %s: %s", body.TaskID, status),
			Hint: "nothing was settled; stop working on it"}
	}
	result := tasker.StepResult{StepUUID: ref.StepUUID, Token: ref.Token, Status: body.Status, Result: body.Result, Error: body.Error.failure()}
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
	return ok(queueSettled{TaskID: body.TaskID, Acknowledged: true, StepState: one.State, NextRetryAt: one.NextRetryAt}), nil
}

func (s *server) heartbeatOfQueueWorker(ctx context.Context, params *workerPath, body *queueBeat) (answer[queueBeaten], error) {
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
	for i, id := range body.CurrentTasks {
		ref, status, err := s.held(ctx, params.ID, &QueueLeaseRef{TaskID: id})
		if err != nil && tasker.ErrorCode(err) != tasker.CodeNotFound {
			return no, moved(err, "/step_uuid", place("current_tasks", i))
		}
		if leases[i] = (queueLease{TaskID: id, Status: status}); err != nil {
			leases[i].Status = tasker.LeaseLost
		}
		if status == tasker.LeaseHeld {
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
	return ok(queueBeaten{Acknowledged: beaten.Acknowledged, ShouldDrain: beaten.ShouldDrain, Tasks: leases}), nil
}

// draining is the status of a worker that wants no more.
const draining = "draining"
