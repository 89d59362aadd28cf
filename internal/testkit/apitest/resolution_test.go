package apitest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
)

const fulfillment = `
name: fulfill_order
namespace_name: order_processing
version: "1.0"
steps:
  - {name: step_1, handler: first}
  - {name: step_2, handler: second, dependencies: [step_1], retry: {max_attempts: 3, backoff: none}}
  - {name: step_3, handler: third, dependencies: [step_2]}
`

// option is one of the three repairs of a stuck task.
type option struct {
	act      string           // body of the PATCH
	state    tasker.StepState // of step_2, when the task is complete
	attempts int
	consumed string // step_3's input from step_2
}

// TestResolutionWorkflow repairs a stuck task over HTTP, once for each act.
func TestResolutionWorkflow(t *testing.T) { onEveryStore(t, testResolutionWorkflow) }

func testResolutionWorkflow(t *testing.T, s *server) {
	var poolFixed atomic.Bool
	s.register(t, fulfillment)
	s.work(t, map[string]worker.Handler{
		"first": func(context.Context, *worker.Job) (any, error) { return 1, nil },
		"second": func(context.Context, *worker.Job) (any, error) {
			if poolFixed.Load() {
				return "by retry", nil
			}
			return nil, &tasker.Failure{Type: "PoolTimeout", Message: "database connection timeout", Code: "E17"}
		},
		"third": func(_ context.Context, job *worker.Job) (any, error) { return job.ParentResults["step_2"], nil },
	})
	for _, c := range []struct {
		name string
		option
	}{
		{"ResolveManually", option{state: tasker.StepResolvedManually, attempts: 3, consumed: `null`, act: `{
			"action_type": "resolve_manually", "resolved_by": "operator@example.com", "reason": "Non-critical validation step, bypassing"}`}},
		{"CompleteManually", option{state: tasker.StepComplete, attempts: 3,
			consumed: `{"validation_status":"passed","score":100}`, act: `{
			"action_type": "complete_manually",
			"completion_data": {"result": {"validation_status":"passed","score":100}, "metadata": {"manually_verified": true}},
			"reason": "Manual validation completed", "completed_by": "operator@example.com"}`}},
		{"ResetForRetry", option{state: tasker.StepComplete, attempts: 1, consumed: `"by retry"`, act: `{
			"action_type": "reset_for_retry", "reset_by": "operator@example.com",
			"reason": "Database connection pool fixed, resetting attempts for automatic retry"}`}},
	} {
		receipt := s.submit(t, tasker.TaskRequest{Name: "fulfill_order", Namespace: "order_processing",
			Context: json.RawMessage(`{"order":7}`)})
		s.settled(t, receipt, tasker.TaskError)
		poolFixed.Store(c.name == "ResetForRetry")
		t.Run(c.name, func(t *testing.T) { resolve(t, s, receipt.TaskUUID, c.option) })
	}
}

func get[T any](t *testing.T, s *server, path string) T {
	t.Helper()
	var out T
	if status, body := s.send(t, "GET", path, "", &out); status != 200 {
		t.Fatalf("GET %s is answered %d %s", path, status, body)
	}
	return out
}

