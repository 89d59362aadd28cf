package httpapi_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
)

func TestInclude(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	a.do(t, "GET", "/v1/tasks", "")
	if last[tasker.TaskFilter](f).WithContext {
		t.Error("a list asks the Backend for contexts unasked")
	}
	a.do(t, "GET", "/v1/tasks?include=context", "")
	if !last[tasker.TaskFilter](f).WithContext {
		t.Error("include=context does not reach the Backend")
	}
	steps := "/v1/tasks/" + taskID.String() + "/workflow_steps"
	if got := a.do(t, "GET", steps, ""); strings.Contains(got.body, `"results":`) ||
		!strings.Contains(got.body, `"results_omitted":true`) {
		t.Errorf("a list of steps is %s", got.body)
	}
	if got := a.do(t, "GET", steps+"?include=results", ""); !strings.Contains(got.body, `"results":`) {
		t.Errorf("a list of steps with results is %s", got.body)
	}
	for _, path := range []string{"/v1/tasks?include=everything", steps + "?include=context"} {
		if got := a.do(t, "GET", path, ""); got.status != 400 {
			t.Errorf("%s is answered %d", path, got.status)
		}
	}
}

func TestEmptyParameters(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	for path, want := range map[string]string{
		"/v1/tasks?created_before=":  "query.created_before",
		"/v1/tasks?limit=":           "query.limit",
		"/v1/tasks?include=":         "query.include",
		"/v1/audit?task_uuid=":       "query.task_uuid",
		"/v1/dlq?resolution_status=": "query.resolution_status",
		"/v1/events?queue=":          "query.queue",
	} {
		got := a.do(t, "GET", path, "")
		if p := got.problem(t); got.status != 400 || at(p) != want {
			t.Errorf("%s is answered %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/v1/tasks?name=&namespace=&cursor=", "/v1/tasks?state="} {
		if got := a.do(t, "GET", path, ""); got.status != 200 {
			t.Errorf("%s is answered %d %s", path, got.status, got.body)
		}
	}
}
