package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dial(t *testing.T, h http.HandlerFunc, opts *remote.Options) *tasker.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	client, err := remote.Dial(server.URL+"/", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func reply(w http.ResponseWriter, status int, body string) {
	kind := "application/json"
	if status >= 400 {
		kind = "application/problem+json"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func TestDialRefusesAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"", "localhost:8080", "ftp://host", "http://", "http://us er@host", "http://u:secret@host", "http://host?a=b",
		"http://host#f", "://",
	} {
		_, err := remote.Dial(address, nil)
		if tasker.ErrorCode(err) != tasker.CodeInvalid {
			t.Errorf("Dial(%q) = %v, want CodeInvalid", address, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

type seen struct {
	method, uri, body string
}

// TestRoutes: every method of Backend passes its arguments to its route and returns the response.
func TestRoutes(t *testing.T) {
	t.Parallel()
	var (
		ctx  = t.Context()
		a    = uuid.MustParse("00000000-0000-0000-0000-00000000000a")
		b    = uuid.MustParse("00000000-0000-0000-0000-00000000000b")
		at   = time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
		task = "/v1/tasks/" + a.String()
		me   = "/internal/workers/" + a.String()
	)
	for name, tc := range map[string]struct {
		call   func(*tasker.Client) (any, error)
		want   seen
		answer string
		result string
	}{
		"SubmitOne": {
			func(c *tasker.Client) (any, error) {
				return c.Submit(ctx, tasker.TaskRequest{TaskType: "x", Context: json.RawMessage(`{"a":1}`)})
			},
			seen{"POST", "/v1/tasks/batch", `{"tasks":[{"task_type":"x","context":{"a":1}}],"item_errors":true}`},
			`{"results":[{"task_uuid":"` + a.String() + `","state":"pending","created":true}]}`, `"created":true`},
		"SubmitMany": {
			func(c *tasker.Client) (any, error) {
				return c.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: []tasker.TaskRequest{{Name: "x"}, {Name: "y"}}})
			},
			seen{"POST", "/v1/tasks/batch", `{"tasks":[{"name":"x"},{"name":"y"}]}`},
			`{"results":[{"created":true},{"created":false}]}`, `"created":false`},
		"Task": {
			func(c *tasker.Client) (any, error) { return c.Task(ctx, a, 0) },
			seen{"GET", task, ""}, `{"name":"n"}`, `"name":"n"`},
		"TaskWait": {
			func(c *tasker.Client) (any, error) { return c.Task(ctx, a, 1500*time.Millisecond) },
			seen{"GET", task + "?wait_ms=1500", ""}, `{"name":"n"}`, `"name":"n"`},
		"Tasks": {
			func(c *tasker.Client) (any, error) {
				return c.Tasks(ctx, tasker.TaskFilter{
					States: []tasker.TaskState{tasker.TaskError, tasker.TaskComplete}, Namespace: "n", Name: "a&b", Version: "1",
					Tag: "t", CorrelationID: "c", Priority: tasker.High, CreatedAfter: &at, CreatedBefore: &at, Limit: 7, Cursor: "x",
				})
			},
			seen{"GET",
				"/v1/tasks?correlation_id=c&created_after=2026-01-02T02%3A04%3A05.000000006Z&created_before=2026-01-02T02%3A04%3A05.000000006Z" +
					"&cursor=x&limit=7&name=a%26b&namespace=n&priority=high&state=error&state=complete&tag=t&version=1", ""},
			`{"tasks":[{"name":"n"}],"next_cursor":"more"}`, `"next_cursor":"more"`},
		"TasksAll": {
			func(c *tasker.Client) (any, error) { return c.Tasks(ctx, tasker.TaskFilter{}) },
			seen{"GET", "/v1/tasks", ""}, `{"tasks":[]}`, `"tasks":[]`},
		"History": {
			func(c *tasker.Client) (any, error) { return c.TaskHistory(ctx, a) },
			seen{"GET", task + "/history", ""}, `{"transitions":[{"to_state":"pending"}]}`, `"to_state":"pending"`},
		"Explain": {
			func(c *tasker.Client) (any, error) { return c.ExplainTask(ctx, a) },
			seen{"GET", task + "/explain", ""}, `{"summary":"waits"}`, `"summary":"waits"`},
		"Cancel": {
			func(c *tasker.Client) (any, error) {
				return c.CancelTasks(ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{a}, CancelledBy: "me", Reason: "r"})
			},
			seen{"POST", "/v1/tasks/cancel", `{"task_uuids":["` + a.String() + `"],"cancelled_by":"me","reason":"r"}`},
			`{"results":[{"error":{"code":"wrong_state","message":"m"}}]}`, `"wrong_state"`},
		"Enqueue": {
			func(c *tasker.Client) (any, error) {
				return queueapi.Of(c).EnqueueTasks(ctx, queueapi.EnqueueRequest{Tasks: []queueapi.EnqueueTask{
					{TaskType: "h", Priority: tasker.High, RequiredCapabilities: []string{"gpu"}}}})
			},
			seen{"POST", "/api/v1/tasks", `{"task_type":"h","priority":"high","required_capabilities":["gpu"]}`},
			`{"task_id":"` + a.String() +
				`","status":"queued","position_in_queue":7,"queue_score":1.5,"estimated_wait_seconds":null}`,
			`"position_in_queue":7`},
		"EnqueueMany": {
			func(c *tasker.Client) (any, error) {
				return queueapi.Of(c).EnqueueTasks(ctx,
					queueapi.EnqueueRequest{Tasks: []queueapi.EnqueueTask{{TaskType: "h"}, {TaskType: "i"}}, Caller: "somebody"})
			},
			seen{"POST", "/api/v1/tasks/batch", `{"tasks":[{"task_type":"h"},{"task_type":"i"}]}`},
			`{"results":[{"status":"queued"},{"status":"queued"}]}`, `"status":"queued"`},
		"QueueTask": {
			func(c *tasker.Client) (any, error) { return queueapi.Of(c).QueueTask(ctx, a, true) },
			seen{"GET", "/api/v1/tasks/" + a.String() + "?include_history=true", ""},
			`{"status":"executing","queue_score":null}`, `"executing"`},
		"QueueCancel": {
			func(c *tasker.Client) (any, error) {
				return queueapi.Of(c).CancelQueueTask(ctx, a, queueapi.QueueCancel{CancelledBy: "me", Reason: "r&r"})
			},
			seen{"DELETE", "/api/v1/tasks/" + a.String() + "?cancelled_by=me&reason=r%26r", ""},
			`{"status":"cancelled","worker_notified":true}`, `"worker_notified":true`},
		"QueueStats": {
			func(c *tasker.Client) (any, error) {
				return queueapi.Of(c).QueueStats(ctx, queueapi.QueueFilter{Namespaces: []string{"a", "b"}})
			},
			seen{"GET", "/api/v1/queue/stats?namespace=a&namespace=b", ""}, `{"queue":{"total_depth":3}}`, `"total_depth":3`},
		"Steps": {
			func(c *tasker.Client) (any, error) { return c.Steps(ctx, a) },
			seen{"GET", task + "/workflow_steps?include=results", ""}, `[{"name":"one"},{"name":"two"}]`, `"name":"two"`},
		"Step": {
			func(c *tasker.Client) (any, error) { return c.Step(ctx, a, b) },
			seen{"GET", task + "/workflow_steps/" + b.String(), ""}, `{"name":"one"}`, `"name":"one"`},
		"Act": {
			func(c *tasker.Client) (any, error) {
				return c.ActOnStep(ctx, a, b, tasker.StepAction{ActionType: tasker.ResetForRetry, ResetBy: "me", Reason: "r"})
			},
			seen{"PATCH", task + "/workflow_steps/" + b.String(),
				`{"action_type":"reset_for_retry","reset_by":"me","reason":"r"}`},
			`{"current_state":"pending"}`, `"current_state":"pending"`},
		"Cases": {
			func(c *tasker.Client) (any, error) {
				return operate.Of(c).Cases(ctx, operate.CaseFilter{
					ResolutionStatus: tasker.CasePending, Reason: tasker.ReasonManual, Namespace: "n", TaskName: "a&b", After: at,
					Before: at, Limit: 7, Offset: 14,
				})
			},
			seen{"GET", "/v1/dlq?after=2026-01-02T02%3A04%3A05.000000006Z&before=2026-01-02T02%3A04%3A05.000000006Z" +
				"&dlq_reason=manual_dlq&limit=7&namespace=n&offset=14&resolution_status=pending&task_name=a%26b", ""},
			`[{"dlq_reason":"manual_dlq"}]`, `"manual_dlq"`},
		"CasesAll": {
			func(c *tasker.Client) (any, error) { return operate.Of(c).Cases(ctx, operate.CaseFilter{}) },
			seen{"GET", "/v1/dlq", ""}, `[]`, `[]`},
		"FailedTasks": {
			func(c *tasker.Client) (any, error) {
				no := false
				return operate.Of(c).FailedTasks(ctx, operate.FailedTaskFilter{ResolutionStatus: tasker.CasePending,
					Reason: tasker.ReasonMaxRetries, Fingerprint: "a b",
					Retryable: &no, Namespace: "n", TaskType: "x", After: at, Before: at, Limit: 7, Cursor: b.String()})
			},
			seen{"GET",
				"/api/v1/dlq?after=2026-01-02T02%3A04%3A05.000000006Z&before=2026-01-02T02%3A04%3A05.000000006Z&cursor=" +
					b.String() +
					"&error_pattern=a+b&failure_reason=max_retries_exceeded&limit=7&namespace=n&resolution_status=pending&retryable=false&task_type=x", ""},
			`{"tasks":[{"error_pattern":"a b"}],"total_count":1}`, `"total_count":1`},
		"FailureReport": {
			func(c *tasker.Client) (any, error) { return operate.Of(c).FailureReport(ctx, "n") },
			seen{"GET", "/api/v1/dlq/patterns?namespace=n", ""}, `{"replayable_count":7}`, `"replayable_count":7`},
		"ReplayTask": {
			func(c *tasker.Client) (any, error) {
				return operate.Of(c).ReplayTask(ctx, a, operate.ReplayRequest{ResetRetryCount: true, NewPriority: tasker.High,
					Reason: "r", ReplayedBy: "me"})
			},
			seen{"POST", "/api/v1/dlq/" + a.String() + "/replay",
				`{"reset_retry_count":true,"new_priority":"high","reason":"r","replayed_by":"me"}`},
			`{"replay_count":2}`, `"replay_count":2`},
		"CaseOfTask": {
			func(c *tasker.Client) (any, error) { return operate.Of(c).CaseOfTask(ctx, a) },
			seen{"GET", "/v1/dlq/task/" + a.String(), ""}, `{"task_snapshot":{"a":1}}`, `"task_snapshot":{"a":1}`},
		"OpenCase": {
			func(c *tasker.Client) (any, error) {
				return operate.Of(c).OpenCase(ctx, a, operate.OpenCaseRequest{Reason: "r", OpenedBy: "me",
					Metadata: json.RawMessage(`{"t":1}`)})
			},
			seen{"POST", "/v1/dlq/task/" + a.String(), `{"reason":"r","opened_by":"me","metadata":{"t":1}}`},
			`{"dlq_reason":"manual_dlq"}`, `"manual_dlq"`},
		"UpdateCase": {
			func(c *tasker.Client) (any, error) {
				notes := "found"
				return operate.Of(c).UpdateCase(ctx, b, operate.CaseUpdate{ResolutionStatus: tasker.CaseManuallyResolved,
					ResolutionNotes: &notes, ResolvedBy: "me"})
			},
			seen{"PATCH", "/v1/dlq/entry/" + b.String(),
				`{"resolution_status":"manually_resolved","resolution_notes":"found","resolved_by":"me"}`},
			`{"success":true,"message":"m"}`, `"success":true`},
		"ReopenCase": {
			func(c *tasker.Client) (any, error) {
				return operate.Of(c).UpdateCase(ctx, b, operate.CaseUpdate{ResolvedBy: "me", Reopen: true})
			},
			seen{"PATCH", "/v1/dlq/entry/" + b.String(), `{"resolved_by":"me","reopen":true}`}, `{"success":true,"message":"m"}`,
			`"success":true`},
		"CaseStats": {
			func(c *tasker.Client) (any, error) {
				return operate.Of(c).CaseStats(ctx, operate.CaseFilter{Namespace: "n", Limit: 5, Offset: 5})
			},
			seen{"GET", "/v1/dlq/stats?namespace=n", ""}, `[{"dlq_reason":"staleness_timeout","pending":45}]`, `"pending":45`},
		"InvestigationQueue": {
			func(c *tasker.Client) (any, error) {
				return operate.Of(c).InvestigationQueue(ctx, operate.CaseFilter{Limit: 100})
			},
			seen{"GET", "/v1/dlq/investigation-queue?limit=100", ""}, `[{"priority_score":510.5}]`, `510.5`},
		"Staleness": {
			func(c *tasker.Client) (any, error) {
				return operate.Of(c).Staleness(ctx, operate.StalenessFilter{Health: operate.Warning, Namespace: "n", TaskName: "x",
					Limit: 3})
			},
			seen{"GET", "/v1/dlq/staleness?health_status=warning&limit=3&namespace_name=n&task_name=x", ""},
			`[{"health_status":"warning"}]`, `"warning"`},
		"DetectStaleness": {
			func(c *tasker.Client) (any, error) {
				return operate.Of(c).DetectStaleness(ctx, operate.DetectRequest{DryRun: true, BatchSize: 5})
			},
			seen{"POST", "/v1/dlq/staleness/detect", `{"dry_run":true,"batch_size":5}`}, `[{"moved_to_dlq":true}]`,
			`"moved_to_dlq":true`},
		"Audit": {
			func(c *tasker.Client) (any, error) {
				return operate.Of(c).Audit(ctx, operate.AuditFilter{TaskUUID: a, CaseUUID: b, Actor: "me", Kind: "cancel",
					After: at, Before: at, Limit: 5, Below: 99})
			},
			seen{"GET",
				"/v1/audit?actor=me&after=2026-01-02T02%3A04%3A05.000000006Z&before=2026-01-02T02%3A04%3A05.000000006Z&below=99" +
					"&dlq_entry_uuid=" + b.String() + "&kind=cancel&limit=5&task_uuid=" + a.String(), ""}, `[{"no":98}]`, `"no":98`},
		"RegisterTemplate": {
			func(c *tasker.Client) (any, error) {
				return c.RegisterTemplate(ctx, tasker.TemplateSource{YAML: "name: x", Filename: "x.yaml"})
			},
			seen{"POST", "/v1/templates", `{"yaml":"name: x","filename":"x.yaml"}`}, `{"name":"x","created":true}`,
			`"created":true`},
		"Templates": {
			func(c *tasker.Client) (any, error) {
				return c.Templates(ctx, tasker.TemplateFilter{Namespace: "n", Name: "x", Limit: 3, Cursor: "c"})
			},
			seen{"GET", "/v1/templates?cursor=c&limit=3&name=x&namespace_name=n", ""}, `{"templates":[{"name":"x"}]}`,
			`"name":"x"`},
		"Template": {
			func(c *tasker.Client) (any, error) { return c.Template(ctx, "a/b", "x y", "1.0") },
			seen{"GET", "/v1/templates/a%2Fb/x%20y/1.0", ""}, `{"name":"x y"}`, `"name":"x y"`},
		"TemplateLatest": {
			func(c *tasker.Client) (any, error) { return c.Template(ctx, "", "x", "") },
			seen{"GET", "/v1/templates/default/x", ""}, `{"name":"x"}`, `"name":"x"`},
		"RegisterWorker": {
			func(c *tasker.Client) (any, error) {
				return protocol.Of(c).RegisterWorker(ctx, protocol.WorkerRegistration{Name: "w", Capacity: 3})
			},
			seen{"POST", "/internal/workers/register", `{"name":"w","capacity":3}`}, `{"worker_id":"` + a.String() + `"}`,
			a.String()},
		"Workers": {
			func(c *tasker.Client) (any, error) { return protocol.Of(c).Workers(ctx) },
			seen{"GET", "/internal/workers", ""}, `{"workers":[{"name":"w"}]}`, `"name":"w"`},
		"Poll": {
			func(c *tasker.Client) (any, error) {
				return protocol.Of(c).Poll(ctx, protocol.PollRequest{WorkerID: a, Capacity: 2, WaitMS: 10, Start: true})
			},
			seen{"POST", me + "/poll", `{"capacity":2,"wait_ms":10,"start":true}`},
			`{"steps":[{"step_name":"s"}],"should_drain":true}`, `"should_drain":true`},
		"Start": {
			func(c *tasker.Client) (any, error) {
				return protocol.Of(c).Start(ctx,
					protocol.StartRequest{WorkerID: a, Steps: []protocol.LeaseRef{{StepUUID: b, Token: "4"}}})
			},
			seen{"POST", me + "/start", `{"steps":[{"step_uuid":"` + b.String() + `","token":"4"}]}`},
			`{"leases":[{"status":"held"}]}`, `"held"`},
		"Progress": {
			func(c *tasker.Client) (any, error) {
				return protocol.Of(c).Progress(ctx,
					protocol.ProgressReport{WorkerID: a, StepUUID: b, Token: "4", ProgressPercent: 50})
			},
			seen{"POST", me + "/progress", `{"step_uuid":"` + b.String() + `","token":"4","progress_percent":50}`},
			`{"status":"lost"}`, `"lost"`},
		"SettleOne": {
			func(c *tasker.Client) (any, error) {
				return protocol.Of(c).Settle(ctx, protocol.SettleRequest{WorkerID: a,
					Results: []protocol.StepResult{{StepUUID: b, Token: "4", Status: "completed"}}})
			},
			seen{"POST", me + "/result", `{"results":[{"step_uuid":"` + b.String() + `","token":"4","status":"completed"}]}`},
			`{"results":[{"state":"complete"}]}`, `"complete"`},
		"SettleMany": {
			func(c *tasker.Client) (any, error) {
				return protocol.Of(c).Settle(ctx, protocol.SettleRequest{WorkerID: a,
					Results: []protocol.StepResult{{StepUUID: b, Status: "completed"}, {StepUUID: a, Status: "released"}}})
			},
			seen{"POST", me + "/result", `{"results":[{"step_uuid":"` + b.String() +
				`","token":"","status":"completed"},{"step_uuid":"` + a.String() + `","token":"","status":"released"}]}`},
			`{"results":[{"state":"complete"},{"error":{"code":"stale_token","message":"m"}}]}`, `"stale_token"`},
		"Heartbeat": {
			func(c *tasker.Client) (any, error) {
				return protocol.Of(c).Heartbeat(ctx, protocol.Heartbeat{WorkerID: a, CurrentLoad: 1,
					Steps: []protocol.LeaseRef{{StepUUID: b, Token: "4"}}})
			},
			seen{"POST", me + "/heartbeat", `{"current_load":1,"steps":[{"step_uuid":"` + b.String() + `","token":"4"}]}`},
			`{"acknowledged":true}`, `"acknowledged":true`},
		"HeartbeatOfNoStep": {
			func(c *tasker.Client) (any, error) {
				return protocol.Of(c).Heartbeat(ctx, protocol.Heartbeat{WorkerID: a, Steps: []protocol.LeaseRef{}})
			},
			seen{"POST", me + "/heartbeat", `{"steps":[]}`}, `{"acknowledged":true}`, `"acknowledged":true`},
		"Drain": {
			func(c *tasker.Client) (any, error) {
				return protocol.Of(c).Drain(ctx, protocol.WorkerAct{WorkerID: a, Final: true})
			},
			seen{"POST", me + "/drain", `{"final":true}`}, `{"released":3}`, `"released":3`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got seen
			client := dial(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = seen{r.Method, r.URL.RequestURI(), string(body)}
				if r.Header.Get("X-API-Key") != "key" || r.UserAgent() != "agent" {
					t.Errorf("headers %v lack the key or the agent", r.Header)
				}
				if len(body) > 0 && r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("body sent as %q", r.Header.Get("Content-Type"))
				}
				reply(w, http.StatusOK, tc.answer)
			}, &remote.Options{APIKey: "key", UserAgent: "agent"})
			out, err := tc.call(client)
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("request\n got %+v\nwant %+v", got, tc.want)
			}
			if text, _ := json.Marshal(out); !strings.Contains(string(text), tc.result) {
				t.Errorf("result %s lacks %s", text, tc.result)
			}
		})
	}
}

