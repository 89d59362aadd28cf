package httpapi_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/worker/protocol"
)

const queueWorker = "/api/v1/workers/"

func TestEnqueue(t *testing.T) {
	t.Parallel()
	t.Run("New", func(t *testing.T) {
		t.Parallel()
		f := &fake{}
		got := newAPI(t, f, httpapi.Options{}).do(t, "POST", "/api/v1/tasks",
			`{"task_type":"video","priority":75,"parameters":{"html":"<a&b>"},"required_capabilities":["gpu"],
			"timeout_seconds":600,"estimated_duration_seconds":30,"idempotency_key":"k","user_id":"ann","run_at":null}`)
		want := queueapi.EnqueueTask{TaskType: "video", Priority: "75", Parameters: []byte(`{"html":"<a&b>"}`),
			RequiredCapabilities: []string{"gpu"}, TimeoutSeconds: 600,
			EstimatedDurationSeconds: 30, IdempotencyKey: "k", UserID: "ann"}
		if req := last[queueapi.EnqueueRequest](f); len(req.Tasks) != 1 || cmp.Diff(want, req.Tasks[0]) != "" ||
			req.Caller != "" {
			t.Errorf("the backend is asked for %+v", req)
		}
		if got.status != 201 || got.header.Get("Location") != "/api/v1/tasks/"+taskID.String() {
			t.Errorf("answer is %d %v", got.status, got.header)
		}
	})
	t.Run("Known", func(t *testing.T) {
		t.Parallel()
		got := newAPI(t, &fake{}, httpapi.Options{}).do(t, "POST", "/api/v1/tasks",
			`{"task_type":"video","idempotency_key":"seen"}`)
		if got.status != 200 || got.header.Get("Location") != "" || !strings.Contains(got.body, `"created":false`) {
			t.Errorf("answer is %d %s", got.status, got.body)
		}
	})
	t.Run("InTheNameOfTheKey", func(t *testing.T) {
		t.Parallel()
		ring, key := ringOf(t, "shop", "admin")
		f := &fake{}
		a := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
		a.do(t, "POST", "/api/v1/tasks", `{"task_type":"x"}`, key)
		if got := last[queueapi.EnqueueRequest](f).Caller; got != "shop" {
			t.Errorf("the caller is %q", got)
		}
		a.do(t, "POST", "/v1/tasks", `{"task_type":"x"}`, key)
		if got := last[tasker.SubmitRequest](f).Caller; got != "shop" {
			t.Errorf("the caller of the other family is %q", got)
		}
		a.do(t, "DELETE", "/api/v1/tasks/"+taskID.String(), "", key)
		if got := last[queueapi.QueueCancel](f).CancelledBy; got != "shop" {
			t.Errorf("cancelled by %q", got)
		}
	})
}

