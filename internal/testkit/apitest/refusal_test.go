package apitest_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestBadSubmissions: each is refused whole with the same code, words and places through the SDK and by the engine, and
// nothing is stored.
func TestBadSubmissions(t *testing.T) { onEveryStore(t, testBadSubmissions) }

func testBadSubmissions(t *testing.T, s *server) {
	s.register(t, diamond)
	late := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -14*3600))
	good := tasker.TaskRequest{TaskType: "h"}
	for name, test := range map[string]struct {
		task  tasker.TaskRequest
		place string
		words string
	}{
		"Schema": {tasker.TaskRequest{Name: "diamond", Namespace: "math", Context: json.RawMessage(`{"n":"five"}`)},
			"/context/n", "integer"},
		"SchemaMissing": {tasker.TaskRequest{Name: "diamond", Namespace: "math", Context: json.RawMessage(`{}`)},
			"/context", "n"},
		"NoTemplate": {tasker.TaskRequest{Name: "diamond"}, "/name", `no template "diamond" in namespace "default"`},
		"NoVersion": {tasker.TaskRequest{Name: "diamond", Namespace: "math", Version: "9"}, "/version",
			`no version "9"`},
		"Oversized": {tasker.TaskRequest{TaskType: "h",
			Context: json.RawMessage(`"` + strings.Repeat("x", 256<<10) + `"`)}, "/context", "the limit is 262144"},
		"ControlCharacter": {tasker.TaskRequest{TaskType: "\x1b[31mred"}, "/task_type", "control character U+001B"},
		"NUL":              {tasker.TaskRequest{TaskType: "a\x00b"}, "/task_type", "control character U+0000"},
		"LineBreak":        {tasker.TaskRequest{TaskType: "a\nb"}, "/task_type", "control character U+000A"},
		"Megabyte":         {tasker.TaskRequest{TaskType: strings.Repeat("h", 1<<20)}, "/task_type", "255"},
		"HostileTag": {tasker.TaskRequest{TaskType: "h", Tags: []string{"\x1b]0;owned\a"}}, "/tags/0",
			"control character"},
		"HostileKey": {tasker.TaskRequest{TaskType: "h", IdempotencyKey: "\x7f"}, "/idempotency_key",
			"control character"},
		"Nothing":  {tasker.TaskRequest{}, "/name", "task_type"},
		"Both":     {tasker.TaskRequest{Name: "diamond", TaskType: "h"}, "/task_type", "not both"},
		"Priority": {tasker.TaskRequest{TaskType: "h", Priority: "soon"}, "/priority", "soon"},
		"RunAt":    {tasker.TaskRequest{TaskType: "h", RunAt: &late}, "/run_at", "before 9000"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, tasks := range [][]tasker.TaskRequest{{test.task}, {good, test.task, good}} {
				at := fmt.Sprintf("/tasks/%d%s", len(tasks)/2, test.place)
				_, far := s.SubmitTasks(s.ctx, tasker.SubmitRequest{Tasks: tasks})
				_, near := s.engine.SubmitTasks(s.ctx, tasker.SubmitRequest{Tasks: tasks})
				for where, err := range map[string]error{"the SDK": far, "the engine": near} {
					e, ok := err.(*tasker.Error)
					if !ok || e.Code != tasker.CodeInvalid || places(e) != at || !strings.Contains(e.Error(), test.words) ||
						len(e.Error()) > 1000 {
						t.Errorf("%d tasks through %s are answered %.1000v", len(tasks), where, err)
					}
				}
			}
			s.empty(t)
		})
	}
}

// TestBadBodies: bodies that the SDK would not send.
func TestBadBodies(t *testing.T) { onEveryStore(t, testBadBodies) }

