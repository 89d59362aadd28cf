package httpapi_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/executionapi"
	"github.com/taskerhq/tasker/internal/api/queueapi"
)

func cannedPlace() queueapi.QueuePlace {
	place, score, wait := 3, 1767268800.5, 1.25
	return queueapi.QueuePlace{PositionInQueue: &place, QueuePosition: &place, QueueScore: &score,
		EstimatedWaitSeconds: &wait, EstimatedStartTime: &noon}
}

func (f *fake) EnqueueTasks(_ context.Context, req queueapi.EnqueueRequest) ([]queueapi.QueueReceipt, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	out := make([]queueapi.QueueReceipt, len(req.Tasks))
	for i, task := range req.Tasks {
		out[i] = queueapi.QueueReceipt{TaskID: taskID, Status: queueapi.QueueQueued, Created: task.IdempotencyKey != "seen",
			QueuePlace: cannedPlace()}
	}
	return out, nil
}

func (f *fake) QueueTask(ctx context.Context, id uuid.UUID, history bool) (*queueapi.QueueTask, error) {
	if err := f.noteOf(ctx, id, history); err != nil {
		return nil, err
	}
	namespace := "default"
	if id == otherID {
		namespace = "secret"
	}
	out := &queueapi.QueueTask{TaskID: id, ETag: "error-3", Namespace: namespace, TaskType: "import",
		Status: queueapi.QueueExecuting, State: tasker.TaskStepsInProcess,
		Priority: tasker.Low, EffectivePriority: tasker.High, Progress: 40, CreatedAt: noon, QueuedAt: &noon,
		StartedAt:                   &noon,
		CurrentStateDurationSeconds: 1.5, AssignedWorker: "w", AssignedWorkerID: &workerID, RetryCount: 1, MaxRetries: 3,
		Parameters: json.RawMessage(`{"html":"<a&b>"}`), Result: json.RawMessage(`null`), TimeoutSeconds: 300,
		RequiredCapabilities: []string{"gpu"},
		Error: &queueapi.QueueError{Message: "no answer", Retryable: true, FailureReason: "timed_out",
			Details: json.RawMessage(`[1]`)}}
	if history {
		out.StateHistory = []queueapi.QueueStateAt{{State: queueapi.QueueQueued, Timestamp: noon},
			{State: queueapi.QueueExecuting, Timestamp: noon, WorkerID: &workerID}}
	}
	return out, nil
}

func (f *fake) QueueTasks(_ context.Context, filter queueapi.QueueTaskFilter) (*queueapi.QueueTaskPage, error) {
	if err := f.note(filter); err != nil || filter.Cursor == "end" {
		return &queueapi.QueueTaskPage{}, err
	}
	score := 1767268800.5
	return &queueapi.QueueTaskPage{Tasks: []queueapi.QueueListed{
		{TaskID: taskID, Namespace: "default", TaskType: "import", Status: queueapi.QueueQueued,
			State: tasker.TaskStepsInProcess, Priority: tasker.Low, EffectivePriority: tasker.High, CreatedAt: noon,
			QueuedAt: &noon, QueueScore: &score,
			MaxRetries: 3, UserID: "ann"}}, NextCursor: "more"}, nil
}

func (f *fake) CancelQueueTask(ctx context.Context, id uuid.UUID,
	req queueapi.QueueCancel,
) (*queueapi.QueueCancelled, error) {
	return &queueapi.QueueCancelled{TaskID: id, Status: queueapi.QueueStopped, CancellationTime: noon, WasExecuting: true,
		WorkerNotified: true, NotifiedBy: &noon}, f.noteOf(ctx, id, req)
}

func (f *fake) Routes(_ context.Context, filter queueapi.RouteFilter) (*queueapi.RoutePage, error) {
	if err := f.note(filter); err != nil || filter.Cursor == "end" {
		return &queueapi.RoutePage{}, err
	}
	age := 12.5
	return &queueapi.RoutePage{At: noon, NextCursor: "0-1-2", Routes: []queueapi.Route{{Namespace: "default",
		Handler: "import", Capabilities: []string{"gpu"}, Depth: 7, OldestAgeSeconds: &age, P50AgeSeconds: &age,
		P95AgeSeconds: &age, Why: "no live worker serves it"}}}, nil
}

func (f *fake) QueueStats(_ context.Context, filter queueapi.QueueFilter) (*queueapi.QueueStats, error) {
	age, load := 12.5, 5000
	return &queueapi.QueueStats{At: noon,
		Queue: queueapi.QueueTotals{TotalDepth: 7, ByPriority: map[string]int{"high": 7}, OldestAgeSeconds: &age},
		Queues: map[string]queueapi.QueueOfPriority{
			"high": {Depth: 7, Pending: 7, Executing: 1, OldestAgeSeconds: &age}},
		Backpressure: queueapi.QueueBackpressure{Scope: "queue", State: "soft", NormalLoad: &load,
			Refused: map[string]int64{"soft": 3}},
		Dispatch: queueapi.QueueDispatch{Mode: "native", Configured: true, Why: "away"},
	}, f.note(filter)
}

func (f *fake) ExpiredExecutions(_ context.Context, since time.Time) ([]executionapi.Expired, error) {
	of := executionapi.Expired{Hour: noon.Truncate(time.Hour), Worker: "w", WorkerID: workerID, Namespace: "default",
		ActionRef: "import", Count: 2, Last: noon}
	other := of
	other.ActionRef, other.Count = "export", 3
	return []executionapi.Expired{of, other}, f.note(since.IsZero())
}
