package httpapi_test

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/worker/protocol"
)

var (
	taskID   = uuid.MustParse("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70")
	stepID   = uuid.MustParse("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f71")
	workerID = uuid.MustParse("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f72")
	otherID  = uuid.MustParse("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f73") // a task of another namespace
	noon     = time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC)
)

// fake is a Backend that answers with canned values or err, and remembers the last request.
type fake struct {
	mu    sync.Mutex
	asked any   // the last request, as the handler passed it on
	calls int   // of methods that change something or claim work
	err   error // answers everything, when set
	item  *tasker.Error

	// poll and wait replace the canned answers of Poll and of a waiting Task.
	poll func(context.Context) (*protocol.PollResponse, error)
	wait func(context.Context, time.Duration) (*tasker.Task, error)
	// stream replaces the canned events.
	stream func(context.Context, func([]tasker.Event, error) bool)
}

var _ protocol.Backend = (*fake)(nil)

func (f *fake) note(request any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = request
	f.calls++
	return f.err
}

func last[T any](f *fake) T {
	f.mu.Lock()
	defer f.mu.Unlock()
	request, _ := f.asked.(T)
	return request
}

func (f *fake) called() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func cannedTask(id uuid.UUID, namespace string) *tasker.Task {
	return &tasker.Task{
		TaskUUID: id, Namespace: namespace, Name: "import", Version: "1.0.0", State: tasker.TaskError,
		Priority: tasker.High, PriorityLevel: 75, Context: json.RawMessage(`{"n":12345678901234567890,"html":"<a&b>"}`),
		CreatedAt: noon, RunAt: &noon, TotalSteps: 4, CompletedSteps: 3, FailedSteps: 1, CompletionPercentage: 75,
		Tags: []string{"nightly"}, CorrelationID: "c-1", ETag: "error-1",
	}
}

func cannedFailure() *tasker.Failure {
	retryable := true
	return &tasker.Failure{Type: "Timeout", Message: "no answer", HTTPStatus: 504, Retryable: &retryable,
		Details: json.RawMessage(`[1]`)}
}

func cannedStep() *tasker.Step {
	percent := 50
	return &tasker.Step{
		ETag: "error-2", StepUUID: stepID, TaskUUID: taskID, Name: "load", Handler: "load", State: tasker.StepError,
		Dependencies: []string{"read"},
		TotalParents: 1, CompletedParents: 1, DependenciesSatisfied: true, Attempts: 3, MaxAttempts: 3, Priority: tasker.High,
		TimeoutSeconds: 60, CreatedAt: noon, LastFailureAt: &noon, Worker: "w", ProgressPercent: &percent,
		Results: json.RawMessage(`null`), LastError: cannedFailure(),
	}
}

func cannedTemplate() *tasker.Template {
	return &tasker.Template{
		Namespace: "default", Name: "import", Version: "1.0.0", InputSchema: map[string]any{"type": "object"},
		Steps: []tasker.TemplateStep{{Name: "read", Handler: "read", Retry: tasker.RetryPolicy{
			Retryable: true, MaxAttempts: 3, Backoff: "exponential", BackoffBaseMS: 1000, MaxBackoffMS: 60000, Jitter: 0.1}}},
		Fingerprint: "ab", CreatedAt: noon, Created: true, YAML: "name: import",
	}
}

func (f *fake) SubmitTasks(_ context.Context, req tasker.SubmitRequest) ([]tasker.TaskReceipt, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	out := make([]tasker.TaskReceipt, len(req.Tasks))
	for i, task := range req.Tasks {
		out[i] = tasker.TaskReceipt{TaskUUID: taskID, State: tasker.TaskPending, Created: task.IdempotencyKey != "seen",
			Error: f.item}
	}
	return out, nil
}

