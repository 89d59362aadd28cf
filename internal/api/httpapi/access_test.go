package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/worker/protocol"
)

// needs repeats the permissions of routes.go on purpose: an accidental change fails the test.
var needs = map[string]string{
	"submit-task": "submit", "submit-tasks": "submit",
	"list-tasks": "read", "get-task": "read", "get-task-history": "read", "explain-task": "read",
	"cancel-task": "submit operate", "cancel-tasks": "submit operate",
	"list-steps": "read", "get-step": "read", "list-step-logs": "read", "list-children": "read",
	"act-on-step": "operate",
	"list-cases":  "read", "get-case": "read", "open-case": "operate", "update-case": "operate",
	"get-case-stats": "read", "get-investigation-queue": "read", "get-staleness": "read", "detect-staleness": "operate",
	"edit-task-context": "operate", "update-cases": "operate", "act-on-cases": "operate", "list-failed-tasks": "read",
	"replay-task": "operate", "get-failure-report": "read",
	"stream-events": "read",
	"list-audit":    "read", "list-task-audit": "read", "list-case-audit": "read",
	"list-audit-chain": "read", "list-loose-acts": "read",
	"register-template": "operate", "list-templates": "read", "get-template": "read", "get-template-version": "read",
	"get-template-stats": "read",
	"register-worker":    "work", "list-workers": "read", "poll": "work", "start": "work", "progress": "work",
	"send-large-result": "work", "get-large-parent-result": "work", "get-large-result": "read",
	"result": "work", "heartbeat": "work", "drain": "work operate", "get-worker": "read", "resume-worker": "operate",
	"cordon-worker": "operate", "uncordon-worker": "operate",
	"send-signal": "submit", "list-signals": "read", "list-approvals": "read",
	"list-limits": "read", "set-limit": "operate", "delete-limit": "operate",
	"list-pauses": "read", "pause": "operate", "resume": "operate",
	"list-outages": "read", "get-outage": "read", "close-outage": "operate",
	"enqueue-task": "submit", "enqueue-tasks": "submit", "get-queue-task": "read", "list-queue-tasks": "read",
	"cancel-queue-task": "submit operate", "get-queue-stats": "read", "list-routes": "read",
	"create-execution": "submit", "list-executions": "read", "get-execution": "read", "get-execution-stats": "read",
	"get-expired-executions": "read",
	"cancel-execution":       "submit operate", "retry-execution": "operate", "stream-executions": "read",
	"register-queue-worker": "work", "poll-queue": "work", "start-queue-task": "work", "progress-of-queue-task": "work",
	"result-of-queue-task": "work", "heartbeat-of-queue-worker": "work",
	"list-fleet": "read", "get-fleet-worker": "read", "cordon-fleet-worker": "operate",
	"uncordon-fleet-worker": "operate",
	"drain-queue-worker":    "work operate", "dismiss-queue-worker": "work operate",
	"report-dead-letters": "submit work", "list-dead-letters": "dead-letters:read",
	"export-dead-letters": "dead-letters:read", "get-dead-letter": "dead-letters:read",
	"explain-dead-letter": "dead-letters:read", "explain-redrive": "read dead-letters:read",
	"edit-dead-letter": "dead-letters:edit", "discard-dead-letter": "dead-letters:discard",
	"restore-dead-letter": "dead-letters:discard", "list-groups": "read dead-letters:read",
	"get-group": "read dead-letters:read", "change-group": "operate dead-letters:redrive",
	"change-groups": "operate dead-letters:redrive",
	"merge-groups":  "operate dead-letters:redrive", "unmerge-group": "operate dead-letters:redrive",
	"split-group": "operate dead-letters:redrive", "unsplit-group": "operate dead-letters:redrive",
	// For redrives of letters; see TestOperationsNeedTheirPermission.
	"preview-redrive": "dead-letters:redrive", "create-redrive": "dead-letters:redrive",
	"act-on-redrive": "dead-letters:redrive", "list-redrives": "read dead-letters:read",
	"preview-replay": "dead-letters:redrive", "create-replay": "dead-letters:redrive",
	"act-on-replay": "dead-letters:redrive", "list-replays": "read dead-letters:read",
	"get-replay":  "read dead-letters:read",
	"get-redrive": "read dead-letters:read", "list-redrive-items": "read dead-letters:read",
	"list-schedules": "read", "get-schedule": "read", "list-firings": "read", "save-schedule": "operate",
	"remove-schedule": "operate", "pause-schedule": "operate", "resume-schedule": "operate", "run-schedule": "operate",
	"backfill-schedule": "operate",
	"list-sources":      "read dead-letters:read sources:admin", "save-source": "sources:admin",
	"get-source":    "read dead-letters:read sources:admin",
	"remove-source": "sources:admin",
	"test-source":   "sources:admin", "pause-source": "sources:admin", "resume-source": "sources:admin",
	"list-webhooks": "admin", "test-webhook": "admin",
	"list-policies": "read dead-letters:read sources:admin", "save-policy": "sources:admin",
	"remove-policy": "sources:admin",
	"list-rules":    "read dead-letters:read sources:admin", "get-rule": "read dead-letters:read sources:admin",
	"save-rule": "sources:admin", "remove-rule": "sources:admin", "test-rule": "sources:admin",
	"get-dlq-stats": "read dead-letters:read", "list-dlq-jobs": "dead-letters:read",
	"requeue-dlq-job": "dead-letters:redrive", "requeue-dlq-job-by-id": "dead-letters:redrive",
	"requeue-dlq-jobs": "dead-letters:redrive", "move-dlq-job": "dead-letters:redrive",
	"move-dlq-job-by-id": "dead-letters:redrive", "clear-dlq": "dead-letters:discard",
	"discard-dlq-job": "dead-letters:discard", "restore-dlq": "dead-letters:discard",
	"restore-dlq-job":        "dead-letters:discard",
	"get-dead-message-stats": "dead-letters:read", "list-dead-messages": "dead-letters:read",
	"get-dead-message": "dead-letters:read", "list-dead-topics": "dead-letters:read",
	"retry-dead-messages": "dead-letters:redrive", "set-retry-policy": "sources:admin",
	"discard-dead-message": "dead-letters:discard",
	"live":                 "", "ready": "", "version": "",
}