// resolve is the operator, from the alert to the closed case.
func resolve(t *testing.T, s *server, task uuid.UUID, how option) {
	// 1. The most urgent case.
	queue := get[[]operate.QueuedCase](t, s, "/v1/dlq/investigation-queue?limit=100")
	if len(queue) != 1 || queue[0].TaskUUID != task || queue[0].Recovered || queue[0].CurrentState != tasker.TaskError ||
		queue[0].PriorityScore < 500 || queue[0].PriorityScore > 501 {
		t.Fatalf("the queue is %+v", queue)
	}

	// 2. Its snapshot.
	found := get[operate.Case](t, s, "/v1/dlq/task/"+task.String())
	var snapshot operate.CaseSnapshot
	if err := json.Unmarshal(found.Snapshot, &snapshot); err != nil {
		t.Fatal(err)
	}
	if found.CaseUUID != queue[0].CaseUUID || found.Reason != tasker.ReasonMaxRetries ||
		found.ResolutionStatus != tasker.CasePending {
		t.Errorf("the case is %+v", found)
	}
	if snapshot.TaskUUID != task || snapshot.Namespace != "order_processing" || snapshot.TaskName != "fulfill_order" ||
		string(snapshot.Context) != `{"order":7}` ||
		snapshot.Reason != tasker.ReasonMaxRetries || snapshot.Detail == "" || len(snapshot.Template) == 0 ||
		len(snapshot.Steps) != 3 {
		t.Errorf("the snapshot is %s", found.Snapshot)
	}
	stuck := snapshot.Steps[1]
	if stuck.Name != "step_2" || stuck.CurrentState != tasker.StepError || stuck.Attempts != 3 || stuck.MaxAttempts != 3 ||
		stuck.Worker != "tester" ||
		stuck.LastError == nil || stuck.LastError.Code != "E17" {
		t.Errorf("in the snapshot the step is %+v with %+v", stuck, stuck.LastError)
	}

	// 3, 4. The steps, and the failure of the one.
	steps := get[[]tasker.Step](t, s, "/v1/tasks/"+task.String()+"/workflow_steps")
	if steps[0].State != tasker.StepComplete || steps[1].State != tasker.StepError ||
		steps[2].State != tasker.StepPending {
		t.Errorf("the steps are %+v", steps)
	}
	path := "/v1/tasks/" + task.String() + "/workflow_steps/" + stuck.StepUUID.String()
	if step := get[tasker.Step](t, s, path); step.LastFailureAt == nil ||
		step.LastError.Message != "database connection timeout" {
		t.Errorf("the step is %+v", step)
	}

	// 5, 6. The pool is fixed, and the step repaired.
	if status, body := s.send(t, "PATCH", path, how.act, nil); status != 200 {
		t.Fatalf("the act is answered %d %s", status, body)
	}

	// 7. The task continues automatically.
	receipt := tasker.TaskReceipt{TaskUUID: task}
	await.Until(t, "the task to be complete", func() bool {
		now, err := s.Task(s.ctx, task, time.Second)
		return err == nil && now.State == tasker.TaskComplete
	})
	if step := s.step(t, receipt, "step_2"); step.State != how.state || step.Attempts != how.attempts {
		t.Errorf("step_2 is %s after %d attempts, want %s after %d", step.State, step.Attempts, how.state, how.attempts)
	}
	if step := s.step(t, receipt, "step_3"); string(step.Results) != how.consumed {
		t.Errorf("step_3 was given %s, want %s", step.Results, how.consumed)
	}
	queue = get[[]operate.QueuedCase](t, s, "/v1/dlq/investigation-queue?namespace=order_processing")
	if len(queue) != 1 || !queue[0].Recovered || queue[0].CurrentState != tasker.TaskComplete {
		t.Errorf("after the repair the queue is %+v", queue)
	}

	// 8. The operator records the finding.
	s.closeCase(t, found.CaseUUID, stuck.StepUUID)
	s.trail(t, task, found.CaseUUID, stuck.StepUUID)
}

func (s *server) closeCase(t *testing.T, id, step uuid.UUID) {
	t.Helper()
	entry := "/v1/dlq/entry/" + id.String()
	var updated operate.CaseUpdated
	status, body := s.send(t, "PATCH", entry, `{
		"resolution_status": "manually_resolved", "resolution_notes": "Fixed database connection pool configuration. Task resumed execution.",
		"resolved_by": "operator@example.com", "metadata": {
			"root_cause": "database_connection_timeout", "fixed_step_uuid": "`+step.String()+`", "infrastructure_fix": "increased_connection_pool_size"}}`, &updated)
	if status != 200 || !updated.Success || updated.CaseUUID != id {
		t.Fatalf("the update is answered %d %s", status, body)
	}
	closed := get[[]operate.Case](t, s, "/v1/dlq?resolution_status=manually_resolved&limit=1")[0]
	var metadata map[string]json.RawMessage
	if err := json.Unmarshal(closed.Metadata, &metadata); err != nil {
		t.Fatal(err)
	}
	if closed.CaseUUID != id || closed.ResolvedBy != "operator@example.com" || closed.ResolvedAt == nil ||
		closed.Snapshot != nil ||
		!strings.HasPrefix(closed.ResolutionNotes, "Fixed database") || closed.Recovery == nil ||
		closed.Recovery.State != tasker.TaskComplete || string(metadata["root_cause"]) != `"database_connection_timeout"` {
		t.Errorf("the closed case is %+v with %s", closed, closed.Metadata)
	}
	var refused tasker.Error
	status, body = s.send(t, "PATCH", entry, `{"resolution_status":"permanently_failed","resolved_by":"bob"}`, &refused)
	if status != 409 || refused.Code != tasker.CodeWrongState {
		t.Errorf("a resolved case is changed: %d %s", status, body)
	}
	if queue := get[[]operate.QueuedCase](t, s, "/v1/dlq/investigation-queue"); len(queue) != 0 {
		t.Errorf("the queue is %+v, want it empty", queue)
	}
}

func (s *server) trail(t *testing.T, task, id, step uuid.UUID) {
	t.Helper()
	acts := get[[]operate.AuditRecord](t, s, "/v1/tasks/"+task.String()+"/audit")
	if len(acts) != 2 || acts[0].No <= acts[1].No {
		t.Fatalf("the trail of the task is %+v", acts)
	}
	last, first := acts[0], acts[1]
	if last.Kind != "update_case" || last.Actor != "operator@example.com" || *last.CaseUUID != id ||
		last.Before != "pending" ||
		last.After != "manually_resolved" || !strings.Contains(string(last.Data), "increased_connection_pool_size") {
		t.Errorf("the last act is %+v", last)
	}
	if first.Actor != "operator@example.com" || *first.StepUUID != step || first.Before != "error" || first.Reason == "" {
		t.Errorf("the first act is %+v", first)
	}
	if got := get[[]operate.AuditRecord](t, s, "/v1/dlq/entry/"+id.String()+"/audit"); len(got) != 1 ||
		got[0].No != last.No {
		t.Errorf("the trail of the case is %+v", got)
	}
	page := get[[]operate.AuditRecord](t, s, fmt.Sprintf("/v1/audit?limit=1&below=%d", last.No))
	if len(page) != 1 || page[0].No != first.No {
		t.Errorf("the page below %d is %+v", last.No, page)
	}
}