func TestPathTraversalIsRefused(t *testing.T) {
	t.Parallel()
	client := dial(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the server was asked %s", r.URL) }, nil)
	for _, name := range []string{"", ".", ".."} {
		if _, err := client.Template(t.Context(), "n", name, ""); tasker.ErrorCode(err) != tasker.CodeNotFound {
			t.Errorf("Template(%q) = %v, want CodeNotFound", name, err)
		}
	}
}

// TestConcurrentSubmits: callers share requests, and each gets its own receipt.
func TestConcurrentSubmits(t *testing.T) {
	t.Parallel()
	const callers, each = 64, 20
	var requests, inFlight, most atomic.Int64
	client := dial(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		n := inFlight.Add(1)
		defer inFlight.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		var req tasker.SubmitRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || !req.ItemErrors {
			t.Errorf("body: %v, %+v", err, req)
		}
		var out struct {
			Results []tasker.TaskReceipt `json:"results"`
		}
		for i, task := range req.Tasks {
			receipt := tasker.TaskReceipt{TaskUUID: uuid.NewSHA1(uuid.Nil, []byte(task.CorrelationID)), Created: true}
			if strings.HasSuffix(task.CorrelationID, "/7") {
				receipt = tasker.TaskReceipt{Error: &tasker.Error{Code: tasker.CodeInvalid, Message: "seven",
					Details: []tasker.Detail{
						{Location: fmt.Sprintf("/tasks/%d/context", i), Message: "bad"}}}}
			}
			out.Results = append(out.Results, receipt)
		}
		body, _ := json.Marshal(out)
		reply(w, http.StatusOK, string(body))
	}, nil)

	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d/%d", c, i)
				receipt, err := client.Submit(t.Context(), tasker.TaskRequest{TaskType: "x", CorrelationID: id})
				if i == 7 {
					var e *tasker.Error
					if !errors.As(err, &e) || e.Code != tasker.CodeInvalid || e.Details[0].Location != "/tasks/0/context" {
						t.Errorf("%s: %v, want its own refusal, placed in its own request", id, err)
					}
					continue
				}
				if err != nil || receipt.TaskUUID != uuid.NewSHA1(uuid.Nil, []byte(id)) {
					t.Errorf("%s: receipt %+v, %v", id, receipt, err)
				}
			}
		})
	}
	wg.Wait()
	if n := requests.Load(); n > callers*each/2 {
		t.Errorf("%d requests for %d tasks: they were not gathered", n, callers*each)
	}
	if most.Load() > 2 {
		t.Errorf("%d requests at once, want at most 2", most.Load())
	}
}

// TestSubmitReturnsWhenItsContextEnds although the server does not answer.
func TestSubmitReturnsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	arrived, hold := make(chan struct{}), make(chan struct{})
	client := dial(t, func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-hold
		reply(w, http.StatusOK, `{"results":[{"created":true}]}`)
	}, nil)
	defer close(hold)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := client.Submit(ctx, tasker.TaskRequest{TaskType: "x"})
		done <- err
	}()
	<-arrived
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Submit = %v, want context.Canceled", err)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	arrived, hold := make(chan struct{}), make(chan struct{})
	client := dial(t, func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-hold
	}, nil)
	defer close(hold)
	done := make(chan error, 1)
	go func() {
		_, err := client.Submit(t.Context(), tasker.TaskRequest{TaskType: "x"})
		done <- err
	}()
	<-arrived
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; tasker.ErrorCode(err) != tasker.CodeUnavailable {
		t.Errorf("the request in flight: %v, want CodeUnavailable", err)
	}
	if _, err := protocol.Of(client).Workers(t.Context()); tasker.ErrorCode(err) != tasker.CodeUnavailable {
		t.Errorf("a request after Close: %v, want CodeUnavailable", err)
	}
}