func ringOf(t *testing.T, name, permission string, namespaces ...string) (*access.Keyring, string) {
	t.Helper()
	secret, hash := access.Generate()
	ring, err := access.New(
		[]access.Key{{Name: name, SHA256: hash, Permissions: []string{permission}, Namespaces: namespaces}})
	if err != nil {
		t.Fatal(err)
	}
	return ring, "X-API-Key: " + secret
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	for _, permission := range access.Permissions() {
		t.Run(string(permission), func(t *testing.T) {
			t.Parallel()
			ring, key := ringOf(t, "k", string(permission))
			f := &fake{}
			a := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
			for _, e := range examples() {
				need, listed := needs[e.id]
				if !listed {
					t.Errorf("operation %s is not in the table", e.id)
				}
				open := need == ""
				may := open || permission == access.Admin || slices.Contains(strings.Fields(need), string(permission))

				got := a.do(t, e.method, e.path, e.body, key)
				if may && got.status != e.status {
					t.Errorf("%s: %s is answered %d %s", permission, e.id, got.status, got.body)
				}
				if !may {
					if p := got.problem(t); got.status != 403 || p.Code != tasker.CodeForbidden {
						t.Errorf("%s: %s is answered %d %s", permission, e.id, got.status, got.body)
					}
				}
				before := f.called()
				for _, header := range []string{"X-None: 1", "X-API-Key: tsk_wrong", "Authorization: Bearer tsk_wrong",
					"Authorization: Basic " + key[len("X-API-Key: "):]} {
					got := a.do(t, e.method, e.path, e.body, header)
					if open && got.status != e.status {
						t.Errorf("%s needs no key and is answered %d", e.id, got.status)
					}
					if !open {
						if p := got.problem(t); got.status != 401 || p.Code != tasker.CodeUnauthenticated ||
							got.header.Get("WWW-Authenticate") == "" {
							t.Errorf("%s with %s is answered %d %s", e.id, header, got.status, got.body)
						}
					}
				}
				if !open && f.called() != before {
					t.Errorf("%s reached the backend without a key", e.id)
				}
			}
		})
	}
}

