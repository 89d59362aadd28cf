package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker/protocol"
)

func dial(t *testing.T, backend httpapi.Backend, opts httpapi.Options, key string) *tasker.Client {
	t.Helper()
	server := httptest.NewServer(httpapi.New(backend, opts))
	client, err := remote.Dial(server.URL, &remote.Options{APIKey: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(); server.Close() })
	return client
}

type everything interface {
	protocol.Backend
	operate.CaseBackend
	operate.FailureBackend
	queueapi.Backend
	Audit(ctx context.Context, filter operate.AuditFilter) ([]operate.AuditRecord, error)
}

type far struct {
	protocol.Backend
	operators
	queue
}

type (
	operators = operate.Backend
	queue     = queueapi.Backend
)

func verbs() map[string]func(context.Context, everything) (any, error) {
	type ctx = context.Context
	type backend = everything
	run := true
	return map[string]func(ctx, backend) (any, error){
		"SubmitOne": func(c ctx, b backend) (any, error) {
			return b.SubmitTasks(c,
				tasker.SubmitRequest{Tasks: []tasker.TaskRequest{{Name: "x", Context: json.RawMessage(`{"a":1}`)}}})
		},
		"SubmitMany": func(c ctx, b backend) (any, error) {
			return b.SubmitTasks(c,
				tasker.SubmitRequest{Tasks: []tasker.TaskRequest{{Name: "x", Priority: tasker.High},
					{TaskType: "y", RunAt: &noon}}})
		},
		"Task": func(c ctx, b backend) (any, error) { return b.Task(c, taskID, 0) },
		"Tasks": func(c ctx, b backend) (any, error) {
			return b.Tasks(c, tasker.TaskFilter{States: []tasker.TaskState{tasker.TaskError, tasker.TaskComplete},
				CreatedAfter: &noon})
		},
		"LastPage":    func(c ctx, b backend) (any, error) { return b.Tasks(c, tasker.TaskFilter{Cursor: "end"}) },
		"StepLogs":    func(c ctx, b backend) (any, error) { return b.StepLogs(c, taskID, stepID) },
		"TaskHistory": func(c ctx, b backend) (any, error) { return b.TaskHistory(c, taskID) },
		"CancelTasks": func(c ctx, b backend) (any, error) {
			return b.CancelTasks(c, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{taskID}, Reason: "late"})
		},
		"EditContext": func(c ctx, b backend) (any, error) {
			seen := 0
			return b.EditContext(c, taskID, tasker.EditContextRequest{Merge: json.RawMessage(`{"a":2}`), Reason: "typo",
				EditedBy: "ann", ExpectedVersion: &seen})
		},
		"UpdateCases": func(c ctx, b backend) (any, error) {
			return b.UpdateCases(c,
				operate.BulkCaseUpdate{Filter: operate.CaseFilter{CaseUUIDs: []uuid.UUID{caseID}, After: noon},
					Update:   operate.CaseUpdate{ResolutionStatus: tasker.CaseManuallyResolved, ResolvedBy: "ann"},
					BulkPage: operate.BulkPage{DryRun: true, Limit: 7}})
		},
		"ActOnCases": func(c ctx, b backend) (any, error) {
			return b.ActOnCases(c, operate.BulkStepAction{Filter: operate.CaseFilter{Reason: tasker.ReasonStaleness},
				Step:   "load",
				Action: tasker.StepAction{ActionType: tasker.ResetForRetry, ResetBy: "ann", Reason: "fixed"}})
		},
		"ExplainTask": func(c ctx, b backend) (any, error) { return b.ExplainTask(c, taskID) },
		"Steps":       func(c ctx, b backend) (any, error) { return b.Steps(c, taskID) },
		"Step":        func(c ctx, b backend) (any, error) { return b.Step(c, taskID, stepID) },
		"ActOnStep": func(c ctx, b backend) (any, error) {
			return b.ActOnStep(c, taskID, stepID, tasker.StepAction{ActionType: tasker.CompleteManually, CompletedBy: "ann",
				Reason:         "checked",
				CompletionData: &tasker.CompletionData{Result: json.RawMessage(`{"ok":true}`)}})
		},
		"RegisterTemplate": func(c ctx, b backend) (any, error) {
			return b.RegisterTemplate(c, tasker.TemplateSource{YAML: "name: x", Filename: "x.yaml"})
		},
		"Templates": func(c ctx, b backend) (any, error) {
			return b.Templates(c, tasker.TemplateFilter{Namespace: "default"})
		},
		"Template":        func(c ctx, b backend) (any, error) { return b.Template(c, "default", "a b/c", "") },
		"TemplateVersion": func(c ctx, b backend) (any, error) { return b.Template(c, "default", "import", "1.0.0") },
		"RegisterWorker": func(c ctx, b backend) (any, error) {
			return b.RegisterWorker(c, protocol.WorkerRegistration{Namespaces: []string{"default"}, Capacity: 5})
		},
		"Workers": func(c ctx, b backend) (any, error) { return b.Workers(c) },
		"Poll": func(c ctx, b backend) (any, error) {
			return b.Poll(c, protocol.PollRequest{WorkerID: workerID, Capacity: 3, Start: run})
		},
		"Start": func(c ctx, b backend) (any, error) {
			return b.Start(c,
				protocol.StartRequest{WorkerID: workerID, Steps: []protocol.LeaseRef{{StepUUID: stepID, Token: "7"}}})
		},
		"Progress": func(c ctx, b backend) (any, error) {
			return b.Progress(c, protocol.ProgressReport{WorkerID: workerID, StepUUID: stepID, Token: "7", ProgressPercent: 50})
		},
		"SettleOne": func(c ctx, b backend) (any, error) {
			return b.Settle(c, protocol.SettleRequest{WorkerID: workerID,
				Results: []protocol.StepResult{{StepUUID: stepID, Token: "7", Status: "completed"}}})
		},
		"SettleMany": func(c ctx, b backend) (any, error) {
			return b.Settle(c, protocol.SettleRequest{WorkerID: workerID, Results: []protocol.StepResult{
				{StepUUID: stepID, Token: "7", Status: "failed", Error: cannedFailure()},
				{StepUUID: stepID, Token: "8", Status: "snoozed", SnoozeSeconds: 1.5}}})
		},
		"HeartbeatAll": func(c ctx, b backend) (any, error) { return b.Heartbeat(c, protocol.Heartbeat{WorkerID: workerID}) },
		"HeartbeatNone": func(c ctx, b backend) (any, error) {
			return b.Heartbeat(c, protocol.Heartbeat{WorkerID: workerID, Steps: []protocol.LeaseRef{}})
		},
		"EnqueueOne": func(c ctx, b backend) (any, error) {
			return b.EnqueueTasks(c,
				queueapi.EnqueueRequest{Tasks: []queueapi.EnqueueTask{
					{TaskType: "x", Parameters: json.RawMessage(`{"a":1}`), RequiredCapabilities: []string{"gpu"}}}})
		},
		"EnqueueMany": func(c ctx, b backend) (any, error) {
			return b.EnqueueTasks(c,
				queueapi.EnqueueRequest{Tasks: []queueapi.EnqueueTask{{TaskType: "x", Priority: tasker.High, UserID: "ann"},
					{TaskType: "y", RunAt: &noon}}})
		},
		"QueueTask":        func(c ctx, b backend) (any, error) { return b.QueueTask(c, taskID, false) },
		"QueueTaskHistory": func(c ctx, b backend) (any, error) { return b.QueueTask(c, taskID, true) },
		"CancelQueueTask": func(c ctx, b backend) (any, error) {
			return b.CancelQueueTask(c, taskID, queueapi.QueueCancel{CancelledBy: "ann", Reason: "late"})
		},
		"QueueStats": func(c ctx, b backend) (any, error) { return b.QueueStats(c, queueapi.QueueFilter{}) },
		"QueueStatsOf": func(c ctx, b backend) (any, error) {
			return b.QueueStats(c, queueapi.QueueFilter{Namespaces: []string{"a", "b c"}})
		},
		"Routes": func(c ctx, b backend) (any, error) { return b.Routes(c, queueapi.RouteFilter{}) },
		"RoutesOf": func(c ctx, b backend) (any, error) {
			return b.Routes(c, queueapi.RouteFilter{Namespaces: []string{"a", "b c"}, Show: queueapi.ShowStuck, Limit: 7,
				Cursor: "0-1-2"})
		},
		"Drain": func(c ctx, b backend) (any, error) {
			return b.Drain(c, protocol.WorkerAct{WorkerID: workerID, Final: true})
		},
	}
}

