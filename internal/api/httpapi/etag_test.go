package httpapi_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/operate"
)

func TestPreconditions(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	step := "/v1/tasks/" + taskID.String() + "/workflow_steps/" + stepID.String()
	for path, want := range map[string]string{
		"/v1/tasks/" + taskID.String():     `"error-1"`,
		step:                               `"error-2"`,
		"/api/v1/tasks/" + taskID.String(): `"error-3"`,
		"/v1/dlq/task/" + taskID.String():  `"pending-4"`,
	} {
		if got := a.do(t, "GET", path, ""); got.header.Get("ETag") != want {
			t.Errorf("%s has the ETag %s, want %s", path, got.header.Get("ETag"), want)
		}
	}
	const match = `"error-7"`
	seen := func(name, gotMatch, gotState string) {
		t.Helper()
		if gotMatch != match || gotState != "error" && gotState != "pending" {
			t.Errorf("%s: the backend gets If-Match %q and the state %q", name, gotMatch, gotState)
		}
	}
	expected := `"expected_state":"error"`
	a.do(t, "PATCH", step, `{"action_type":"reset_for_retry","reset_by":"ann","reason":"x",`+expected+`}`,
		"If-Match: "+match)
	act := last[tasker.StepAction](f)
	seen("step", act.IfMatch, act.ExpectedState)
	a.do(t, "POST", "/api/v1/dlq/"+taskID.String()+"/replay", `{`+expected+`}`, "If-Match: "+match)
	replay := last[operate.ReplayRequest](f)
	seen("replay", replay.IfMatch, replay.ExpectedState)
	a.do(t, "PATCH", "/v1/dlq/entry/"+caseID.String(), `{"resolution_notes":"x","expected_state":"pending"}`,
		"If-Match: "+match)
	update := last[operate.CaseUpdate](f)
	seen("case", update.IfMatch, update.ExpectedState)
	a.do(t, "DELETE", "/v1/tasks/"+taskID.String()+"?expected_state=error", "", "If-Match: "+match)
	cancel := last[tasker.CancelRequest](f)
	seen("cancel", cancel.IfMatch, cancel.ExpectedState)
	a.do(t, "DELETE", "/api/v1/tasks/"+taskID.String()+"?expected_state=error", "", "If-Match: "+match)
	queued := last[queueapi.QueueCancel](f)
	seen("cancel in the queue", queued.IfMatch, string(queued.ExpectedState))

	for name, body := range map[string]string{"Other": `"if_match":"\"error-8\""`,
		"Long": `"if_match":"` + strings.Repeat("a", 1025) + `"`} {
		got := a.do(t, "PATCH", step, `{"action_type":"reset_for_retry","reset_by":"ann","reason":"x",`+body+`}`,
			"If-Match: "+match)
		if got.status != 400 {
			t.Errorf("%s: answered %d %s, want 400", name, got.status, got.body)
		}
	}
}