func TestKeyHeaders(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "k", "read")
	secret := key[len("X-API-Key: "):]
	a := newAPI(t, &fake{}, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
	for _, header := range []string{key, "Authorization: Bearer " + secret, "Authorization: bearer " + secret} {
		if got := a.do(t, "GET", "/v1/tasks", "", header); got.status != 200 {
			t.Errorf("%.24s... is answered %d", header, got.status)
		}
	}
	for _, path := range []string{"/docs", "/openapi.json", "/openapi.yaml"} {
		if got := a.do(t, "GET", path, ""); got.status != 200 {
			t.Errorf("%s is answered %d", path, got.status)
		}
	}
}

func TestKeyIsCheckedBeforeTheBody(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "k", "read")
	a := newAPI(t, &fake{}, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
	if got := a.do(t, "POST", "/v1/tasks", `{broken`); got.status != 401 {
		t.Errorf("without a key: %d", got.status)
	}
	if got := a.do(t, "POST", "/v1/tasks", `{broken`, key); got.status != 403 {
		t.Errorf("without the permission: %d", got.status)
	}
}

func TestActorDefaultsToTheKey(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "ann", "admin")
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
	step := "/v1/tasks/" + taskID.String() + "/workflow_steps/" + stepID.String()
	for act, actor := range map[string]func(tasker.StepAction) string{
		"reset_for_retry":   func(a tasker.StepAction) string { return a.ResetBy },
		"resolve_manually":  func(a tasker.StepAction) string { return a.ResolvedBy },
		"complete_manually": func(a tasker.StepAction) string { return a.CompletedBy },
		"approve":           func(a tasker.StepAction) string { return a.DecidedBy },
		"reject":            func(a tasker.StepAction) string { return a.DecidedBy },
	} {
		a.do(t, "PATCH", step, `{"action_type":"`+act+`","reason":"x"}`, key)
		if got := actor(last[tasker.StepAction](f)); got != "ann" {
			t.Errorf("%s is done by %q, want ann", act, got)
		}
	}
	a.do(t, "PATCH", step, `{"action_type":"reset_for_retry","reset_by":"bob","reason":"x"}`, key)
	if got := last[tasker.StepAction](f).ResetBy; got != "bob" {
		t.Errorf("a named actor became %q", got)
	}
	a.do(t, "DELETE", "/v1/tasks/"+taskID.String(), "", key)
	if got := last[tasker.CancelRequest](f); got.CancelledBy != "ann" || got.TaskUUIDs[0] != taskID {
		t.Errorf("cancelled by %q", got.CancelledBy)
	}
}

func template(lines string) string {
	return `{"yaml":` + jsonString(lines+"\nname: x\nversion: \"1\"\nsteps:\n  - {name: a, handler: h}\n") + `}`
}

