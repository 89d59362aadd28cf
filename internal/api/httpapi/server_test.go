package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
)

func TestReady(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"Said":   {tasker.Errorf(tasker.CodeUnavailable, "the store does not answer"), "the store does not answer"},
		"Hidden": {errors.New("dial tcp 10.0.0.1: refused"), "its log says why"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, &fake{}, httpapi.Options{Ready: func(context.Context) error { return c.err }})
			got := a.do(t, "GET", "/health/ready", "")
			if got.status != 503 || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, c.want) ||
				strings.Contains(got.body, "10.0.0.1") {
				t.Errorf("answer is %d %s", got.status, got.body)
			}
			if got := a.do(t, "GET", "/health/live", ""); got.status != 200 {
				t.Errorf("live answers %d", got.status)
			}
		})
	}
}

type panicking struct{ *fake }

func (panicking) Steps(context.Context, uuid.UUID) ([]tasker.Step, error) { panic("bug in /secret") }

func TestPanic(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := newAPI(t, panicking{&fake{}},
		httpapi.Options{Front: web.New(web.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})})
	got := a.do(t, "GET", "/v1/tasks/"+taskID.String()+"/workflow_steps", "")
	if p := got.problem(t); got.status != 500 || p.Code != tasker.CodeInternal || strings.Contains(got.body, "secret") {
		t.Errorf("answer is %d %s", got.status, got.body)
	}
	if !strings.Contains(log.String(), "bug in /secret") || !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("the log lacks the panic or its stack: %s", log.String())
	}
}

func TestWhatCannotBeEncodedIsAnError(t *testing.T) {
	t.Parallel()
	broken := &fake{wait: func(context.Context, time.Duration) (*tasker.Task, error) {
		task := cannedTask(taskID, "default")
		task.Context = []byte(`{"torn":`)
		return task, nil
	}}
	got := newAPI(t, broken, httpapi.Options{}).do(t, "GET", "/v1/tasks/"+taskID.String()+"?wait_ms=1", "")
	if got.status != 500 {
		t.Errorf("answer is %d %s, want a whole 500", got.status, got.body)
	}
}

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	got := a.do(t, "POST", "/v1/tasks", `{"name":"x"}`, "Sec-Fetch-Site: cross-site", "Origin: http://evil.example")
	if p := got.problem(t); got.status != 403 || p.Code != tasker.CodeForbidden || f.called() != 0 {
		t.Errorf("answer is %d %s", got.status, got.body)
	}
	if got := a.do(t, "POST", "/v1/tasks", `{"name":"x"}`, "Sec-Fetch-Site: same-origin"); got.status != 201 {
		t.Errorf("the same origin is answered %d", got.status)
	}
}

func TestRequestLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := newAPI(t, &fake{}, httpapi.Options{Front: web.New(web.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})})
	a.do(t, "POST", "/v1/tasks", `{"name":"x"}`)
	if strings.Contains(log.String(), "/v1/tasks") {
		t.Errorf("a hot route is logged above debug: %s", log.String())
	}
	a.do(t, "GET", "/v1/templates", "")
	for _, want := range []string{"method=GET", "path=/v1/templates", "status=200", "request_id="} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, log.String())
		}
	}
}

func TestProblemTable(t *testing.T) {
	t.Parallel()
	seen := map[tasker.Code]bool{}
	for _, kind := range web.ProblemKinds() {
		if seen[kind.Code] || kind.Title == "" || kind.Meaning == "" || http.StatusText(kind.Status) == "" {
			t.Errorf("row %+v", kind)
		}
		seen[kind.Code] = true
		if web.StatusOf(kind.Code) != kind.Status {
			t.Errorf("StatusOf(%s) is not %d", kind.Code, kind.Status)
		}
	}
	if len(seen) != 11 || web.StatusOf("no such code") != 500 {
		t.Errorf("%d codes, unknown is %d", len(seen), web.StatusOf("no such code"))
	}
}