// TestDialIsTheBackend: every verb of the SDK passes on the same request and answer as the Backend behind the server.
func TestDialIsTheBackend(t *testing.T) {
	t.Parallel()
	for name, verb := range verbs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near, behind := &fake{}, &fake{}
			want, err := verb(t.Context(), near)
			if err != nil {
				t.Fatal(err)
			}
			c := dial(t, behind, httpapi.Options{}, "")
			got, err := verb(t.Context(), far{protocol.Of(c), operate.Of(c), queueapi.Of(c)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, emptyIsNil, unmarked); diff != "" {
				t.Errorf("answer (-near +far):\n%s", diff)
			}
			if diff := cmp.Diff(near.asked, behind.asked, ignoreDefaults); diff != "" {
				t.Errorf("request (-near +far):\n%s", diff)
			}
		})
	}
}

var emptyIsNil = cmp.Transformer("Tasks", func(p tasker.TaskPage) []any {
	return []any{len(p.Tasks), cursorMark.ReplaceAllString(p.NextCursor, "")}
})

// cursorMark is the server's suffix of a cursor.
var cursorMark = regexp.MustCompile(`~[0-9a-f]{8}$`)

var unmarked = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".NextCursor" },
	cmp.Transformer("Cursor", func(s string) string { return cursorMark.ReplaceAllString(s, "") }))