// The key reaches the namespace default only; everything else in the fake is in the namespace secret.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "k", "admin", "default")
	other, worker := "/v1/tasks/"+otherID.String(), "/internal/workers/"
	step := "/workflow_steps/" + stepID.String()
	queue, ofOther := "/api/v1/workers/", `{"task_id":"`+otherID.String()+`"`
	act := `{"action_type":"reset_for_retry","reason":"x"}`
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		at                 string
	}{
		"SubmitDefault": {"POST", "/v1/tasks", `{"name":"x"}`, 201, ""},
		"SubmitOutside": {"POST", "/v1/tasks", `{"name":"x","namespace":"secret"}`, 403, "/namespace"},
		"BatchOutside": {"POST", "/v1/tasks/batch", `{"tasks":[{"name":"x"},{"name":"x","namespace":"secret"}]}`, 403,
			"/tasks/1/namespace"},
		"ListOutside":         {"GET", "/v1/tasks?namespace=secret", "", 403, "query.namespace"},
		"GetOwn":              {"GET", "/v1/tasks/" + taskID.String(), "", 200, ""},
		"GetOther":            {"GET", other, "", 404, ""},
		"WaitOther":           {"GET", other + "?wait_ms=60000", "", 404, ""},
		"GetMissing":          {"GET", "/v1/tasks/" + stepID.String(), "", 404, ""},
		"HistoryOther":        {"GET", other + "/history", "", 404, ""},
		"ExplainOther":        {"GET", other + "/explain", "", 404, ""},
		"CancelOther":         {"DELETE", other, "", 404, ""},
		"StepsOther":          {"GET", other + "/workflow_steps", "", 404, ""},
		"StepOther":           {"GET", other + step, "", 404, ""},
		"ActOther":            {"PATCH", other + step, act, 404, ""},
		"ActOwn":              {"PATCH", "/v1/tasks/" + taskID.String() + step, act, 200, ""},
		"TemplateOwn":         {"POST", "/v1/templates", template("namespace_name: default"), 201, ""},
		"TemplateNoNamespace": {"POST", "/v1/templates", template(""), 201, ""},
		"TemplateOutside":     {"POST", "/v1/templates", template("namespace_name: secret"), 403, "namespace_name"},
		"TemplateUnreadable":  {"POST", "/v1/templates", template("namespace_name: [secret"), 400, "*"},
		"TemplateTwice": {"POST", "/v1/templates", template("namespace_name: default\nnamespace_name: secret"), 400,
			"*"},
		"TemplateMerged": {"POST", "/v1/templates", template("x: &x {namespace_name: secret}\n<<: *x"), 400, "*"},
		"TemplateLevels": {"POST", "/v1/templates", template("priority: urgent"), 201, ""},
		"TemplateJSON": {"POST", "/v1/templates",
			`{"yaml":` +
				jsonString(`{"namespace_name":"secret","name":"x","version":"1","steps":[{"name":"a","handler":"h"}]}`) + `}`, 403,
			"namespace_name"},
		"TemplatesOutside":   {"GET", "/v1/templates?namespace=secret", "", 403, "query.namespace"},
		"GetTemplateOutside": {"GET", "/v1/templates/secret/x", "", 403, "path.namespace"},
		"GetVersionOutside":  {"GET", "/v1/templates/secret/x/1", "", 403, "path.namespace"},
		"RegisterOutside":    {"POST", worker + "register", `{"namespaces":["default","secret"]}`, 403, "/namespaces/1"},
		"PollOwn":            {"POST", worker + workerID.String() + "/poll", "", 200, ""},
		"EnqueueDefault":     {"POST", "/api/v1/tasks", `{"task_type":"x"}`, 201, ""},
		"EnqueueOutside":     {"POST", "/api/v1/tasks", `{"task_type":"x","namespace":"secret"}`, 403, "/namespace"},
		"EnqueueManyOutside": {"POST", "/api/v1/tasks/batch",
			`{"tasks":[{"task_type":"x"},{"task_type":"x","namespace":"secret"}]}`, 403, "/tasks/1/namespace"},
		"QueueTaskOwn":        {"GET", "/api/v1/tasks/" + taskID.String(), "", 200, ""},
		"QueueTaskOther":      {"GET", "/api" + other, "", 404, ""},
		"QueueCancelOther":    {"DELETE", "/api" + other, "", 404, ""},
		"QueueTasksOutside":   {"GET", "/api/v1/tasks?namespace=secret&user_id=ann", "", 403, "query.namespace"},
		"RoutesOutside":       {"GET", "/v1/routes?namespace=default&namespace=secret", "", 403, "query.namespace"},
		"QueueStatsOutside":   {"GET", "/api/v1/queue/stats?namespace=default&namespace=secret", "", 403, "query.namespace"},
		"DeadStatsOutside":    {"GET", "/api/v1/dlq/stats?namespace=secret", "", 403, "query.namespace"},
		"DeadTopicsOutside":   {"GET", "/api/v1/dlq/topics?namespace=secret", "", 403, "query.namespace"},
		"DeadMessagesOutside": {"GET", "/api/v1/dlq/messages?namespace=secret", "", 403, "query.namespace"},
		"DeadMessageOutside":  {"GET", "/api/v1/dlq/messages/a?namespace=secret", "", 403, "query.namespace"},
		"DeadDiscardOutside":  {"DELETE", "/api/v1/dlq/messages/a?namespace=secret&reason=x", "", 403, "query.namespace"},
		"DeadRetryOutside":    {"POST", "/api/v1/dlq/retry", `{"event_ids":["a"],"namespace":"secret"}`, 403, "/namespace"},
		"DeadPolicyOutside": {"POST", "/api/v1/dlq/retry-policy",
			`{"topic":"a","strategy":"manual","namespace":"secret"}`, 403, "/namespace"},
		"CreateOutside":      {"POST", "/api/v1/executions", `{"action_ref":"x","namespace":"secret"}`, 403, "/namespace"},
		"ExecutionsOutside":  {"GET", "/api/v1/executions?namespace=secret", "", 403, "query.namespace"},
		"ExecStatsOutside":   {"GET", "/api/v1/executions/stats?namespace=secret", "", 403, "query.namespace"},
		"ExecExpiredOutside": {"GET", "/api/v1/executions/expired?namespace=secret", "", 403, "query.namespace"},
		"ExecStreamOutside":  {"GET", "/api/v1/executions/stream?namespace=secret", "", 403, "query.namespace"},
		"ExecutionOther":     {"GET", "/api/v1/executions/" + otherID.String(), "", 404, ""},
		"ExecCancelOther":    {"POST", "/api/v1/executions/" + otherID.String() + "/cancel", "", 404, ""},
		"ExecRetryOther":     {"POST", "/api/v1/executions/" + otherID.String() + "/retry", "", 404, ""},
		"QueueWorkerOutside": {"POST", queue + "register", `{"namespaces":["default","secret"]}`, 403, "/namespaces/1"},
		"QueueStartOutside":  {"POST", queue + workerID.String() + "/start", ofOther + `}`, 404, ""},
		"QueueResultOutside": {"POST", queue + workerID.String() + "/result", ofOther + `,"status":"completed"}`, 404, ""},
		"GetSecretWorker":    {"GET", worker + stepID.String(), "", 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			got := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})}).do(t, c.method, c.path, c.body, key)
			if got.status != c.status {
				t.Fatalf("answer is %d %s, want %d", got.status, got.body, c.status)
			}
			if c.status >= 400 {
				if p := got.problem(t); c.at != "*" && at(p) != c.at || f.called() != 0 {
					t.Errorf("answer is at %q, want %q; the backend was called %d times: %s", at(p), c.at, f.called(), got.body)
				}
			}
		})
	}
}

