package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestSubmitOne(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	got := a.do(t, "POST", "/v1/tasks", `{"task_type":"noop","priority":7}`)
	if want := "/v1/tasks/" + taskID.String(); got.header.Get("Location") != want {
		t.Errorf("Location is %q, want %q", got.header.Get("Location"), want)
	}
	if p := last[tasker.SubmitRequest](f).Tasks[0].Priority; p != tasker.Level(7) {
		t.Errorf("priority is %q", p)
	}
	if got := a.do(t, "POST", "/v1/tasks", `{"name":"x","idempotency_key":"seen"}`); got.status != 200 ||
		got.header.Get("Location") != "" {
		t.Errorf("a task that existed answers %d with Location %q", got.status, got.header.Get("Location"))
	}
}

func TestErrorsAboutOneThingNameNoList(t *testing.T) {
	t.Parallel()
	refusal := &tasker.Error{Code: tasker.CodeInvalid, Message: "bad", Details: []tasker.Detail{
		{Location: "/tasks/0/context/amount", Message: "must be a number"}, {Location: "/tasks/01", Message: "elsewhere"}}}
	for name, f := range map[string]*fake{"Whole": {err: refusal}, "Receipt": {item: refusal}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newAPI(t, f, httpapi.Options{}).do(t, "POST", "/v1/tasks", `{"name":"x"}`)
			if p := got.problem(t); got.status != 400 || at(p) != "/context/amount /tasks/01" {
				t.Errorf("answer is %d at %q", got.status, at(p))
			}
		})
	}
	if refusal.Details[0].Location != "/tasks/0/context/amount" {
		t.Error("the backend's own error was changed")
	}
}

func TestRefusedSingles(t *testing.T) {
	t.Parallel()
	lease := `"step_uuid":"` + stepID.String() + `","token":"7"`
	worker := "/internal/workers/" + workerID.String()
	for name, c := range map[string]struct {
		method, path, body string
		code               tasker.Code
	}{
		"Result": {"POST", worker + "/result", `{` + lease + `,"status":"completed","result":1}`, tasker.CodeStaleToken},
		"Start":  {"POST", worker + "/start", `{` + lease + `}`, tasker.CodeStaleToken},
		"Cancel": {"DELETE", "/v1/tasks/" + taskID.String(), "", tasker.CodeWrongState},
		"Submit": {"POST", "/v1/tasks", `{"name":"x"}`, tasker.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, &fake{item: tasker.Errorf(c.code, "no")}, httpapi.Options{})
			got := a.do(t, c.method, c.path, c.body)
			if p := got.problem(t); got.status != 409 || p.Code != c.code {
				t.Errorf("answer is %d %s", got.status, got.body)
			}
		})
	}
	t.Run("InAListItIsAnItem", func(t *testing.T) {
		t.Parallel()
		a := newAPI(t, &fake{item: tasker.Errorf(tasker.CodeStaleToken, "no")}, httpapi.Options{})
		got := a.do(t, "POST", worker+"/result", `{"results":[{`+lease+`,"status":"completed"}]}`)
		if got.status != 200 || !strings.Contains(got.body, `"code":"stale_token"`) {
			t.Errorf("answer is %d %s", got.status, got.body)
		}
	})
}

func TestSingleForms(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	worker := "/internal/workers/" + workerID.String()
	lease := `"step_uuid":"` + stepID.String() + `","token":"7"`

	a.do(t, "POST", worker+"/start", `{`+lease+`}`)
	want := protocol.StartRequest{WorkerID: workerID, Steps: []protocol.LeaseRef{{StepUUID: stepID, Token: "7"}}}
	if diff := cmp.Diff(want, last[protocol.StartRequest](f)); diff != "" {
		t.Errorf("start (-want +got):\n%s", diff)
	}
	got := a.do(t, "POST", worker+"/result", `{`+lease+`,"status":"failed","error":{"message":"no"}}`)
	wantSettle := protocol.SettleRequest{WorkerID: workerID, Results: []protocol.StepResult{{
		StepUUID: stepID, Token: "7", Status: "failed", Error: &tasker.Failure{Message: "no"}}}}
	if diff := cmp.Diff(wantSettle, last[protocol.SettleRequest](f)); diff != "" || got.status != 200 {
		t.Errorf("%d %s (-want +got):\n%s", got.status, got.body, diff)
	}
	for _, verb := range []string{"poll", "heartbeat", "drain"} {
		if got := a.do(t, "POST", worker+"/"+verb, ""); got.status != 200 {
			t.Errorf("%s without a body answers %d %s", verb, got.status, got.body)
		}
	}
	if got := last[protocol.WorkerAct](f); got.WorkerID != workerID || got.Final {
		t.Errorf("drain is %+v", got)
	}
}

func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	a.do(t, "GET", "/v1/tasks/"+taskID.String()+"?wait_ms=9000000000000", "")
	if got := last[time.Duration](f); got != web.MaxWait {
		t.Errorf("wait is %v, want %v", got, web.MaxWait)
	}
	a.do(t, "POST", "/internal/workers/"+workerID.String()+"/poll", `{"wait_ms":86400000}`)
	if got := last[protocol.PollRequest](f); got.WaitMS != int(web.MaxWait.Milliseconds()) || got.WorkerID != workerID {
		t.Errorf("poll is %+v", got)
	}
}