func testBadBodies(t *testing.T, s *server) {
	item := `{"task_type":"h","context":"` + strings.Repeat("a", 100<<10) + `"}`
	for name, test := range map[string]struct {
		method, path, body string
		status             int
		code               tasker.Code
		words              []string
	}{
		"BrokenJSON": {"POST", "/v1/tasks", `{"task_type": "h"`, 400, tasker.CodeInvalid, []string{"JSON"}},
		"Twice":      {"POST", "/v1/tasks", `{"task_type": "h"} {}`, 400, tasker.CodeInvalid, nil},
		"UnknownField": {"POST", "/v1/tasks", `{"task_type": "h", "prioritty": "high"}`, 400, tasker.CodeInvalid,
			[]string{"/prioritty"}},
		"WrongType": {"POST", "/v1/tasks", `{"task_type": 7}`, 400, tasker.CodeInvalid, []string{"/task_type"}},
		"BrokenBatch": {"POST", "/v1/tasks/batch", `{"tasks":[{"task_type":"h"},{"task_type":"h","x":1}]}`, 400,
			tasker.CodeInvalid, []string{"/tasks/1/x"}},
		"EmptyBatch": {"POST", "/v1/tasks/batch", `{"tasks":[]}`, 400, tasker.CodeInvalid, []string{"/tasks"}},
		"LongBatch": {"POST", "/v1/tasks/batch",
			`{"tasks":[` + strings.Repeat(`{"task_type":"h"},`, 1000) + `{"task_type":"h"}]}`, 413, tasker.CodeTooLarge,
			[]string{"1001 items", "1000"}},
		"HugeBatch": {"POST", "/v1/tasks/batch", `{"tasks":[` + strings.Repeat(item+",", 170) + item + `]}`, 413,
			tasker.CodeTooLarge, []string{"larger than 16777216 bytes"}},
		"HugeTask": {"POST", "/v1/tasks", `{"task_type":"h","context":"` + strings.Repeat("a", 10<<20) + `"}`, 413,
			tasker.CodeTooLarge, []string{"larger than"}},
		"TenMBOneBad": {"POST", "/v1/tasks/batch", `{"tasks":[` + strings.Repeat(item+",", 100) +
			`{"task_type":"h","priority":"soon"}]}`, 400, tasker.CodeInvalid,
			[]string{"/tasks/100/priority", "nothing was stored"}},
		"RepeatedKey": {"POST", "/v1/tasks", `{"task_type":"a","task_type":"b"}`, 400, tasker.CodeInvalid,
			[]string{"task_type"}},
		"BadUUID":   {"GET", "/v1/tasks/17", "", 400, tasker.CodeInvalid, []string{"uuid"}},
		"Unknown":   {"GET", "/v1/tasks/" + uuid.NewString(), "", 404, tasker.CodeNotFound, []string{"there is no task"}},
		"BadCursor": {"GET", "/v1/tasks?cursor=abc", "", 400, tasker.CodeInvalid, []string{"cursor"}},
		"BadFilter": {"GET", "/v1/tasks?priority=soon", "", 400, tasker.CodeInvalid, []string{"priority", "soon"}},
	} {
		t.Run(name, func(t *testing.T) {
			var p struct {
				Code   tasker.Code `json:"code"`
				Status int         `json:"status"`
			}
			status, body := s.send(t, test.method, test.path, test.body, &p)
			if status != test.status || p.Status != test.status || p.Code != test.code || len(body) > 2000 {
				t.Errorf("answered %d %.2000s, want %d %s", status, body, test.status, test.code)
			}
			for _, word := range test.words {
				if !strings.Contains(body, word) {
					t.Errorf("the answer does not say %q: %.2000s", word, body)
				}
			}
			s.empty(t)
		})
	}
	// Ten megabytes of good tasks are accepted.
	if status, body := s.send(t, "POST", "/v1/tasks/batch", `{"tasks":[`+strings.Repeat(item+",", 99)+item+`]}`,
		nil); status != 200 {
		t.Errorf("a good batch of 10 MB is answered %d %.300s", status, body)
	}
}

func TestBadTemplates(t *testing.T) { onEveryStore(t, testBadTemplates) }

