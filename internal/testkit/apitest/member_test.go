package apitest_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	_ "github.com/taskerhq/tasker/embedded/redis"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

// onEveryQueue is onEveryStore, and with Redis before the store.
func onEveryQueue(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	onEveryStore(t, test)
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		s := serve(t, "sqlite:"+filepath.Join(t.TempDir(), "tasker.db"), node.Options{Dispatch: redistest.Start(t).URL()})
		await.Until(t, "Redis hands out the steps", func() bool {
			stats, err := s.QueueStats(s.ctx, queueapi.QueueFilter{})
			return err == nil && stats.Dispatch.Mode == "redis"
		})
		test(t, s)
	})
}

type member struct {
	*server
	path string
}

func (s *server) join(t *testing.T, registration string) *member {
	t.Helper()
	var answer struct {
		WorkerID            uuid.UUID `json:"worker_id"`
		PollIntervalMS      int       `json:"poll_interval_ms"`
		HeartbeatIntervalMS int       `json:"heartbeat_interval_ms"`
	}
	s.must(t, "POST", "/api/v1/workers/register", registration, &answer)
	if answer.PollIntervalMS == 0 || answer.HeartbeatIntervalMS == 0 {
		t.Errorf("the worker is told no intervals: %+v", answer)
	}
	return &member{s, "/api/v1/workers/" + answer.WorkerID.String()}
}

func (s *server) must(t *testing.T, method, path, body string, out any) {
	t.Helper()
	if status, text := s.send(t, method, path, body, out); status != 200 && status != 201 {
		t.Fatalf("%s %s is answered %d %s", method, path, status, text)
	}
}

type lease struct {
	Acknowledged bool
	Status       string
}

type assigned struct {
	TaskID     uuid.UUID       `json:"task_id"`
	TaskType   string          `json:"task_type"`
	Parameters json.RawMessage `json:"parameters"`
	TraceID    string          `json:"trace_id"`
	Visible    time.Time       `json:"visibility_timeout_until"`
}

func (m *member) poll(t *testing.T, body string) []assigned {
	t.Helper()
	var answer struct{ Tasks []assigned }
	m.must(t, "POST", m.path+"/poll", body, &answer)
	return answer.Tasks
}

func (s *server) Enqueue(ctx context.Context, t queueapi.EnqueueTask) (queueapi.QueueReceipt, error) {
	receipts, err := s.EnqueueTasks(ctx, queueapi.EnqueueRequest{Tasks: []queueapi.EnqueueTask{t}})
	if err != nil {
		return queueapi.QueueReceipt{}, err
	}
	if receipts[0].Error != nil {
		return receipts[0], receipts[0].Error
	}
	return receipts[0], nil
}