func TestNamespacesNarrow(t *testing.T) {
	t.Parallel()
	f := &fake{}
	ring, key := ringOf(t, "k", "admin", "default")
	a := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})})

	a.do(t, "GET", "/v1/tasks", "", key)
	if got := last[tasker.TaskFilter](f).Namespace; got != "default" {
		t.Errorf("tasks are listed of %q", got)
	}
	a.do(t, "GET", "/api/v1/tasks?user_id=ann", "", key)
	if got := last[queueapi.QueueTaskFilter](f); got.Namespace != "default" || got.UserID != "ann" {
		t.Errorf("tasks of the queue are listed by %+v", got)
	}
	a.do(t, "GET", "/v1/templates", "", key)
	if got := last[tasker.TemplateFilter](f).Namespace; got != "default" {
		t.Errorf("templates are listed of %q", got)
	}
	a.do(t, "POST", "/internal/workers/register", "", key)
	if got := last[protocol.WorkerRegistration](f).Namespaces; cmp.Diff([]string{"default"}, got) != "" {
		t.Errorf("a worker is registered for %v", got)
	}
	if got := a.do(t, "GET", "/internal/workers", "", key); strings.Count(got.body, `"worker_id"`) != 2 ||
		strings.Contains(got.body, stepID.String()) {
		t.Errorf("the workers shown are %s", got.body)
	}

	a.do(t, "POST", "/api/v1/workers/register", "", key)
	if got := last[protocol.WorkerRegistration](f).Namespaces; cmp.Diff([]string{"default"}, got) != "" {
		t.Errorf("a worker of the queue is registered for %v", got)
	}
	a.do(t, "GET", "/api/v1/queue/stats", "", key)
	if got := last[queueapi.QueueFilter](f).Namespaces; cmp.Diff([]string{"default"}, got) != "" {
		t.Errorf("numbers are asked of %v", got)
	}

	ring, key = ringOf(t, "k", "admin", "default", "video")
	a = newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
	if got := a.do(t, "GET", "/v1/tasks", "", key); got.status != 403 || !strings.Contains(got.body, "name one") {
		t.Errorf("a key with two namespaces that names none is answered %d %s", got.status, got.body)
	}
	if got := a.do(t, "GET", "/api/v1/tasks", "", key); got.status != 403 || !strings.Contains(got.body, "name one") {
		t.Errorf("a key with two namespaces that lists the queue of none is answered %d %s", got.status, got.body)
	}
	if got := a.do(t, "GET", "/v1/tasks?namespace=video", "", key); got.status != 200 ||
		last[tasker.TaskFilter](f).Namespace != "video" {
		t.Errorf("a key with two namespaces that names one is answered %d", got.status)
	}
}

