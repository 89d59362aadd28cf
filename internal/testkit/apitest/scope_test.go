package apitest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

// verb is a request about one task, step or case: TASK, STEP and CASE in path and body are IDs.
type verb struct{ method, path, body string }

// scopedVerbs answer 404 to a key of other namespaces.
var scopedVerbs = []verb{
	{"GET", "/v1/tasks/TASK", ""},
	{"GET", "/v1/tasks/TASK?wait_ms=50", ""},
	{"GET", "/v1/tasks/TASK/history", ""},
	{"GET", "/v1/tasks/TASK/explain", ""},
	{"GET", "/v1/tasks/TASK/audit", ""},
	{"GET", "/v1/tasks/TASK/workflow_steps", ""},
	{"GET", "/v1/tasks/TASK/workflow_steps?include=results", ""},
	{"GET", "/v1/tasks/TASK/workflow_steps/STEP", ""},
	{"GET", "/v1/tasks/TASK/workflow_steps/STEP/children", ""},
	{"PATCH", "/v1/tasks/TASK/workflow_steps/STEP", `{"action_type":"resolve_manually","reason":"x"}`},
	{"PATCH", "/v1/tasks/TASK/workflow_steps/STEP",
		`{"action_type":"resolve_manually","reason":"x","expected_state":"complete"}`},
	{"PATCH", "/v1/tasks/TASK/workflow_steps/TASK", `{"action_type":"resolve_manually","reason":"x"}`},
	{"PATCH", "/v1/tasks/TASK/context", `{"context":{"a":1},"reason":"x"}`},
	{"DELETE", "/v1/tasks/TASK", ""},
	{"DELETE", "/v1/tasks/TASK?expected_state=complete", ""},
	{"GET", "/v1/dlq/task/TASK", ""},
	{"POST", "/v1/dlq/task/TASK", `{"reason":"x"}`},
	{"PATCH", "/v1/dlq/entry/CASE", `{"resolution_status":"cancelled"}`},
	{"PATCH", "/v1/dlq/entry/CASE", `{"resolution_notes":"x","expected_state":"cancelled"}`},
	{"GET", "/v1/dlq/entry/CASE/audit", ""},
	{"GET", "/api/v1/tasks/TASK", ""},
	{"DELETE", "/api/v1/tasks/TASK", ""},
	{"POST", "/api/v1/dlq/TASK/replay", ""},
	{"POST", "/api/v1/dlq/TASK/replay", `{"expected_state":"complete"}`},
	{"GET", "/v1/events?task_uuid=TASK", ""},
}

// TestVerbsOfAnotherNamespace: to a limited key, objects of other namespaces look like missing ones, for every verb.
func TestVerbsOfAnotherNamespace(t *testing.T) { onEveryStore(t, testVerbsOfAnotherNamespace) }

