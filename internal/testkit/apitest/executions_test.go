package apitest_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

type execution struct {
	ID          uuid.UUID       `json:"id"`
	ActionRef   string          `json:"action_ref"`
	Status      string          `json:"status"`
	Parameters  json.RawMessage `json:"parameters"`
	Result      json.RawMessage `json:"result"`
	Worker      string          `json:"worker"`
	RetryCount  int             `json:"retry_count"`
	RetryReason string          `json:"retry_reason"`
}

func (s *server) execute(t *testing.T, body string) execution {
	t.Helper()
	var e execution
	s.must(t, "POST", "/api/v1/executions", body, &e)
	return e
}

func (s *server) executionOf(t *testing.T, id uuid.UUID) execution {
	t.Helper()
	var e execution
	s.must(t, "GET", "/api/v1/executions/"+id.String(), "", &e)
	return e
}

// claimed registers a worker of a handler and claims its next step.
func (s *server) claimed(t *testing.T, handler string, start bool) (uuid.UUID, protocol.Assignment) {
	t.Helper()
	w, err := protocol.Of(s.Client).RegisterWorker(s.ctx,
		protocol.WorkerRegistration{Name: "w-" + handler, Handlers: []string{handler}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := protocol.Of(s.Client).Poll(s.ctx, protocol.PollRequest{WorkerID: w.WorkerID, WaitMS: 5000, Start: start})
	if err != nil || len(got.Steps) != 1 {
		t.Fatalf("poll: %+v, %v", got, err)
	}
	return w.WorkerID, got.Steps[0]
}

// settleStep reports the outcome of a step.
func (s *server) settleStep(t *testing.T, worker uuid.UUID, a protocol.Assignment, r protocol.StepResult) {
	t.Helper()
	r.StepUUID, r.Token = a.StepUUID, a.Token
	answers, err := protocol.Of(s.Client).Settle(s.ctx,
		protocol.SettleRequest{WorkerID: worker, Results: []protocol.StepResult{r}})
	if err != nil || answers[0].Error != nil {
		t.Fatalf("settle: %+v, %v", answers, err)
	}
}

func TestExecutions(t *testing.T) { onEveryStore(t, testExecutions) }

func testExecutions(t *testing.T, s *server) {
	created := s.execute(t, `{"action_ref":"core.echo","parameters":{"message":"hi"},"max_retries":0,"idempotency_key":"k"}`)
	if created.Status != "scheduling" || created.ActionRef != "core.echo" {
		t.Fatalf("created as %+v", created)
	}
	again := s.execute(t, `{"action_ref":"core.echo","parameters":{"message":"hi"},"max_retries":0,"idempotency_key":"k"}`)
	if again.ID != created.ID {
		t.Errorf("the key made a second execution %s", again.ID)
	}
	worker, step := s.claimed(t, "core.echo", false)
	if got := s.executionOf(t, created.ID); got.Status != "scheduled" || !strings.HasPrefix(got.Worker, "w-core.echo") {
		t.Errorf("assigned: %+v", got)
	}
	if _, err := protocol.Of(s.Client).Start(s.ctx,
		protocol.StartRequest{WorkerID: worker, Steps: []protocol.LeaseRef{{StepUUID: step.StepUUID,
			Token: step.Token}}}); err != nil {
		t.Fatal(err)
	}
	if got := s.executionOf(t, created.ID); got.Status != "running" {
		t.Errorf("started: %+v", got)
	}
	no := false
	s.settleStep(t, worker, step, protocol.StepResult{Status: protocol.ResultFailed,
		Error: &tasker.Failure{Message: "no such host", Code: "DNS", Retryable: &no}})
	got := s.executionOf(t, created.ID)
	if got.Status != "failed" || !strings.Contains(string(got.Result), `"error":"no such host"`) {
		t.Errorf("failed: %+v %s", got, got.Result)
	}
	var retried execution
	s.must(t, "POST", "/api/v1/executions/"+created.ID.String()+"/retry", `{"reason":"fixed","reset_retry_count":true}`,
		&retried)
	if retried.Status != "requested" && retried.Status != "scheduling" || retried.RetryReason != "manual_retry" {
		t.Errorf("retried: %+v", retried)
	}
	worker, step = s.claimed(t, "core.echo", true)
	s.settleStep(t, worker, step, protocol.StepResult{Status: protocol.ResultCompleted, Result: json.RawMessage(`{"out":"hi"}`)})
	if got := s.executionOf(t, created.ID); got.Status != "completed" || string(got.Result) != `{"out":"hi"}` {
		t.Errorf("completed: %+v %s", got, got.Result)
	}

	if _, err := s.RegisterTemplate(s.ctx, tasker.TemplateSource{
		YAML: "name: core.flow\nversion: 1.0.0\nsteps:\n- {name: a, handler: fa}\n"}); err != nil {
		t.Fatal(err)
	}
	flow := s.execute(t, `{"action_ref":"core.flow"}`)
	if status, text := s.send(t, "POST", "/api/v1/executions", `{"action_ref":"core.flow","max_retries":1}`, nil); status !=
		400 || !strings.Contains(text, "/max_retries") {
		t.Errorf("retries of a template: %d %s", status, text)
	}
	later := s.execute(t, `{"action_ref":"core.later","run_at":"2999-01-01T00:00:00Z"}`)
	if later.Status != "requested" {
		t.Errorf("waiting: %+v", later)
	}
	var cancelled execution
	s.must(t, "POST", "/api/v1/executions/"+later.ID.String()+"/cancel", "", &cancelled)
	if cancelled.Status != "cancelled" {
		t.Errorf("cancelled: %+v", cancelled)
	}
	if status, text := s.send(t, "POST", "/api/v1/executions/"+later.ID.String()+"/retry", "", nil); status != 409 {
		t.Errorf("retry of a cancelled execution: %d %s", status, text)
	}
	s.checkExecutionLists(t, map[string][]uuid.UUID{
		"":                                    {later.ID, flow.ID, created.ID},
		"status=scheduling,completed":         {flow.ID, created.ID},
		"status=completed":                    {created.ID},
		"status=canceling":                    {},
		"status=failed":                       {},
		"action_ref=core.flow":                {flow.ID},
		"action_ref=core.*&limit=1":           {later.ID, flow.ID, created.ID},
		"action_ref=c*l*":                     {later.ID, flow.ID},
		"action_ref=core.*o&status=completed": {created.ID},
		"action_ref=*[.]*":                    {},
		"result_contains=%22hi%22":            {created.ID},
		"result_contains=%22ho%22":            {},
	})
	for query, at := range map[string]string{"status=asleep": "query.status", "limit=101": "query.limit",
		"cursor=x": "cursor"} {
		if status, text := s.send(t, "GET", "/api/v1/executions?"+query, "", nil); status != 400 ||
			!strings.Contains(text, at) {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
	var stats struct {
		Scheduling int `json:"scheduling"`
		Running    int `json:"running"`
	}
	s.must(t, "GET", "/api/v1/executions/stats", "", &stats)
	if stats.Scheduling > 3 || stats.Running > 1 { // up to a second old
		t.Errorf("counted as %+v", stats)
	}
	s.checkExecutionStream(t, created.ID, later.ID)
}

func (s *server) checkExecutionLists(t *testing.T, queries map[string][]uuid.UUID) {
	t.Helper()
	for query, want := range queries {
		got, cursor := []uuid.UUID{}, ""
		for range 20 {
			var page struct {
				Executions []execution `json:"executions"`
				NextCursor string      `json:"next_cursor"`
			}
			s.must(t, "GET", "/api/v1/executions?"+query+"&cursor="+url.QueryEscape(cursor), "", &page)
			for _, e := range page.Executions {
				got = append(got, e.ID)
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s selects %v, want %v", query, got, want)
		}
	}
}

// checkExecutionStream reads the stream of ended executions: it begins with their statuses, and ends.
func (s *server) checkExecutionStream(t *testing.T, completed, cancelled uuid.UUID) {
	t.Helper()
	_, text := s.send(t, "GET", fmt.Sprintf("/api/v1/executions/stream?until=settled&id=%s,%s", completed, cancelled), "",
		nil)
	for _, want := range []string{"event: execution.status", `"status":"completed"`, `"status":"cancelled"`,
		"event: stream.end", `"execution_id":"` + completed.String()} {
		if !strings.Contains(text, want) {
			t.Errorf("the stream has no %s:\n%s", want, text)
		}
	}
}

func TestFleet(t *testing.T) { onEveryStore(t, testFleet) }

func testFleet(t *testing.T, s *server) {
	w, err := protocol.Of(s.Client).RegisterWorker(s.ctx,
		protocol.WorkerRegistration{Name: "pod-7", Handlers: []string{"render"}})
	if err != nil {
		t.Fatal(err)
	}
	at := "/api/v1/workers/" + w.WorkerID.String()
	listed := func(query string) string {
		t.Helper()
		var page struct {
			Workers []struct {
				Name   string `json:"name"`
				Status string `json:"status"`
				Health string `json:"health"`
			} `json:"workers"`
		}
		s.must(t, "GET", "/api/v1/workers?"+query, "", &page)
		var parts []string
		for _, w := range page.Workers {
			parts = append(parts, w.Name+" "+w.Status+" "+w.Health)
		}
		return strings.Join(parts, ", ")
	}
	const pod = "pod-7 active healthy"
	for query, want := range map[string]string{"": pod, "role=sensor": "", "status=active&cordoned=false": pod,
		"status=inactive": "", "health=unhealthy": "", "cordoned=true": ""} {
		if got := listed(query); got != want {
			t.Errorf("%q lists %q, want %q", query, got, want)
		}
	}
	var cordoned struct {
		Cordoned bool   `json:"cordoned"`
		Reason   string `json:"cordon_reason"`
	}
	s.must(t, "POST", at+"/cordon", `{"reason":"bad disk"}`, &cordoned)
	if !cordoned.Cordoned || cordoned.Reason != "bad disk" || listed("cordoned=true") != pod {
		t.Errorf("cordoned: %+v, listed %q", cordoned, listed("cordoned=true"))
	}
	e := s.execute(t, `{"action_ref":"render"}`)
	if got, err := protocol.Of(s.Client).Poll(s.ctx,
		protocol.PollRequest{WorkerID: w.WorkerID}); err != nil || len(got.Steps) != 0 {
		t.Errorf("a cordoned worker gets %+v, %v", got, err)
	}
	s.must(t, "POST", at+"/uncordon", "", nil)
	if got, err := protocol.Of(s.Client).Poll(s.ctx,
		protocol.PollRequest{WorkerID: w.WorkerID, WaitMS: 5000}); err != nil ||
		len(got.Steps) != 1 || got.Steps[0].TaskUUID != e.ID {
		t.Errorf("after the cordon it gets %+v, %v", got, err)
	}
	if status, text := s.send(t, "GET", "/api/v1/workers?status=asleep", "", nil); status != 400 {
		t.Errorf("a status that does not exist: %d %s", status, text)
	}
}