// TestQueueBodies: a departure from the document is refused with a JSON pointer to each place, and never reaches the
// Backend.
func TestQueueBodies(t *testing.T) {
	t.Parallel()
	worker := queueWorker + workerID.String()
	ofTask := `{"task_id":"` + taskID.String() + `"`
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		at                 string
	}{
		"NoType":    {"POST", "/api/v1/tasks", `{}`, 400, "/task_type"},
		"EmptyType": {"POST", "/api/v1/tasks", `{"task_type":""}`, 400, "/task_type"},
		"Unknown":   {"POST", "/api/v1/tasks", `{"task_type":"x","name":"y"}`, 400, "/name"},
		"WrongCase": {"POST", "/api/v1/tasks", `{"task_type":"x","Priority":"high"}`, 400, "/Priority"},
		"Twice":     {"POST", "/api/v1/tasks", `{"task_type":"x","task_type":"y"}`, 400, "/task_type"},
		"Types": {"POST", "/api/v1/tasks", `{"task_type":7,"timeout_seconds":"1","required_capabilities":"gpu"}`, 400,
			"/task_type /timeout_seconds /required_capabilities"},
		"Bounds": {"POST", "/api/v1/tasks",
			`{"task_type":"x","timeout_seconds":-1,"estimated_duration_seconds":604801,"max_retries":1001,"priority":101}`, 400,
			"/timeout_seconds /estimated_duration_seconds /max_retries /priority"},
		"Fraction": {"POST", "/api/v1/tasks", `{"task_type":"x","timeout_seconds":1.5}`, 400, "/timeout_seconds"},
		"Capability": {"POST", "/api/v1/tasks", `{"task_type":"x","required_capabilities":["gpu",{}]}`, 400,
			"/required_capabilities/1"},
		"RunAt":   {"POST", "/api/v1/tasks", `{"task_type":"x","run_at":"tomorrow"}`, 400, "/run_at"},
		"Escaped": {"POST", "/api/v1/tasks", `{"task_type":"x","a/b~c":1}`, 400, "/a~1b~0c"},
		"Batch": {"POST", "/api/v1/tasks/batch", `{"tasks":[{"task_type":"x"},{"task_type":"x","parameter":1}]}`, 400,
			"/tasks/1/parameter"},
		"EmptyBatch": {"POST", "/api/v1/tasks/batch", `{"tasks":[]}`, 400, "/tasks"},
		"ItemErrors": {"POST", "/api/v1/tasks/batch", `{"tasks":[{"task_type":"x"}],"item_errors":true}`, 400,
			"/item_errors"},
		"Caller":        {"POST", "/api/v1/tasks/batch", `{"tasks":[{"task_type":"x"}],"Caller":"root"}`, 400, "/Caller"},
		"NoTask":        {"POST", worker + "/start", `{}`, 400, "/task_id"},
		"NoUUID":        {"POST", worker + "/start", `{"task_id":"7"}`, 400, "/task_id"},
		"Percent":       {"POST", worker + "/progress", ofTask + `,"progress_percent":101}`, 400, "/progress_percent"},
		"NoPercent":     {"POST", worker + "/progress", ofTask + `}`, 400, "/progress_percent"},
		"Status":        {"POST", worker + "/result", ofTask + `,"status":"snoozed"}`, 400, "/status"},
		"ErrorOfNumber": {"POST", worker + "/result", ofTask + `,"status":"failed","error":7}`, 400, "/error"},
		"ErrorOfNobody": {"POST", worker + "/result", ofTask + `,"status":"failed","error":{"code":"E"}}`, 400,
			"/error/message"},
		"ErrorUnknown": {"POST", worker + "/result", ofTask + `,"status":"failed","error":{"message":"m","retry":1}}`, 400,
			"/error/retry"},
		"BeatStatus": {"POST", worker + "/heartbeat", `{"status":"dead"}`, 400, "/status"},
		"BeatTasks":  {"POST", worker + "/heartbeat", `{"current_tasks":["x"]}`, 400, "/current_tasks/0"},
		"BeatLong": {"POST", worker + "/heartbeat",
			`{"current_tasks":[` + strings.Repeat(`"`+taskID.String()+`",`, 100) + `"` + taskID.String() + `"]}`, 400,
			"/current_tasks"},
		"Capacity":   {"POST", worker + "/poll", `{"available_capacity":10001}`, 400, "/available_capacity"},
		"PathUUID":   {"GET", "/api/v1/tasks/7", "", 400, "path.id"},
		"WorkerUUID": {"POST", queueWorker + "7/poll", "", 400, "path.id"},
		"Query": {"GET", "/api/v1/tasks/" + taskID.String() + "?include_history=perhaps", "", 400,
			"query.include_history"},
		"UnknownQuery":  {"GET", "/api/v1/queue/stats?verbose=1", "", 400, "query.verbose"},
		"RepeatedQuery": {"GET", "/v1/groups?owner=ann&owner=bob", "", 400, "query.owner"},
		"LongReason": {"DELETE", "/api/v1/tasks/" + taskID.String() + "?reason=" + strings.Repeat("x", 1025), "", 400,
			"query.reason"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			got := newAPI(t, f, httpapi.Options{}).do(t, c.method, c.path, c.body)
			if p := got.problem(t); got.status != c.status || at(p) != c.at {
				t.Errorf("answer is %d at %q, want %d at %q: %s", got.status, at(p), c.status, c.at, got.body)
			}
			if f.called() != 0 {
				t.Errorf("the backend was called %d times", f.called())
			}
		})
	}
	t.Run("TooManyNamespaces", func(t *testing.T) {
		t.Parallel()
		got := newAPI(t, &fake{}, httpapi.Options{}).do(t, "GET",
			"/api/v1/queue/stats?namespace="+strings.Repeat("a,", 100)+"a", "")
		if got.status != 413 {
			t.Errorf("answer is %d %s", got.status, got.body)
		}
	})
	t.Run("TooLarge", func(t *testing.T) {
		t.Parallel()
		got := newAPI(t, &fake{}, httpapi.Options{Limits: httpapi.Limits{BodyBytes: 1000, BatchBodyBytes: 2000}}).do(t,
			"POST", "/api/v1/tasks", `{"task_type":"x","parameters":"`+strings.Repeat("x", 1000)+`"}`)
		if got.status != 413 {
			t.Errorf("answer is %d %s", got.status, got.body)
		}
	})
}