// TestCaseByHand: opened, refused twice, closed, opened again; through the SDK.
func TestCaseByHand(t *testing.T) { onEveryStore(t, testCaseByHand) }

func testCaseByHand(t *testing.T, s *server) {
	receipt := s.submit(t, tasker.TaskRequest{TaskType: "nobody"})
	notFound, conflict, wrongState := &tasker.Error{Code: tasker.CodeNotFound}, &tasker.Error{Code: tasker.CodeConflict},
		&tasker.Error{Code: tasker.CodeWrongState}
	if _, err := s.CaseOfTask(s.ctx, receipt.TaskUUID); !errors.Is(err, notFound) {
		t.Errorf("a task without a case has %v", err)
	}
	opened, err := s.OpenCase(s.ctx, receipt.TaskUUID,
		operate.OpenCaseRequest{Reason: "customer calls", OpenedBy: "ann", Metadata: json.RawMessage(`{"ticket":1}`)})
	if err != nil || opened.Reason != tasker.ReasonManual || opened.ResolutionStatus != tasker.CasePending ||
		!strings.Contains(string(opened.Metadata), `"ticket":1`) {
		t.Fatalf("opened %+v, %v", opened, err)
	}
	if _, err := s.OpenCase(s.ctx, receipt.TaskUUID,
		operate.OpenCaseRequest{Reason: "again", OpenedBy: "bob"}); !errors.Is(err, conflict) {
		t.Errorf("a second case is answered %v", err)
	}
	if _, err := s.OpenCase(s.ctx, uuid.New(), operate.OpenCaseRequest{Reason: "what", OpenedBy: "bob"}); !errors.Is(err,
		notFound) {
		t.Errorf("a case of no task is answered %v", err)
	}
	for name, refused := range map[string]operate.CaseUpdate{
		"NoActor":     {ResolutionStatus: tasker.CaseCancelled},
		"Nothing":     {ResolvedBy: "ann"},
		"NotAnObject": {Metadata: json.RawMessage(`[1]`)},
	} {
		if _, err := s.UpdateCase(s.ctx, opened.CaseUUID, refused); tasker.ErrorCode(err) != tasker.CodeInvalid {
			t.Errorf("%s: the update is answered %v", name, err)
		}
	}
	why := "not a duplicate after all"
	for _, step := range []struct {
		name   string
		update operate.CaseUpdate
		want   error
	}{
		{"Cancel", operate.CaseUpdate{ResolutionStatus: tasker.CaseCancelled, ResolvedBy: "ann"}, nil},
		{"Final", operate.CaseUpdate{Metadata: json.RawMessage(`{"n":1}`), ResolutionNotes: &why, ResolvedBy: "ann"},
			wrongState},
		{"Reopen", operate.CaseUpdate{Reopen: true, ResolutionNotes: &why, ResolvedBy: "bob"}, nil},
		{"ReopenTwice", operate.CaseUpdate{Reopen: true, ResolutionNotes: &why, ResolvedBy: "bob"}, wrongState},
	} {
		if _, err := s.UpdateCase(s.ctx, opened.CaseUUID, step.update); !errors.Is(err, step.want) {
			t.Errorf("%s is answered %v, want %v", step.name, err, step.want)
		}
	}
	got, err := s.CaseOfTask(s.ctx, receipt.TaskUUID)
	if err != nil || got.ResolutionStatus != tasker.CasePending || got.ResolvedAt != nil || got.ResolutionNotes != why {
		t.Errorf("opened again it is %+v, %v", got, err)
	}
	stats, err := s.CaseStats(s.ctx, operate.CaseFilter{Reason: tasker.ReasonManual})
	if err != nil || len(stats) != 1 || stats[0].TotalEntries != 1 || stats[0].Pending != 1 ||
		stats[0].AvgResolutionTimeMinutes != nil {
		t.Errorf("the stats are %+v, %v", stats, err)
	}
	acts, err := s.Audit(s.ctx, operate.AuditFilter{CaseUUID: opened.CaseUUID})
	if err != nil || len(acts) != 3 || acts[0].Kind != "reopen_case" || acts[0].Actor != "bob" ||
		acts[2].Kind != "open_case" || acts[2].Reason != "customer calls" {
		t.Errorf("the trail is %+v, %v", acts, err)
	}
}