func TestNamespacesInBatches(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "k", "admin", "default")
	t.Run("Submit", func(t *testing.T) {
		t.Parallel()
		f := &fake{}
		got := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})}).do(t, "POST", "/v1/tasks/batch",
			`{"tasks":[{"name":"a","namespace":"secret"},{"name":"b"}],"item_errors":true}`, key)
		if req := last[tasker.SubmitRequest](f); got.status != 200 || len(req.Tasks) != 1 || req.Tasks[0].Name != "b" {
			t.Errorf("answer is %d %s, the backend got %+v", got.status, got.body, req)
		}
		if !strings.Contains(got.body, `"code":"forbidden"`) || !strings.Contains(got.body, `"/tasks/0/namespace"`) {
			t.Errorf("answer is %s", got.body)
		}
	})
	t.Run("Cancel", func(t *testing.T) {
		t.Parallel()
		f := &fake{}
		got := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})}).do(t, "POST", "/v1/tasks/cancel",
			`{"task_uuids":["`+otherID.String()+`","`+taskID.String()+`"]}`, key)
		if req := last[tasker.CancelRequest](f); got.status != 200 || cmp.Diff([]uuid.UUID{taskID}, req.TaskUUIDs) != "" {
			t.Errorf("answer is %d, the backend got %v", got.status, req.TaskUUIDs)
		}
		first, second, _ := strings.Cut(got.body, "},{")
		if !strings.Contains(first, otherID.String()) || !strings.Contains(first+second, `"code":"not_found"`) ||
			!strings.Contains(got.body, `"state":"cancelled"`) {
			t.Errorf("answer is %s", got.body)
		}
	})
}

// TestProbing: nothing but the id tells a task of another namespace from a missing one.
func TestProbing(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "k", "read", "default")
	a := newAPI(t, &fake{}, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
	other := a.do(t, "GET", "/v1/tasks/"+otherID.String(), "", key)
	missing := a.do(t, "GET", "/v1/tasks/"+stepID.String(), "", key)
	if strings.ReplaceAll(other.body, otherID.String(), "") != strings.ReplaceAll(missing.body, stepID.String(), "") {
		t.Errorf("the answers differ: %s and %s", other.body, missing.body)
	}
}