func cannedEvents() [][]tasker.Event {
	return [][]tasker.Event{
		{{ID: "run-1", Type: tasker.EventStreamOpen, At: noon}},
		{{ID: "run-2", Type: tasker.EventTaskState, At: noon, TaskUUID: &taskID, Namespace: "default", Name: "import",
			Priority: tasker.High, Tags: []string{"a\nb"},
			FromState: tasker.TaskStepsInProcess, ToState: tasker.TaskComplete, Cause: "settle"},
			{ID: "run-3", Type: tasker.EventCaseOpened, At: noon, TaskUUID: &taskID, CaseUUID: &caseID,
				CaseReason: tasker.ReasonManual, ResolutionStatus: tasker.CasePending}},
		{{ID: "run-4", Type: tasker.EventStreamAlive, At: noon}},
		{{ID: "run-4", Type: tasker.EventQueueStats, At: noon,
			Queue: &tasker.QueueDepth{Ready: 2, ByPriority: map[string]int{"high": 2}}}},
	}
}

func (f *fake) StreamEvents(ctx context.Context, filter tasker.EventFilter) iter.Seq2[[]tasker.Event, error] {
	return func(yield func([]tasker.Event, error) bool) {
		if err := f.note(filter); err != nil {
			yield(nil, err)
			return
		}
		if f.stream != nil {
			f.stream(ctx, yield)
			return
		}
		for _, batch := range cannedEvents() {
			if !yield(batch, nil) {
				return
			}
		}
	}
}

func (f *fake) Task(ctx context.Context, id uuid.UUID, wait time.Duration) (*tasker.Task, error) {
	f.mu.Lock()
	if wait > 0 {
		f.asked = wait
	}
	err, waiter := f.err, f.wait
	f.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case wait > 0 && waiter != nil:
		return waiter(ctx, wait)
	}
	namespace, known := namespaceOf(id)
	if !known {
		return nil, tasker.Errorf(tasker.CodeNotFound, "task %s is unknown", id)
	}
	return cannedTask(id, namespace), outside(ctx, id)
}

func (f *fake) Tasks(_ context.Context, filter tasker.TaskFilter) (*tasker.TaskPage, error) {
	if err := f.note(filter); err != nil {
		return nil, err
	}
	if filter.Cursor == "end" {
		return &tasker.TaskPage{}, nil
	}
	return &tasker.TaskPage{Tasks: []tasker.Task{*cannedTask(taskID, "default")}, NextCursor: "end"}, nil
}

func (f *fake) StepLogs(ctx context.Context, id, step uuid.UUID) ([]tasker.AttemptLog, error) {
	if err := f.noteOf(ctx, id, id); err != nil {
		return nil, err
	}
	return []tasker.AttemptLog{{StepUUID: step, Attempt: 1, Lease: 7, At: noon, Bytes: 8, Text: "no route"}}, nil
}

func (f *fake) TaskHistory(ctx context.Context, id uuid.UUID) (*tasker.TaskHistory, error) {
	if err := f.noteOf(ctx, id, id); err != nil {
		return nil, err
	}
	return &tasker.TaskHistory{TaskUUID: id,
		Transitions: []tasker.Transition{{At: noon, From: "pending", To: "initializing"},
			{At: noon, StepUUID: &stepID, To: "error", Attempt: 1}},
		Attempts: []tasker.Attempt{{StepUUID: stepID, StepName: "load", Attempt: 1, Lease: 7, Outcome: "failed",
			StartedAt: &noon, Error: cannedFailure()},
			{StepUUID: stepID, StepName: "load", Attempt: 2, Lease: 8, WorkerID: &workerID, Outcome: "running"}},
	}, nil
}

func (f *fake) HeldTasks(ctx context.Context, worker uuid.UUID, tasks []uuid.UUID) ([]*queueapi.HeldTask, error) {
	f.mu.Lock()
	err := f.err
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	out := make([]*queueapi.HeldTask, len(tasks))
	for i, id := range tasks {
		namespace, known := namespaceOf(id)
		if key := access.From(ctx); !known || key.Limited() && !key.Reaches(namespace) {
			continue // there is none
		}
		out[i] = &queueapi.HeldTask{Namespace: namespace, State: tasker.TaskError}
		if worker == workerID {
			out[i].Leases = []protocol.LeaseRef{{StepUUID: stepID, Token: "8"}}
		}
	}
	return out, nil
}