// TestQueueErrorsNameNoList: an error about a single item has no list index.
func TestQueueErrorsNameNoList(t *testing.T) {
	t.Parallel()
	worker := queueWorker + workerID.String()
	ofTask := `{"task_id":"` + taskID.String() + `"`
	for name, c := range map[string]struct{ path, body, from, to string }{
		"Enqueue":  {"/api/v1/tasks", `{"task_type":"x"}`, "/tasks/0/parameters", "/parameters"},
		"Register": {queueWorker + "register", `{"task_types":["x"]}`, "/handlers/0", "/task_types/0"},
		"Start":    {worker + "/start", ofTask + `}`, "/steps/0/token", "/token"},
		"Result":   {worker + "/result", ofTask + `,"status":"completed"}`, "/results/0/result", "/result"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &failing{fake: &fake{}, err: &tasker.Error{Code: tasker.CodeInvalid, Message: "no",
				Details: []tasker.Detail{{Location: c.from, Message: "bad"}}}}
			got := newAPI(t, f, httpapi.Options{}).do(t, "POST", c.path, c.body)
			if p := got.problem(t); got.status != 400 || at(p) != c.to {
				t.Errorf("answer is %d %s, want it at %s", got.status, got.body, c.to)
			}
		})
	}
}

type failing struct {
	*fake
	err error
}

func (f *failing) EnqueueTasks(context.Context, queueapi.EnqueueRequest) ([]queueapi.QueueReceipt, error) {
	return nil, f.err
}

func (f *failing) RegisterWorker(context.Context, protocol.WorkerRegistration) (*protocol.RegisteredWorker, error) {
	return nil, f.err
}

func (f *failing) Start(context.Context, protocol.StartRequest) ([]protocol.LeaseAnswer, error) {
	return nil, f.err
}

func (f *failing) Settle(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	return nil, f.err
}