func testBadTemplates(t *testing.T, s *server) {
	for name, test := range map[string]struct {
		yaml  string
		place string
		words string
	}{
		"Cycle": {
			"name: c\nversion: \"1\"\nsteps:\n  - {name: a, handler: h, dependencies: [c]}\n  - {name: b, handler: h, " +
				"dependencies: [a]}\n  - {name: c, handler: h, dependencies: [b]}\n",
			"flow.yaml:5:", "a -> c -> b -> a"},
		"UnknownDependency": {"name: c\nversion: \"1\"\nsteps:\n  - {name: a, handler: h, dependencies: [nope]}\n",
			"flow.yaml:4:", "nope"},
		"DuplicateName": {"name: c\nversion: \"1\"\nsteps:\n  - {name: a, handler: h}\n  - {name: a, handler: h}\n",
			"flow.yaml:5:", "a"},
		"MissingHandler": {"name: c\nversion: \"1\"\nsteps:\n  - {name: a}\n", "flow.yaml:4:", "handler"},
		"UnknownField": {"name: c\nversion: \"1\"\nsteps: [{name: a, handler: h}]\nstages: []\n", "flow.yaml:4:1",
			"stages"},
		"HostileHandler": {"name: c\nversion: \"1\"\nsteps:\n  - {name: a, handler: \"\\e[2J\"}\n", "flow.yaml:4:",
			"control characters"},
		"LongHandler": {"name: c\nversion: \"1\"\nsteps:\n  - {name: a, handler: " + strings.Repeat("h", 1<<19) + "}\n",
			"flow.yaml:4:", "255"},
	} {
		_, err := s.RegisterTemplate(s.ctx, tasker.TemplateSource{YAML: test.yaml, Filename: "flow.yaml"})
		e, ok := err.(*tasker.Error)
		if !ok || e.Code != tasker.CodeInvalid || !strings.HasPrefix(places(e), test.place) ||
			!strings.Contains(e.Error(), test.words) || len(e.Error()) > 2000 {
			t.Errorf("%s: answered %.2000v at %s", name, err, places(e))
		}
	}
	if page, err := s.Templates(s.ctx, tasker.TemplateFilter{}); err != nil || len(page.Templates) != 0 {
		t.Errorf("the list of templates is %+v, %v; want it empty", page, err)
	}
}

// TestProtocolErrors: an unknown worker, a stale lease and a step in the wrong state.
func TestProtocolErrors(t *testing.T) { onEveryStore(t, testProtocolErrors) }

