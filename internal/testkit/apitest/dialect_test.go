package apitest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/worker/protocol"
)

func (s *server) say(t *testing.T, method, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(s.ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		t.Fatalf("%s %s %s: %d %s, %v", method, path, body, resp.StatusCode, text, err)
	}
	return string(text)
}

func unpack[T any](t *testing.T, text string) T {
	t.Helper()
	var out T
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

type spoken struct {
	TaskID         uuid.UUID `json:"task_id"`
	TaskType       string    `json:"task_type"`
	Parameters     json.RawMessage
	TimeoutSeconds int `json:"timeout_seconds"`
	Status         string
	Tasks          []spoken
}

// TestWorkersThatKnowTasks: workers written for a queue of tasks, without steps and tokens, work at the paths of the
// worker protocol.
func TestWorkersThatKnowTasks(t *testing.T) { onEveryStore(t, testWorkersThatKnowTasks) }

func testWorkersThatKnowTasks(t *testing.T, s *server) {
	enqueue := func() uuid.UUID {
		t.Helper()
		r, err := s.Enqueue(s.ctx, queueapi.EnqueueTask{TaskType: "process_video", Priority: tasker.High,
			Parameters:           json.RawMessage(`{"file":"a"}`),
			RequiredCapabilities: []string{"gpu"}, TimeoutSeconds: 600})
		if err != nil {
			t.Fatal(err)
		}
		return r.TaskID
	}
	registered := unpack[struct {
		WorkerID            uuid.UUID `json:"worker_id"`
		PollIntervalMS      int       `json:"poll_interval_ms"`
		PollIntervalSeconds float64   `json:"poll_interval_seconds"`
		HeartbeatIntervalMS int       `json:"heartbeat_interval_ms"`
	}](t, s.say(t, "POST", "/internal/workers/register",
		`{"capabilities":["gpu","cpu-intensive"],"capacity":5,"host":"worker-pod-123.default.svc.cluster.local"}`))
	if registered.PollIntervalMS != 1000 || registered.PollIntervalSeconds != 1 ||
		registered.HeartbeatIntervalMS != 30000 {
		t.Errorf("registered as %+v", registered)
	}
	path := "/internal/workers/" + registered.WorkerID.String()
	done := func(id uuid.UUID) {
		t.Helper()
		task, err := s.QueueTask(s.ctx, id, false)
		if err != nil || task.Status != queueapi.QueueCompleted || string(task.Result) != `{"frames":9}` {
			t.Errorf("the task is %+v, %v", task, err)
		}
	}
	fresh := func(got spoken, id uuid.UUID, status string) {
		t.Helper()
		if got.TaskID != id || got.TaskType != "process_video" || string(got.Parameters) != `{"file":"a"}` ||
			got.TimeoutSeconds != 600 || got.Status != status {
			t.Errorf("the task comes as %+v", got)
		}
	}

	// One task at a time, without a start.
	first, second := enqueue(), enqueue()
	one := unpack[spoken](t, s.say(t, "POST", path+"/poll",
		`{"worker_capabilities":["gpu","cpu-intensive"],"capacity":5}`))
	if len(one.Tasks) != 1 {
		t.Fatalf("one at a time comes as %+v", one)
	}
	fresh(spoken{one.TaskID, one.TaskType, one.Parameters, one.TimeoutSeconds, "", nil}, first, "")
	fresh(one.Tasks[0], first, "executing")
	s.say(t, "POST", path+"/result", `{"task_id":"`+first.String()+`","status":"completed","result":{"frames":9}}`)
	done(first)

	// Several, each with a start, progress and an end.
	third := enqueue()
	many := unpack[spoken](t, s.say(t, "POST", path+"/poll",
		`{"capabilities":["gpu","cpu-intensive"],"available_capacity":3}`))
	if len(many.Tasks) != 2 || many.TaskID != uuid.Nil {
		t.Fatalf("several come as %+v", many)
	}
	fresh(many.Tasks[0], second, "assigned")
	fresh(many.Tasks[1], third, "assigned")
	for _, id := range []uuid.UUID{second, third} {
		of := `{"task_id":"` + id.String() + `"`
		for _, call := range [][2]string{{"/start", of + `}`},
			{"/progress", of + `,"progress_percent":45,"status_message":"Processing frame 450/1000"}`}} {
			if got := s.say(t, "POST", path+call[0], call[1]); !strings.Contains(got, `"acknowledged":true`) {
				t.Errorf("%s is answered %s", call[0], got)
			}
		}
		s.say(t, "POST", path+"/result", of+`,"status":"completed","result":{"frames":9},"execution_duration_seconds":45.2}`)
		done(id)
	}
	beaten := s.say(t, "POST", path+"/heartbeat",
		`{"current_load":3,"status":"busy","health":{"memory_usage_percent":65,"cpu_usage_percent":80}}`)
	if !strings.Contains(beaten, `"acknowledged":true`) || !strings.Contains(beaten, `"should_drain":false`) {
		t.Errorf("the heartbeat is answered %s", beaten)
	}

	// The bare array.
	fourth := enqueue()
	array := unpack[[]spoken](t, s.say(t, "POST", path+"/poll?shape=array",
		`{"capabilities":["cpu-intensive","gpu"],"available_capacity":3}`))
	if len(array) != 1 {
		t.Fatalf("the array is %+v", array)
	}
	fresh(array[0], fourth, "assigned")
	if got := s.say(t, "POST", path+"/poll?shape=array",
		`{"capabilities":["cpu-intensive","gpu"],"available_capacity":0}`); got != "[]\n" && got != "[]" {
		t.Errorf("for nothing it is %q", got)
	}
	// Signing off releases the rest, and removes the worker.
	if got := s.say(t, "DELETE", "/api/v1/workers/"+registered.WorkerID.String(), ""); !strings.Contains(got,
		`"released":1`) {
		t.Errorf("the good-bye is answered %s", got)
	}
	other := unpack[struct {
		WorkerID uuid.UUID `json:"worker_id"`
	}](t, s.say(t, "POST", "/api/v1/workers/register", `{"capabilities":["gpu"]}`))
	s.say(t, "POST", "/api/v1/workers/"+other.WorkerID.String()+"/drain", `{}`)
	if got := s.say(t, "POST", "/api/v1/workers/"+other.WorkerID.String()+"/poll", `{}`); !strings.Contains(got,
		`"should_drain":true`) {
		t.Errorf("after a drain the poll is answered %s", got)
	}
}

// TestPriorityForms: names in any case, levels and levels as text are equivalent, and shown as submitted.
func TestPriorityForms(t *testing.T) { onEveryStore(t, testPriorityForms) }

func testPriorityForms(t *testing.T, s *server) {
	for _, c := range []struct {
		sent, shown string
		level       int
	}{
		{`"high"`, `"high"`, 75}, {`"High"`, `"High"`, 75}, {`75`, `75`, 75}, {`60`, `60`, 60}, {`"60"`, `60`, 60},
		{`"LOW"`, `"LOW"`, 25}, {`100`, `100`, 100},
	} {
		for _, family := range []string{"/v1/tasks", "/api/v1/tasks"} {
			receipt := unpack[map[string]any](t, s.say(t, "POST", family, `{"task_type":"x","priority":`+c.sent+`}`))
			id, _ := receipt["task_uuid"].(string)
			if id == "" {
				id, _ = receipt["task_id"].(string)
			}
			for _, at := range []string{"/v1/tasks/", "/api/v1/tasks/"} {
				got := unpack[map[string]json.RawMessage](t, s.say(t, "GET", at+id, ""))
				if string(got["priority"]) != c.shown || at == "/v1/tasks/" &&
					string(got["priority_level"]) != unpack[json.Number](t, jsonOf(t, c.level)).String() {
					t.Errorf("%s to %s is shown at %s as %s, level %s", c.sent, family, at, got["priority"], got["priority_level"])
				}
			}
		}
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWorkerHearsOfItsBreaker: answers to polls and heartbeats of both families show an open breaker.
func TestWorkerHearsOfItsBreaker(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		s := serve(t, dsn,
			node.Options{
				Engine: settings.Config{WorkerBreaker: settings.WorkerBreaker{Failures: 1, OpenFor: time.Hour,
					Count: settings.CountAny}}})
		w, err := protocol.Of(s.Client).RegisterWorker(s.ctx, protocol.WorkerRegistration{Handlers: []string{"h"}})
		if err != nil {
			t.Fatal(err)
		}
		calls := [][2]string{{"/internal/workers/", "/poll"}, {"/internal/workers/", "/heartbeat"},
			{"/api/v1/workers/", "/poll"}, {"/api/v1/workers/", "/heartbeat"}}
		for _, c := range calls {
			if got := s.say(t, "POST", c[0]+w.WorkerID.String()+c[1], `{}`); strings.Contains(got, "circuit_breaker") {
				t.Errorf("before a failure %s is answered %s", c, got)
			}
		}
		receipt := s.submit(t, tasker.TaskRequest{TaskType: "h"})
		s.say(t, "POST", "/api/v1/workers/"+w.WorkerID.String()+"/poll", `{"start":true,"wait_ms":5000}`)
		s.say(t, "POST", "/api/v1/workers/"+w.WorkerID.String()+"/result",
			`{"task_id":"`+receipt.TaskUUID.String()+`","status":"failed","error":{"message":"no memory","class":"resource"}}`)
		for _, c := range calls {
			got := unpack[protocol.BreakerNote](t, s.say(t, "POST", c[0]+w.WorkerID.String()+c[1], `{}`))
			if got.Breaker != protocol.BreakerOpen || got.BreakerUntil == nil || time.Until(*got.BreakerUntil) < 50*time.Minute {
				t.Errorf("behind the open breaker %s says %+v", c, got)
			}
		}
	})
}

// TestCancelTwice: a repeated cancellation has the answer of the first.
func TestCancelTwice(t *testing.T) { onEveryStore(t, testCancelTwice) }

func testCancelTwice(t *testing.T, s *server) {
	id := s.submit(t, tasker.TaskRequest{TaskType: "h"}).TaskUUID.String()
	first := s.say(t, "DELETE", "/api/v1/tasks/"+id+"?reason=late&cancelled_by=ann", "")
	if again := s.say(t, "DELETE", "/api/v1/tasks/"+id+"?reason=other&cancelled_by=bob", ""); again != first {
		t.Errorf("first %s, then %s", first, again)
	}
	if got := s.say(t, "DELETE", "/v1/tasks/"+id, ""); !strings.Contains(got, `"cancelled"`) {
		t.Errorf("in the other family it is answered %s", got)
	}
	task, err := s.Task(s.ctx, uuid.MustParse(id), 0)
	if err != nil || task.CancelledBy != "ann" || task.CancelReason != "late" {
		t.Errorf("the task says %+v, %v", task, err)
	}
}
