package apitest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestCancelledMeanwhile: a worker whose task is cancelled before its start or progress report learns that without an
// error.
func TestCancelledMeanwhile(t *testing.T) { onEveryQueue(t, testCancelledMeanwhile) }

func testCancelledMeanwhile(t *testing.T, s *server) {
	w, err := protocol.Of(s.Client).RegisterWorker(s.ctx, protocol.WorkerRegistration{Name: "by hand"})
	if err != nil {
		t.Fatal(err)
	}
	receipt := s.submit(t, tasker.TaskRequest{TaskType: "h"})
	polled, err := protocol.Of(s.Client).Poll(s.ctx, protocol.PollRequest{WorkerID: w.WorkerID, WaitMS: 5000})
	if err != nil || len(polled.Steps) != 1 {
		t.Fatalf("the poll brings %+v, %v", polled, err)
	}
	if _, err := s.CancelTasks(s.ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{receipt.TaskUUID}}); err != nil {
		t.Fatal(err)
	}
	a := polled.Steps[0]
	lease := fmt.Sprintf(`"step_uuid":%q,"token":%s`, a.StepUUID, quoted(t, a.Token))
	ofTask := fmt.Sprintf(`"task_id":%q,%s`, a.TaskUUID, lease)
	native, queue := "/internal/workers/"+w.WorkerID.String(), "/api/v1/workers/"+w.WorkerID.String()
	for _, c := range []struct{ path, body string }{
		{native + "/start", `{` + lease + `}`},
		{native + "/start", `{"steps":[{` + lease + `}]}`},
		{native + "/progress", `{` + lease + `,"progress_percent":5}`},
		{native + "/heartbeat", `{"steps":[{` + lease + `}]}`},
		{queue + "/start", `{` + ofTask + `}`},
		{queue + "/start", fmt.Sprintf(`{"task_id":%q}`, a.TaskUUID)},
		{queue + "/progress", `{` + ofTask + `,"progress_percent":5}`},
		{queue + "/heartbeat", fmt.Sprintf(`{"current_tasks":[%q]}`, a.TaskUUID)},
	} {
		if status, text := s.send(t, "POST", c.path, c.body, nil); status != 200 ||
			!strings.Contains(text, `"status":"cancelled"`) || strings.Contains(text, `"error"`) {
			t.Errorf("POST %s %s is answered %d %s; want cancelled", c.path, c.body, status, text)
		}
	}
	if status, text := s.send(t, "POST", native+"/result", `{`+lease+`,"status":"completed"}`, nil); status != 409 ||
		!strings.Contains(text, `"stale_token"`) {
		t.Errorf("a result after that is answered %d %s", status, text)
	}
}

func quoted(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
