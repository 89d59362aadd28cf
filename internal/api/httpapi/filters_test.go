package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/queueapi"
)

func TestFilters(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	a.do(t, "GET",
		"/v1/tasks?state=error,pending&state=complete&namespace=n%2F1&name=a%20b&version=1&tag=%C3%BC&correlation_id=c&initiator=ann%40b&priority=7"+
			"&created_after=2026-01-31T12:00:00.123456Z&created_before=2026-02-01T00:00:00%2B01:00&limit=1000&cursor=abc", "")
	before := time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)
	want := tasker.TaskFilter{
		States:    []tasker.TaskState{tasker.TaskError, tasker.TaskPending, tasker.TaskComplete},
		Namespace: "n/1", Name: "a b", Version: "1", Tag: "ü", CorrelationID: "c", Initiator: "ann@b", Priority: "7",
		CreatedAfter: &noon, CreatedBefore: &before, Limit: 1000, Cursor: "abc",
	}
	if diff := cmp.Diff(want, last[tasker.TaskFilter](f)); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	if got := a.do(t, "GET", "/v1/tasks?cursor=end", ""); got.body != `{"tasks":[]}`+"\n" {
		t.Errorf("an empty page is %q", got.body)
	}
	if got := last[tasker.TaskFilter](f); got.Limit != 50 || got.States != nil {
		t.Errorf("defaults are %+v", got)
	}
}

func TestQueueFilters(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	a.do(t, "GET",
		"/api/v1/tasks?status=queued,failed&status=dead_letter&namespace=n&task_type=a%20b&user_id=%C3%BC&priority=7"+
			"&created_after=2026-01-31T12:00:00.123456Z&created_before=2026-02-01T00:00:00%2B01:00&limit=1000&cursor=abc", "")
	before := time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)
	want := queueapi.QueueTaskFilter{Statuses: []queueapi.QueueStatus{queueapi.QueueQueued, queueapi.QueueFailed,
		queueapi.QueueDeadLetter},
		Namespace: "n", TaskType: "a b", UserID: "ü", Priority: "7", CreatedAfter: &noon, CreatedBefore: &before, Limit: 1000,
		Cursor: "abc"}
	if diff := cmp.Diff(want, last[queueapi.QueueTaskFilter](f)); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	if got := a.do(t, "GET", "/api/v1/tasks?cursor=end", ""); got.body != `{"tasks":[]}`+"\n" {
		t.Errorf("an empty page is %q", got.body)
	}
}

func TestBadParameters(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	for name, c := range map[string]struct{ method, target, at string }{
		"LimitZero":     {"GET", "/v1/tasks?limit=0", "query.limit"},
		"LimitTooLarge": {"GET", "/v1/tasks?limit=1001", "query.limit"},
		"LimitText":     {"GET", "/v1/templates?limit=ten", "query.limit"},
		"Time":          {"GET", "/v1/tasks?created_after=yesterday", "query.created_after"},
		"State":         {"GET", "/v1/tasks?state=error,lost", "query.state"},
		"Unknown":       {"GET", "/v1/tasks?nmae=x", "query.nmae"},
		"TaskUUID":      {"GET", "/v1/tasks/abc", "path.uuid"},
		"StepUUID":      {"GET", "/v1/tasks/" + taskID.String() + "/workflow_steps/1", "path.step_uuid"},
		"WorkerUUID":    {"POST", "/internal/workers/x/poll", "path.id"},
		"NegativeWait":  {"GET", "/v1/tasks/" + taskID.String() + "?wait_ms=-1", "query.wait_ms"},
		"LongName":      {"GET", "/v1/tasks?name=" + strings.Repeat("x", 256), "query.name"},
		"BadEscape":     {"GET", "/v1/tasks?name=%zz", ""},
		"BadUTF8":       {"GET", "/v1/tasks?name=%ff", "query.name"},
		"BadUTF8InPath": {"GET", "/v1/templates/%ff/x", ""},
		"NUL":           {"GET", "/v1/tasks?tag=%00", "query.tag"},
		"Escape":        {"GET", "/v1/dlq?task_name=%1b[2J", "query.task_name"},
		"NextLine":      {"GET", "/v1/tasks?name=%C2%85", "query.name"},
		"NULInName":     {"GET", "/v1/tasks?%00=1", ""},
		"NULInPath":     {"GET", "/v1/templates/default/a%00b", ""},
		"LineInFilter":  {"GET", "/api/v1/queue/stats?namespace=%0a", "query.namespace"},
		"LineInPath":    {"GET", "/v1/templates/default/a%0Ab", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := a.do(t, c.method, c.target, "")
			p := got.problem(t)
			if got.status != 400 || p.Status != 400 || p.Code != tasker.CodeInvalid || at(p) != c.at {
				t.Errorf("answer is %d at %q: %s", got.status, at(p), got.body)
			}
		})
	}
	t.Cleanup(func() {
		if f.called() != 0 {
			t.Error("a refused request reached the backend")
		}
	})
}

func TestHostileStringsPassUntouched(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	for name, s := range map[string]string{
		"SQL": `'; DROP TABLE tasker_tasks; --`, "HTML": `<script>alert(1)</script>`, "Path": `../../etc/passwd`,
		"NUL":     "a\x00b",
		"Newline": "a\r\nSet-Cookie: x", "Emoji": "👩‍👩‍👧‍👦", "RTL": "\u202eabc", "Quote": `"\`, "Format": "%s%n{{.}}${x}",
	} {
		t.Run(name, func(t *testing.T) {
			if got := a.do(t, "POST", "/v1/tasks", `{"name":`+jsonString(s)+`,"reason":`+jsonString(s)+`}`); got.status != 201 {
				t.Fatalf("answer is %d %s", got.status, got.body)
			}
			if got := last[tasker.SubmitRequest](f).Tasks[0]; got.Name != s || got.Reason != s {
				t.Errorf("the backend got %q, want %q", got.Name, s)
			}
		})
	}
}

func TestJSONPassesByteForByte(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	const context = `{ "big": 12345678901234567890.10, "dup":1,"dup":2, "html":"<&>\u0041", "nul":null }`
	a.do(t, "POST", "/v1/tasks/batch", `{"tasks":[{"name":"x","context":`+context+`}]}`)
	if got := string(last[tasker.SubmitRequest](f).Tasks[0].Context); got != context {
		t.Errorf("in: %s, want %s", got, context)
	}
	if got := a.do(t, "GET", "/v1/tasks/"+taskID.String(), ""); !strings.Contains(got.body,
		`"context":{"n":12345678901234567890,"html":"<a&b>"}`) {
		t.Errorf("out: %s", got.body)
	}
}

func TestRawYAML(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	for _, contentType := range []string{"application/yaml", "text/yaml; charset=utf-8", "application/x-yaml"} {
		got := a.do(t, "POST", "/v1/templates", "name: import\n# so\n", "Content-Type: "+contentType)
		if got.status != 201 || got.header.Get("Location") != "/v1/templates/default/import/1.0.0" {
			t.Errorf("%s answers %d %s", contentType, got.status, got.body)
		}
		if src := last[tasker.TemplateSource](f); src.YAML != "name: import\n# so\n" {
			t.Errorf("%s passes %q", contentType, src.YAML)
		}
	}
	if got := a.do(t, "POST", "/v1/templates", "name: seen", "Content-Type: text/yaml"); got.status != 200 {
		t.Errorf("a version that existed answers %d", got.status)
	}
}