func testProtocolErrors(t *testing.T, s *server) {
	receipt := s.submit(t, tasker.TaskRequest{TaskType: "h"})
	nobody := uuid.New()
	if _, err := protocol.Of(s.Client).Poll(s.ctx,
		protocol.PollRequest{WorkerID: nobody}); tasker.ErrorCode(err) != tasker.CodeNotFound ||
		!strings.Contains(err.Error(), "register the worker again") {
		t.Errorf("a poll of a stranger is answered %v", err)
	}
	if _, err := protocol.Of(s.Client).Heartbeat(s.ctx,
		protocol.Heartbeat{WorkerID: nobody}); tasker.ErrorCode(err) != tasker.CodeNotFound {
		t.Errorf("a heartbeat of a stranger is answered %v", err)
	}
	w, err := protocol.Of(s.Client).RegisterWorker(s.ctx,
		protocol.WorkerRegistration{Name: "by hand", Handlers: []string{"h"}})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := protocol.Of(s.Client).Poll(s.ctx, protocol.PollRequest{WorkerID: w.WorkerID, Start: true, WaitMS: 1000})
	if err != nil || len(resp.Steps) != 1 {
		t.Fatalf("the poll brought %+v, %v", resp, err)
	}
	a := resp.Steps[0]
	answers, err := protocol.Of(s.Client).Settle(s.ctx,
		protocol.SettleRequest{WorkerID: w.WorkerID, Results: []protocol.StepResult{
			{StepUUID: a.StepUUID, Token: "2" + a.Token[1:], Status: protocol.ResultCompleted,
				Result: json.RawMessage(`"forged"`)}}})
	if err != nil || answers[0].Error == nil || answers[0].Error.Code != tasker.CodeStaleToken ||
		!strings.Contains(answers[0].Error.Message, "not in the hands of this worker") {
		t.Errorf("a forged token is answered %+v, %v", answers, err)
	}
	act := tasker.StepAction{ActionType: tasker.ResetForRetry, ResetBy: "ann", Reason: "x"}
	_, far := s.ActOnStep(s.ctx, receipt.TaskUUID, a.StepUUID, act)
	_, near := s.engine.ActOnStep(s.ctx, receipt.TaskUUID, a.StepUUID, act)
	if tasker.ErrorCode(far) != tasker.CodeWrongState || !reflect.DeepEqual(far, near) {
		t.Errorf("a reset of a running step is answered %#v through the SDK, %#v by the engine", far, near)
	}
	act.ResetBy = "\x1b[2J"
	if _, err := s.ActOnStep(s.ctx, receipt.TaskUUID, a.StepUUID, act); tasker.ErrorCode(err) != tasker.CodeInvalid ||
		!strings.Contains(err.Error(), "/reset_by") {
		t.Errorf("an act of a hostile name is answered %v", err)
	}
	if step := s.step(t, receipt, "h"); step.State != tasker.StepInProgress || step.Results != nil {
		t.Errorf("after all that the step is %+v", step)
	}
	// and the worker that held it all along continues undisturbed
	answers, err = protocol.Of(s.Client).Settle(s.ctx,
		protocol.SettleRequest{WorkerID: w.WorkerID, Results: []protocol.StepResult{
			{StepUUID: a.StepUUID, Token: a.Token, Status: protocol.ResultCompleted, Result: json.RawMessage(`"true"`)}}})
	if err != nil || answers[0].Error != nil || answers[0].State != tasker.StepComplete {
		t.Errorf("the true token is answered %+v, %v", answers, err)
	}
}

// TestHostileStrings: allowed text comes back byte for byte.
func TestHostileStrings(t *testing.T) { onEveryStore(t, testHostileStrings) }

func testHostileStrings(t *testing.T, s *server) {
	for name, text := range map[string]string{
		"SQL": `'); DROP TABLE tasker_tasks; --`, "Markup": `<script>alert(1)</script>`, "Percent": `%s%n%`,
		"Path":    `../../etc/passwd`,
		"Unicode": "Привет, 世界 👩‍👩‍👧 \u202eevil", "Quotes": `"\'` + "`", "Separators": "a\u2028b",
	} {
		t.Run(name, func(t *testing.T) {
			context, err := json.Marshal(map[string]string{text: text + "\x00\n\t"})
			if err != nil {
				t.Fatal(err)
			}
			receipt := s.submit(t, tasker.TaskRequest{TaskType: text, Namespace: text, Tags: []string{text}, CorrelationID: text,
				Initiator: text,
				Reason:    text + "\n" + text, IdempotencyKey: text, Context: context})
			page, err := s.Tasks(s.ctx, tasker.TaskFilter{Name: text, Namespace: text, Tag: text, CorrelationID: text})
			if err != nil || len(page.Tasks) != 1 || page.Tasks[0].TaskUUID != receipt.TaskUUID {
				t.Fatalf("the filter finds %+v, %v", page, err)
			}
			got, err := s.Task(s.ctx, receipt.TaskUUID, 0)
			if err != nil || got.Name != text || got.Namespace != text || got.Tags[0] != text || got.CorrelationID != text ||
				got.Initiator != text ||
				got.Reason != text+"\n"+text || got.IdempotencyKey != text || string(got.Context) != string(context) {
				t.Errorf("it came back as %+v, %v", got, err)
			}
			if step := s.step(t, receipt, text); step.Handler != text {
				t.Errorf("the step is %+v", step)
			}
		})
	}
}