func (f *fake) CancelTasks(ctx context.Context, req tasker.CancelRequest) ([]tasker.TaskReceipt, error) {
	out := make([]tasker.TaskReceipt, len(req.TaskUUIDs))
	var reached []uuid.UUID
	for i, id := range req.TaskUUIDs {
		if err := outside(ctx, id); err != nil {
			out[i] = tasker.TaskReceipt{TaskUUID: id, Error: tasker.Errorf(tasker.CodeNotFound, "task %s is unknown", id)}
			continue
		}
		out[i] = tasker.TaskReceipt{TaskUUID: id, State: tasker.TaskCancelled, Error: f.item}
		reached = append(reached, id)
	}
	if len(reached) == 0 && len(out) > 0 {
		return out, nil
	}
	req.TaskUUIDs = reached
	return out, f.note(req)
}

func (f *fake) EditContext(ctx context.Context, id uuid.UUID,
	req tasker.EditContextRequest,
) (*tasker.EditedContext, error) {
	if err := f.noteOf(ctx, id, req); err != nil {
		return nil, err
	}
	return &tasker.EditedContext{TaskUUID: id, State: tasker.TaskEnqueuingSteps, ContextVersion: 1, Changed: true,
		Context:    json.RawMessage(`{"a":2}`),
		OldContext: json.RawMessage(`{"a":1}`), EndedSteps: []string{"first"}, ReplayedSteps: 1}, nil
}

func (f *fake) ExplainTask(ctx context.Context, id uuid.UUID) (*tasker.Explanation, error) {
	if err := f.noteOf(ctx, id, id); err != nil {
		return nil, err
	}
	return &tasker.Explanation{TaskUUID: id, State: tasker.TaskError, Summary: "One step failed.",
		Steps: []tasker.StepExplanation{{StepUUID: stepID, Name: "load", State: tasker.StepError,
			Why: "3 of 3 attempts failed."}}}, nil
}

func (f *fake) Steps(ctx context.Context, task uuid.UUID) ([]tasker.Step, error) {
	if err := f.noteOf(ctx, task, task); err != nil {
		return nil, err
	}
	return []tasker.Step{*cannedStep()}, nil
}

func (f *fake) Step(ctx context.Context, task, step uuid.UUID) (*tasker.Step, error) {
	return cannedStep(), f.noteOf(ctx, task, step)
}

func (f *fake) ActOnStep(ctx context.Context, task, _ uuid.UUID, act tasker.StepAction) (*tasker.Step, error) {
	return cannedStep(), f.noteOf(ctx, task, act)
}

func (f *fake) RegisterTemplate(_ context.Context, src tasker.TemplateSource) (*tasker.Template, error) {
	if err := f.note(src); err != nil {
		return nil, err
	}
	t := cannedTemplate()
	t.Created = src.YAML != "name: seen"
	return t, nil
}

func (f *fake) Templates(_ context.Context, filter tasker.TemplateFilter) (*tasker.TemplatePage, error) {
	return &tasker.TemplatePage{Templates: []tasker.Template{*cannedTemplate()}}, f.note(filter)
}

func (f *fake) Template(_ context.Context, namespace, name, version string) (*tasker.Template, error) {
	return cannedTemplate(), f.note([3]string{namespace, name, version})
}

func (f *fake) RegisterWorker(_ context.Context, reg protocol.WorkerRegistration) (*protocol.RegisteredWorker, error) {
	return &protocol.RegisteredWorker{WorkerID: workerID, PollIntervalMS: 1000, HeartbeatIntervalMS: 30000,
		LeaseSeconds: 90}, f.note(reg)
}