func testVerbsOfAnotherNamespace(t *testing.T, s *server) {
	receipt := s.submit(t, tasker.TaskRequest{TaskType: "nobody", Namespace: "audio"})
	step := s.step(t, receipt, "nobody")
	opened, err := s.OpenCase(s.ctx, receipt.TaskUUID, operate.OpenCaseRequest{Reason: "odd", OpenedBy: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Task(s.ctx, receipt.TaskUUID, 0)
	if err != nil {
		t.Fatal(err)
	}
	send := s.senderOf(t, "video")
	there := strings.NewReplacer("TASK", receipt.TaskUUID.String(), "STEP", step.StepUUID.String(),
		"CASE", opened.CaseUUID.String())
	nowhere := strings.NewReplacer("TASK", uuid.NewString(), "STEP", uuid.NewString(), "CASE", uuid.NewString())
	ids := func(r *strings.Replacer) *strings.Replacer {
		return strings.NewReplacer(r.Replace("TASK"), "", r.Replace("STEP"), "", r.Replace("CASE"), "")
	}
	for _, v := range scopedVerbs {
		status, body := send(v, there)
		_, missing := send(v, nowhere)
		if status != http.StatusNotFound {
			t.Errorf("%s %s %s is answered %d %s", v.method, v.path, v.body, status, body)
		}
		if got, want := ids(there).Replace(body), ids(nowhere).Replace(missing); got != want {
			t.Errorf("%s %s %s is answered %s, and one that does not exist %s", v.method, v.path, v.body, got, want)
		}
	}
	s.unchanged(t, before, opened)
}

// actsOfWorkers are requests of or on a worker. A key that does not reach all of its namespaces gets 404: with the
// worker's ID it could take the work of others.
var actsOfWorkers = []verb{
	{"POST", "/internal/workers/WORKER/poll", ""},
	{"POST", "/internal/workers/WORKER/poll", `{"capacity":2,"wait_ms":50,"start":true}`},
	{"POST", "/internal/workers/WORKER/start", `{"step_uuid":"STEP","token":"1"}`},
	{"POST", "/internal/workers/WORKER/start", `{"steps":[{"step_uuid":"STEP","token":"1"}]}`},
	{"POST", "/internal/workers/WORKER/progress", `{"step_uuid":"STEP","token":"1","progress_percent":1}`},
	{"POST", "/internal/workers/WORKER/result", `{"step_uuid":"STEP","token":"1","status":"completed"}`},
	{"POST", "/internal/workers/WORKER/result", `{"results":[{"step_uuid":"STEP","token":"1","status":"completed"}]}`},
	{"POST", "/internal/workers/WORKER/heartbeat", ""},
	{"POST", "/internal/workers/WORKER/drain", ""},
	{"POST", "/internal/workers/WORKER/drain", `{"final":true}`},
	{"POST", "/internal/workers/WORKER/resume", ""},
	{"POST", "/internal/workers/WORKER/cordon", ""},
	{"POST", "/internal/workers/WORKER/uncordon", ""},
	{"POST", "/api/v1/workers/WORKER/poll", ""},
	{"POST", "/api/v1/workers/WORKER/poll", `{"capacity":0}`},
	{"POST", "/api/v1/workers/WORKER/poll", `{"capabilities":["gpu"]}`},
	{"POST", "/api/v1/workers/WORKER/start", `{"task_id":"TASK"}`},
	{"POST", "/api/v1/workers/WORKER/start", `{"task_id":"TASK","step_uuid":"STEP","token":"1"}`},
	{"POST", "/api/v1/workers/WORKER/progress", `{"task_id":"TASK","progress_percent":1}`},
	{"POST", "/api/v1/workers/WORKER/result", `{"task_id":"TASK","status":"completed"}`},
	{"POST", "/api/v1/workers/WORKER/heartbeat", ""},
	{"POST", "/api/v1/workers/WORKER/heartbeat", `{"current_tasks":["TASK"]}`},
	{"POST", "/api/v1/workers/WORKER/drain", ""},
	{"DELETE", "/api/v1/workers/WORKER", ""},
}

// TestWorkersOfAnotherNamespace: to a limited key, a worker of other namespaces looks like a missing one.
func TestWorkersOfAnotherNamespace(t *testing.T) { onEveryStore(t, testWorkersOfAnotherNamespace) }

func testWorkersOfAnotherNamespace(t *testing.T, s *server) {
	receipt := s.submit(t, tasker.TaskRequest{TaskType: "nobody", Namespace: "audio"})
	step := s.step(t, receipt, "nobody")
	send := s.senderOf(t, "video")
	for name, namespaces := range map[string][]string{"of another": {"audio"}, "of both": {"video", "audio"},
		"of all": {protocol.AllNamespaces}, "of none": nil} {
		w, err := protocol.Of(s.Client).RegisterWorker(s.ctx, protocol.WorkerRegistration{Name: name, Namespaces: namespaces})
		if err != nil {
			t.Fatal(err)
		}
		missing := uuid.NewString()
		words := func(worker string) *strings.Replacer {
			return strings.NewReplacer("WORKER", worker, "TASK", receipt.TaskUUID.String(), "STEP", step.StepUUID.String())
		}
		for _, v := range actsOfWorkers {
			status, body := send(v, words(w.WorkerID.String()))
			_, want := send(v, words(missing))
			if status != http.StatusNotFound {
				t.Errorf("worker %s: %s %s %s is answered %d %s", name, v.method, v.path, v.body, status, body)
			}
			if body = strings.ReplaceAll(body, w.WorkerID.String(), missing); body != want {
				t.Errorf("worker %s: %s %s %s is answered %s, and one that does not exist %s", name, v.method, v.path, v.body,
					body, want)
			}
		}
		if now, err := protocol.Of(s.Client).Worker(s.ctx, w.WorkerID); err != nil || now.State != "active" {
			t.Errorf("the worker %s is %+v, %v", name, now, err)
		}
	}
	own, err := protocol.Of(s.Client).RegisterWorker(s.ctx,
		protocol.WorkerRegistration{Name: "own", Namespaces: []string{"video"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []verb{{"POST", "/internal/workers/WORKER/poll", ""}, {"POST", "/api/v1/workers/WORKER/poll", ""}} {
		if status, body := send(v, strings.NewReplacer("WORKER", own.WorkerID.String())); status != http.StatusOK {
			t.Errorf("%s of the key's own worker is answered %d %s", v.path, status, body)
		}
	}
}

func (s *server) senderOf(t *testing.T, namespace string) func(v verb, ids *strings.Replacer) (int, string) {
	t.Helper()
	secret, hash := access.Generate()
	ring, err := access.New([]access.Key{{Name: "k", SHA256: hash, Permissions: []string{"admin"},
		Namespaces: []string{namespace}}})
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewServer(httpapi.New(s.engine, httpapi.Options{Front: web.New(web.Options{Keys: ring}),
		Schedules: s.engine.Schedules()}))
	t.Cleanup(door.Close)
	return func(v verb, ids *strings.Replacer) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(s.ctx, v.method, door.URL+ids.Replace(v.path),
			strings.NewReader(ids.Replace(v.body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", secret)
		if v.body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := door.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
}

func (s *server) unchanged(t *testing.T, task *tasker.Task, c *operate.Case) {
	t.Helper()
	if now, err := s.Task(s.ctx, task.TaskUUID, 0); err != nil || now.ETag != task.ETag || now.State != task.State {
		t.Errorf("the task is %+v, %v", now, err)
	}
	if now, err := s.CaseOfTask(s.ctx, task.TaskUUID); err != nil || now.ETag != c.ETag || now.CaseUUID != c.CaseUUID {
		t.Errorf("its case is %+v, %v", now, err)
	}
	acts, err := s.Audit(s.ctx, operate.AuditFilter{TaskUUID: task.TaskUUID})
	if err != nil || len(acts) != 1 || acts[0].Kind != "open_case" {
		t.Errorf("its trail is %+v, %v", acts, err)
	}
}
