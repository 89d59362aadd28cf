package httpapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/dlqapi"
)

type fakeJobs struct{ f *fake }

var _ dlqapi.Backend = fakeJobs{}

const detection = "dlq:detection_queue"

func (b fakeJobs) Queues(_ context.Context, namespace string) ([]dlqapi.Queue, error) {
	return []dlqapi.Queue{{Name: "dlq:analysis_queue", Count: 2}, {Name: detection, Count: 5},
		{Name: "dlq:overflow:detection_queue", Count: 1}}, b.f.note(namespace)
}

func (b fakeJobs) Jobs(_ context.Context, of dlqapi.Name, start, limit int) (*dlqapi.Page, error) {
	status := 503
	return &dlqapi.Page{QueueName: detection, Items: []dlqapi.Job{{OriginalJob: json.RawMessage(`{"camera_id":"front"}`),
		Error: "Connection refused", AttemptCount: 3, FirstFailedAt: "2024-01-15T10:30:01.000000+00:00",
		LastFailedAt: "2024-01-15T10:30:15.000000+00:00", QueueName: "detection_queue", HTTPStatus: &status,
		RetryDelays: json.RawMessage("[1.0,2.1]"), ID: letterID, State: "open"}, {OriginalJob: json.RawMessage(`"text"`),
		FirstFailedAt: "2024-01-15T10:30:01.000000+00:00", LastFailedAt: "2024-01-15T10:30:01.000000+00:00",
		State: "scheduled", Context: json.RawMessage(`{"detection_queue_depth":15}`)}},
		Pagination: dlqapi.Pagination{Total: 1, Limit: limit, Offset: start}}, b.f.note(of)
}

func (b fakeJobs) Requeue(_ context.Context, _ dlqapi.Name, req dlqapi.Requeue) (*dlqapi.Requeued, error) {
	return &dlqapi.Requeued{Queue: detection, Target: cmp.Or(req.Target, "detection_queue"), Sent: 1,
		RedriveUUIDs: []uuid.UUID{redriveID}}, b.f.note(req)
}

func (b fakeJobs) Clear(_ context.Context, _ dlqapi.Name, act deadletters.Act) (*dlqapi.Cleared, error) {
	return &dlqapi.Cleared{Queue: detection, Count: 5, At: noon}, b.f.note(act)
}

func (b fakeJobs) Restore(_ context.Context, _ dlqapi.Name, at time.Time, act deadletters.Act) (*dlqapi.Cleared,
	error,
) {
	return &dlqapi.Cleared{Queue: detection, Count: 5, At: at}, b.f.note(act)
}

func (b fakeJobs) DiscardJob(_ context.Context, _ dlqapi.Name, id uuid.UUID, _ deadletters.Act) (string, error) {
	return detection, b.f.note(id)
}

func (b fakeJobs) RestoreJob(_ context.Context, _ dlqapi.Name, id uuid.UUID, _ deadletters.Act) (string, error) {
	return detection, b.f.note(id)
}