func (f *fake) Workers(context.Context) ([]protocol.WorkerInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return []protocol.WorkerInfo{
		{WorkerID: workerID, Name: "w", State: "active", Namespaces: []string{"default"}, StartedAt: noon,
			LastHeartbeat: noon},
		{WorkerID: otherID, Name: "x", State: "active", Namespaces: []string{"secret", "default"}, StartedAt: noon,
			LastHeartbeat: noon},
		{WorkerID: stepID, Name: "y", State: "active", Namespaces: []string{"secret"}, StartedAt: noon, LastHeartbeat: noon},
	}, f.err
}

// Registered is no verb of a client's either.
func (f *fake) Registered(ctx context.Context, id uuid.UUID) (*protocol.WorkerInfo, error) {
	return f.Worker(ctx, id)
}

// WorkerPage has one page.
func (f *fake) WorkerPage(ctx context.Context, _ string, _ int) ([]protocol.WorkerInfo, string, error) {
	workers, err := f.Workers(ctx)
	return workers, "", err
}

func (f *fake) Worker(ctx context.Context, id uuid.UUID) (*protocol.WorkerInfo, error) {
	workers, err := f.Workers(ctx)
	if err != nil {
		return nil, err
	}
	for i := range workers {
		if workers[i].WorkerID == id {
			return &workers[i], nil
		}
	}
	return nil, tasker.Errorf(tasker.CodeNotFound, "there is no worker %s", id)
}

func (f *fake) ResumeWorker(ctx context.Context, req protocol.WorkerAct) (*protocol.WorkerInfo, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	return f.Worker(ctx, req.WorkerID)
}

func (f *fake) CordonWorker(ctx context.Context, req protocol.WorkerAct) (*protocol.WorkerInfo, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	return f.Worker(ctx, req.WorkerID)
}

func (f *fake) UncordonWorker(ctx context.Context, req protocol.WorkerAct) (*protocol.WorkerInfo, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	return f.Worker(ctx, req.WorkerID)
}

func (f *fake) Poll(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	if f.poll != nil {
		return f.poll(ctx)
	}
	return &protocol.PollResponse{Steps: []protocol.Assignment{{
		StepUUID: stepID, TaskUUID: taskID, Token: "7", State: tasker.StepAssigned, Namespace: "default", TaskName: "import",
		StepName: "load",
		Handler:  "load", Attempt: 1, MaxAttempts: 3, Parameters: json.RawMessage(`{"n":12345678901234567890}`),
		ParentResults: map[string]json.RawMessage{"read": json.RawMessage(`[1,2]`)}, LeaseExpiresAt: noon,
	}}}, nil
}

func (f *fake) Start(_ context.Context, req protocol.StartRequest) ([]protocol.LeaseAnswer, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	out := make([]protocol.LeaseAnswer, len(req.Steps))
	for i, ref := range req.Steps {
		out[i] = protocol.LeaseAnswer{StepUUID: ref.StepUUID, Status: protocol.LeaseHeld, LeaseExpiresAt: &noon,
			Error: f.item}
	}
	return out, nil
}

func (f *fake) Progress(_ context.Context, report protocol.ProgressReport) (*protocol.LeaseAnswer, error) {
	return &protocol.LeaseAnswer{StepUUID: report.StepUUID, Status: protocol.LeaseHeld}, f.note(report)
}

func (f *fake) Settle(_ context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	out := make([]protocol.SettleAnswer, len(req.Results))
	for i, result := range req.Results {
		out[i] = protocol.SettleAnswer{StepUUID: result.StepUUID, State: tasker.StepComplete, Error: f.item}
	}
	return out, nil
}

func (f *fake) Heartbeat(_ context.Context, beat protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
	return &protocol.HeartbeatResponse{Acknowledged: true,
		Leases: []protocol.LeaseAnswer{{StepUUID: stepID, Status: protocol.LeaseCancelled}}}, f.note(beat)
}

func (f *fake) Drain(_ context.Context, req protocol.WorkerAct) (*protocol.DrainResponse, error) {
	return &protocol.DrainResponse{Released: 2}, f.note(req)
}

func (f *fake) Close() error { return nil }