// TestQueueWorkerWords: fields with two names, errors in two forms, and statuses that only this protocol has.
func TestQueueWorkerWords(t *testing.T) {
	t.Parallel()
	worker := queueWorker + workerID.String()
	ofTask := `{"task_id":"` + taskID.String() + `"`
	yes, no := true, false
	settle := func(r protocol.StepResult) protocol.SettleRequest {
		r.StepUUID, r.Token = stepID, "8"
		return protocol.SettleRequest{WorkerID: workerID, Results: []protocol.StepResult{r}}
	}
	failed := func(f tasker.Failure) any {
		return settle(protocol.StepResult{Status: "failed", Error: &f})
	}
	for name, c := range map[string]struct {
		verb, body string
		want       any
	}{
		"Capacity": {"poll", `{"capacity":4,"wait_ms":10,"start":true}`,
			protocol.PollRequest{WorkerID: workerID, Capacity: 4, WaitMS: 10, Start: true}},
		"AvailableCapacity": {"poll", `{"available_capacity":4}`, protocol.PollRequest{WorkerID: workerID, Capacity: 4}},
		"Both": {"poll", `{"available_capacity":2,"capacity":4}`,
			protocol.PollRequest{WorkerID: workerID, Capacity: 2}},
		"NoBody": {"poll", ``, protocol.PollRequest{WorkerID: workerID, Capacity: 1}},
		"Start": {"start", ofTask + `}`,
			protocol.StartRequest{WorkerID: workerID, Steps: []protocol.LeaseRef{{StepUUID: stepID, Token: "8"}}}},
		"StartWithToken": {"start", ofTask + `,"token":"8"}`,
			protocol.StartRequest{WorkerID: workerID, Steps: []protocol.LeaseRef{{StepUUID: stepID, Token: "8"}}}},
		"StartWithAll": {"start", ofTask + `,"step_uuid":"` + otherID.String() + `","token":"5"}`,
			protocol.StartRequest{WorkerID: workerID, Steps: []protocol.LeaseRef{{StepUUID: otherID, Token: "5"}}}},
		"Progress": {"progress", ofTask + `,"progress_percent":45,"status_message":"m"}`,
			protocol.ProgressReport{WorkerID: workerID, StepUUID: stepID, Token: "8", ProgressPercent: 45, StatusMessage: "m"}},
		"Completed": {"result", ofTask + `,"status":"completed","result":[1],"execution_duration_seconds":45.2}`,
			settle(protocol.StepResult{Status: "completed", Result: []byte(`[1]`)})},
		"ErrorOfText": {"result", ofTask + `,"status":"failed","error":"no \"disk\""}`,
			failed(tasker.Failure{Message: `no "disk"`})},
		"Retryable": {"result",
			ofTask + `,"status":"failed","error":{"message":"m","code":"E","retryable":false,"details":{"a":1}}}`,
			failed(tasker.Failure{Message: "m", Code: "E", Retryable: &no, Details: []byte(`{"a":1}`)})},
		"Retriable": {"result",
			ofTask +
				`,"status":"failed","error":{"message":"m","retriable":true,"failure_reason":"timeout","class":"resource"}}`,
			failed(tasker.Failure{Message: "m", Retryable: &yes, Type: "timeout", Class: "resource"})},
		"Busy": {"heartbeat", `{"current_load":3,"status":"busy","health":{"cpu_usage_percent":80}}`,
			protocol.Heartbeat{WorkerID: workerID, CurrentLoad: 3, Health: map[string]float64{"cpu_usage_percent": 80}}},
		"Draining": {"heartbeat", `{"status":"draining"}`,
			protocol.Heartbeat{WorkerID: workerID, Status: "draining"}},
		"NoTasks": {"heartbeat", `{"current_tasks":[]}`,
			protocol.Heartbeat{WorkerID: workerID, Steps: []protocol.LeaseRef{}}},
		"CurrentTasks": {"heartbeat", `{"current_tasks":["` + taskID.String() + `"]}`,
			protocol.Heartbeat{WorkerID: workerID, Steps: []protocol.LeaseRef{{StepUUID: stepID, Token: "8"}}}},
		"CurrentUnknownTask": {"heartbeat", `{"current_tasks":["` + workerID.String() + `"]}`,
			protocol.Heartbeat{WorkerID: workerID, Steps: []protocol.LeaseRef{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &leasing{fake: &fake{}}
			got := newAPI(t, f, httpapi.Options{}).do(t, "POST", worker+"/"+c.verb, c.body)
			if got.status != 200 {
				t.Fatalf("answer is %d %s", got.status, got.body)
			}
			if diff := cmp.Diff(c.want, last[any](f.fake)); diff != "" {
				t.Errorf("the backend is asked (-want +got):\n%s", diff)
			}
		})
	}
}

type leasing struct {
	*fake
	held  []protocol.LeaseRef // instead
	looks int                 // how often it was asked
	space string              // the task's namespace
	state tasker.TaskState
	caps  []string
	self  string // the worker's state
}

func (l *leasing) HeldTasks(ctx context.Context, worker uuid.UUID, tasks []uuid.UUID) ([]*queueapi.HeldTask, error) {
	l.looks++
	out := make([]*queueapi.HeldTask, len(tasks))
	for i, id := range tasks {
		if key := access.From(ctx); id != taskID || worker != workerID || key.Limited() && !key.Reaches(l.space) {
			continue
		}
		out[i] = &queueapi.HeldTask{Namespace: l.space, State: l.state, Leases: l.held}
		if l.held == nil {
			out[i].Leases = []protocol.LeaseRef{{StepUUID: stepID, Token: "8"}}
		}
	}
	return out, nil
}

func (l *leasing) Registered(context.Context, uuid.UUID) (*protocol.WorkerInfo, error) {
	return &protocol.WorkerInfo{Namespaces: []string{"default"}, Capabilities: l.caps, State: l.self}, nil
}

func TestQueueLostTasks(t *testing.T) {
	t.Parallel()
	worker := queueWorker + workerID.String()
	ofTask := `{"task_id":"` + taskID.String() + `"`
	for name, c := range map[string]struct {
		held  []protocol.LeaseRef
		state tasker.TaskState
		extra string
		want  string
	}{
		"Cancelled": {[]protocol.LeaseRef{}, tasker.TaskCancelled, "", protocol.LeaseCancelled},
		"Lost":      {[]protocol.LeaseRef{}, tasker.TaskStepsInProcess, "", protocol.LeaseLost},
		"OldToken":  {nil, tasker.TaskStepsInProcess, `,"token":"6"`, protocol.LeaseLost},
		"OtherStep": {nil, tasker.TaskStepsInProcess, `,"step_uuid":"` + otherID.String() + `"`, protocol.LeaseLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &leasing{fake: &fake{}, held: c.held, state: c.state}
			a := newAPI(t, f, httpapi.Options{})
			for _, verb := range []string{"/start", "/progress"} {
				body := ofTask + c.extra
				if verb == "/progress" {
					body += `,"progress_percent":1`
				}
				got := a.do(t, "POST", worker+verb, body+`}`)
				if got.status != 200 || !strings.Contains(got.body, `"acknowledged":false,"status":"`+c.want+`"`) {
					t.Errorf("%s is answered %d %s", verb, got.status, got.body)
				}
			}
			got := a.do(t, "POST", worker+"/result", ofTask+c.extra+`,"status":"completed"}`)
			if p := got.problem(t); got.status != 409 || p.Code != tasker.CodeStaleToken || !strings.Contains(p.Detail, c.want) {
				t.Errorf("the result is answered %d %s", got.status, got.body)
			}
			if f.called() != 0 {
				t.Errorf("the backend was called %d times", f.called())
			}
			if c.extra != "" {
				return
			}
			got = a.do(t, "POST", worker+"/heartbeat", `{"current_tasks":["`+taskID.String()+`"]}`)
			if got.status != 200 || !strings.Contains(got.body, `"status":"`+c.want+`"`) {
				t.Errorf("the heartbeat is answered %d %s", got.status, got.body)
			}
		})
	}
	t.Run("Several", func(t *testing.T) {
		t.Parallel()
		f := &leasing{fake: &fake{},
			held: []protocol.LeaseRef{{StepUUID: stepID, Token: "8"}, {StepUUID: otherID, Token: "8"}}}
		a := newAPI(t, f, httpapi.Options{})
		got := a.do(t, "POST", worker+"/start", ofTask+`}`)
		if p := got.problem(t); got.status != 400 || at(p) != "/step_uuid" {
			t.Errorf("the answer is %d %s", got.status, got.body)
		}
		got = a.do(t, "POST", worker+"/heartbeat", `{"current_tasks":["`+taskID.String()+`"]}`)
		if p := got.problem(t); got.status != 400 || at(p) != "/current_tasks/0" {
			t.Errorf("the answer to the heartbeat is %d %s", got.status, got.body)
		}
		got = a.do(t, "POST", worker+"/start", ofTask+`,"step_uuid":"`+stepID.String()+`"}`)
		if got.status != 200 || last[protocol.StartRequest](f.fake).Steps[0].StepUUID != stepID {
			t.Errorf("with the step the answer is %d %s", got.status, got.body)
		}
	})
	t.Run("ManyAtOnce", func(t *testing.T) {
		t.Parallel()
		f := &leasing{fake: &fake{}}
		got := newAPI(t, f, httpapi.Options{}).do(t, "POST", worker+"/heartbeat",
			`{"current_tasks":["`+otherID.String()+`","`+taskID.String()+`","`+stepID.String()+`"]}`)
		if want := (protocol.Heartbeat{WorkerID: workerID,
			Steps: []protocol.LeaseRef{{StepUUID: stepID, Token: "8"}}}); got.status != 200 || f.looks != 1 ||
			!cmp.Equal(last[any](f.fake), any(want)) {
			t.Errorf("the answer is %d %s after %d looks, the backend got %+v", got.status, got.body, f.looks, last[any](f.fake))
		}
		if strings.Count(got.body, `"status":"lost"`) != 2 {
			t.Errorf("the answer is %s", got.body)
		}
	})
	t.Run("OutsideTheKey", func(t *testing.T) {
		t.Parallel()
		ring, key := ringOf(t, "limited", "work", "default")
		for space, want := range map[string]string{"default": "cancelled", "secret": "lost"} {
			f := &leasing{fake: &fake{}, space: space, held: []protocol.LeaseRef{}, state: tasker.TaskCancelled}
			a := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
			got := a.do(t, "POST", worker+"/heartbeat", `{"current_tasks":["`+taskID.String()+`"]}`, key)
			if got.status != 200 || !strings.Contains(got.body, `"status":"`+want+`"`) {
				t.Errorf("of the namespace %s the answer is %d %s", space, got.status, got.body)
			}
			if got := a.do(t, "POST", worker+"/start", ofTask+`}`, key); (got.status == 404) != (space == "secret") {
				t.Errorf("of the namespace %s the start is answered %d %s", space, got.status, got.body)
			}
		}
	})
	t.Run("NoRoom", func(t *testing.T) {
		t.Parallel()
		f := &leasing{fake: &fake{}, self: "draining"}
		got := newAPI(t, f, httpapi.Options{}).do(t, "POST", worker+"/poll",
			`{"available_capacity":0,"capacity":5,"wait_ms":10000}`)
		if got.status != 200 || strings.TrimSpace(got.body) != `{"tasks":[],"should_drain":true}` || f.called() != 0 {
			t.Errorf("the answer is %d %s after %d calls", got.status, got.body, f.called())
		}
	})
	t.Run("Capabilities", func(t *testing.T) {
		t.Parallel()
		f := &leasing{fake: &fake{}, caps: []string{"gpu", "cpu"}}
		a := newAPI(t, f, httpapi.Options{})
		for body, status := range map[string]int{`{"capabilities":["cpu","gpu"]}`: 200,
			`{"worker_capabilities":["gpu","cpu","gpu"]}`: 200, `{}`: 200, `{"capabilities":["gpu"]}`: 400,
			`{"worker_capabilities":["gpu","cpu","tpu"]}`: 400} {
			if got := a.do(t, "POST", worker+"/poll", body); got.status != status {
				t.Errorf("%s is answered %d %s", body, got.status, got.body)
			}
		}
	})
}