// The server fills in the page size, and the SDK sends single tasks with item_errors.
var ignoreDefaults = cmp.FilterPath(func(p cmp.Path) bool {
	last := p.Last().String()
	return last == ".Limit" || last == ".ItemErrors"
}, cmp.Ignore())

func TestDialKeepsErrors(t *testing.T) {
	t.Parallel()
	for _, kind := range web.ProblemKinds() {
		t.Run(string(kind.Code), func(t *testing.T) {
			t.Parallel()
			sent := &tasker.Error{Code: kind.Code, Message: "what", Hint: "do this",
				Details: []tasker.Detail{{Location: "/a~1b/0", Message: "where"}}}
			if kind.Status == 429 || kind.Status == 503 {
				sent.RetryAfter = 7 * time.Second
			}
			client := dial(t, &fake{err: sent}, httpapi.Options{}, "")
			for name, verb := range verbs() {
				_, err := verb(t.Context(), far{protocol.Of(client), operate.Of(client), queueapi.Of(client)})
				if tasker.ErrorCode(err) != kind.Code {
					t.Errorf("%s: the error is %v", name, err)
					continue
				}
				if got := err.(*tasker.Error); kind.Code != tasker.CodeInternal && cmp.Diff(sent, got) != "" {
					t.Errorf("%s: the error is %+v, want %+v", name, got, sent)
				}
			}
		})
	}
}

func TestDialWithKey(t *testing.T) {
	t.Parallel()
	secret, hash := access.Generate()
	ring, err := access.New([]access.Key{{Name: "k", SHA256: hash, Permissions: []string{"submit"}}})
	if err != nil {
		t.Fatal(err)
	}
	client := dial(t, &fake{}, httpapi.Options{Front: web.New(web.Options{Keys: ring})}, secret)
	if _, err := client.Submit(t.Context(), tasker.TaskRequest{Name: "x"}); err != nil {
		t.Errorf("Submit = %v", err)
	}
	if _, err := protocol.Of(client).Workers(t.Context()); tasker.ErrorCode(err) != tasker.CodeForbidden {
		t.Errorf("Workers = %v", err)
	}
	stranger := dial(t, &fake{}, httpapi.Options{Front: web.New(web.Options{Keys: ring})}, "")
	if _, err := stranger.Submit(t.Context(), tasker.TaskRequest{Name: "x"}); tasker.ErrorCode(
		err) != tasker.CodeUnauthenticated {
		t.Errorf("Submit without a key = %v", err)
	}
}
