package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker/protocol"
)

// node is a server on a PostgreSQL that the test can stop.
type node struct {
	*tasker.Client
	url  string
	http *http.Client
}

func runNode(t *testing.T, dsn string) *node {
	t.Helper()
	cfg := config.Default()
	cfg.DB.DSN, cfg.Server.Listen = dsn, "127.0.0.1:0"
	cfg.Blobs.URL = "file:" + t.TempDir()
	cfg.Engine.OutageBreaker.Enabled, cfg.Engine.OutageBreaker.Failures = settings.On, 1
	ctx, stop := context.WithCancel(t.Context())
	up, ended := make(chan app.Node, 1), make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, &cfg, app.Options{Ready: func(n app.Node) error {
			up <- n
			return nil
		}})
	}()
	var n node
	select {
	case at := <-up:
		n.url = at.URL
	case err := <-ended:
		t.Fatal(err)
	}
	client, err := remote.Dial(n.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	n.Client, n.http = client, &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		n.http.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return &n
}

func (n *node) send(t *testing.T, method, path, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, n.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := n.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(answer)
}

// openOutage opens an outage with a single failure.
func (n *node) openOutage(t *testing.T) uuid.UUID {
	t.Helper()
	ctx := t.Context()
	w, err := protocol.Of(n.Client).RegisterWorker(ctx,
		protocol.WorkerRegistration{Name: "down", Handlers: []string{"down"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Submit(ctx, tasker.TaskRequest{TaskType: "down"}); err != nil {
		t.Fatal(err)
	}
	polled, err := protocol.Of(n.Client).Poll(ctx, protocol.PollRequest{WorkerID: w.WorkerID, Capacity: 1, Start: true})
	if err != nil || len(polled.Steps) != 1 {
		t.Fatalf("polled %+v, %v", polled, err)
	}
	if _, err := protocol.Of(n.Client).Settle(ctx,
		protocol.SettleRequest{WorkerID: w.WorkerID, Results: []protocol.StepResult{{
			StepUUID: polled.Steps[0].StepUUID, Token: polled.Steps[0].Token, Status: protocol.ResultFailed,
			Error: &tasker.Failure{Message: "refused"}}}}); err != nil {
		t.Fatal(err)
	}
	for ; ; time.Sleep(10 * time.Millisecond) {
		page, err := flow.Of(n.Client).Outages(ctx, flow.OutageFilter{})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Outages) > 0 {
			return page.Outages[0].OutageUUID
		}
	}
}

// operations returns every operation that uses the database, as "METHOD path", with a call for existing objects.
func (n *node) operations(t *testing.T) map[string][2]string {
	t.Helper()
	n.send(t, http.MethodPost, "/v1/pauses", `{"kind":"namespace","namespace":"shop","reason":"r","paused_by":"ann"}`)
	n.send(t, http.MethodPost, "/v1/limits", `{"kind":"handler","namespace":"shop","handler":"mail","concurrency":3}`)
	for _, name := range []string{"nightly", "paused", "old"} {
		n.send(t, http.MethodPost, "/v1/schedules", `{"name":"`+name+`","cron":"@daily","task_type":"t"}`)
	}
	outage := "/v1/outages/" + n.openOutage(t).String()
	ctx := t.Context()
	if _, err := n.RegisterTemplate(ctx, tasker.TemplateSource{YAML: "name: import\nversion: 1.0.0\nsteps:\n- {name: " +
		"load, handler: load}\n"}); err != nil {
		t.Fatal(err)
	}
	receipt, err := n.Submit(ctx, tasker.TaskRequest{Name: "import"})
	if err != nil {
		t.Fatal(err)
	}
	steps, err := n.Steps(ctx, receipt.TaskUUID)
	if err != nil {
		t.Fatal(err)
	}
	worker, err := protocol.Of(n.Client).RegisterWorker(ctx,
		protocol.WorkerRegistration{Name: "w", Handlers: []string{"load"}})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := operate.Of(n.Client).OpenCase(ctx, receipt.TaskUUID,
		operate.OpenCaseRequest{Reason: "odd", OpenedBy: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := n.Submit(ctx, tasker.TaskRequest{Name: "import"})
	if err != nil {
		t.Fatal(err)
	}
	over, err := n.Submit(ctx, tasker.TaskRequest{Name: "import"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.CancelTasks(ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{over.TaskUUID}}); err != nil {
		t.Fatal(err)
	}
	entry := "/v1/dlq/entry/" + opened.CaseUUID.String()
	task, step := "/v1/tasks/"+receipt.TaskUUID.String(), steps[0].StepUUID.String()
	queued, pool := "/api/v1/tasks/"+receipt.TaskUUID.String(), "/api/v1/workers/"+worker.WorkerID.String()
	mine := `"task_id":"` + receipt.TaskUUID.String() + `","token":"1"`
	at, lease := "/internal/workers/"+worker.WorkerID.String(), `{"step_uuid":"`+step+`","token":"1"}`
	return join(n.deadLetterOperations(t), map[string][2]string{
		"POST /v1/tasks": {"/v1/tasks", `{"name":"import"}`},
		"POST /v1/tasks/batch": {"/v1/tasks/batch",
			`{"tasks":[{"name":"import"},{"task_type":"other"}]}`},
		"GET /v1/tasks":                {"/v1/tasks", ""},
		"GET /v1/tasks/{uuid}":         {task + "?wait_ms=1000", ""},
		"GET /v1/tasks/{uuid}/history": {task + "/history", ""},
		"GET /v1/tasks/{uuid}/explain": {task + "/explain", ""},
		"DELETE /v1/tasks/{uuid}":      {task, ""},
		"POST /v1/tasks/cancel": {"/v1/tasks/cancel",
			`{"task_uuids":["` + receipt.TaskUUID.String() + `"]}`},
		"GET /v1/tasks/{uuid}/workflow_steps":             {task + "/workflow_steps", ""},
		"GET /v1/tasks/{uuid}/workflow_steps/{step_uuid}": {task + "/workflow_steps/" + step, ""},
		"GET /v1/tasks/{uuid}/workflow_steps/{step_uuid}/large_result": {
			task + "/workflow_steps/" + step + "/large_result", ""},
		"GET /v1/tasks/{uuid}/workflow_steps/{step_uuid}/logs":     {task + "/workflow_steps/" + step + "/logs", ""},
		"GET /v1/tasks/{uuid}/workflow_steps/{step_uuid}/children": {task + "/workflow_steps/" + step + "/children", ""},
		"PATCH /v1/tasks/{uuid}/workflow_steps/{step_uuid}": {task + "/workflow_steps/" + step,
			`{"action_type":"reset_for_retry","reset_by":"a","reason":"b"}`},
		"PATCH /v1/tasks/{uuid}/context": {task + "/context",
			`{"context":{},"edited_by":"ann","reason":"b"}`},
		"GET /v1/tasks/{uuid}/audit": {task + "/audit", ""},
		"POST /v1/dlq/act": {"/v1/dlq/act",
			`{"filter":{"resolution_status":"pending"},"action":{"action_type":"reset_for_retry","reset_by":"ann","reason":"b"},"dry_run":true}`},
		"POST /v1/dlq/update": {"/v1/dlq/update",
			`{"filter":{"resolution_status":"pending"},"update":{"resolution_status":"cancelled","resolved_by":"ann"},"dry_run":true}`},
		"GET /api/v1/workers":                {"/api/v1/workers", ""},
		"GET /api/v1/workers/{id}":           {pool, ""},
		"POST /api/v1/workers/{id}/cordon":   {pool + "/cordon", ""},
		"POST /api/v1/workers/{id}/uncordon": {pool + "/uncordon", ""},
		"POST /api/v1/workers/{id}/drain":    {pool + "/drain", ""},
		"DELETE /api/v1/workers/{id}":        {pool, ""},
		"GET /v1/dlq":                        {"/v1/dlq", ""},
		"GET /v1/dlq/stats":                  {"/v1/dlq/stats", ""},
		"GET /v1/dlq/investigation-queue":    {"/v1/dlq/investigation-queue", ""},
		"GET /v1/dlq/staleness":              {"/v1/dlq/staleness", ""},
		"POST /v1/dlq/staleness/detect":      {"/v1/dlq/staleness/detect", `{"dry_run":true}`},
		"GET /v1/dlq/task/{task_uuid}":       {"/v1/dlq/task/" + receipt.TaskUUID.String(), ""},
		"POST /v1/dlq/task/{task_uuid}": {"/v1/dlq/task/" + other.TaskUUID.String(),
			`{"reason":"odd","opened_by":"ann"}`},
		"PATCH /v1/dlq/entry/{dlq_entry_uuid}":     {entry, `{"resolution_notes":"looked at"}`},
		"GET /v1/dlq/entry/{dlq_entry_uuid}/audit": {entry + "/audit", ""},
		"GET /v1/audit":                       {"/v1/audit", ""},
		"GET /v1/audit/chain":                 {"/v1/audit/chain", ""},
		"GET /v1/audit/loose":                 {"/v1/audit/loose", ""},
		"POST /api/v1/executions":             {"/api/v1/executions", `{"action_ref":"save"}`},
		"GET /api/v1/executions":              {"/api/v1/executions", ""},
		"GET /api/v1/executions/stats":        {"/api/v1/executions/stats", ""},
		"GET /api/v1/executions/expired":      {"/api/v1/executions/expired", ""},
		"GET /api/v1/executions/{id}":         {"/api/v1/executions/" + receipt.TaskUUID.String(), ""},
		"POST /api/v1/executions/{id}/cancel": {"/api/v1/executions/" + other.TaskUUID.String() + "/cancel", ""},
		"POST /api/v1/executions/{id}/retry":  {"/api/v1/executions/" + receipt.TaskUUID.String() + "/retry", ""},
		"GET /api/v1/executions/stream": {"/api/v1/executions/stream?until=settled&id=" + over.TaskUUID.String(),
			""},
		"GET /v1/events": {"/v1/events?until=settled&task=" + over.TaskUUID.String(), ""},
		"POST /v1/templates": {"/v1/templates",
			`{"yaml":"name: export\nversion: 1.0.0\nsteps:\n- {name: save, handler: save}\n"}`},
		"GET /v1/templates":                                          {"/v1/templates", ""},
		"GET /v1/templates/{namespace}/{name}":                       {"/v1/templates/default/import", ""},
		"GET /v1/templates/{namespace}/{name}/{version}":             {"/v1/templates/default/import/1.0.0", ""},
		"GET /v1/templates/{namespace}/{name}/{version}/stats":       {"/v1/templates/default/import/1.0.0/stats", ""},
		"POST /internal/workers/register":                            {"/internal/workers/register", `{"handlers":["save"]}`},
		"GET /internal/workers":                                      {"/internal/workers", ""},
		"POST /internal/workers/{id}/poll":                           {at + "/poll", `{"wait_ms":1000}`},
		"POST /internal/workers/{id}/start":                          {at + "/start", `{"steps":[` + lease + `]}`},
		"POST /internal/workers/{id}/steps/{step_uuid}/large_result": {at + "/steps/" + step + "/large_result", `1`},
		"GET /internal/workers/{id}/steps/{step_uuid}/parent_results/{name}": {at + "/steps/" + step + "/parent_results/a",
			""},
		"POST /internal/workers/{id}/progress": {at + "/progress",
			`{"step_uuid":"` + step + `","token":"1","progress_percent":5}`},
		"POST /internal/workers/{id}/result": {at + "/result",
			`{"results":[{"step_uuid":"` + step + `","token":"1","status":"completed"}]}`},
		"POST /internal/workers/{id}/heartbeat": {at + "/heartbeat", `{"steps":[` + lease + `]}`},
		"POST /internal/workers/{id}/drain":     {at + "/drain", `{"final":true}`},
		"GET /internal/workers/{id}":            {at, ""},
		"POST /internal/workers/{id}/resume":    {at + "/resume", ""},
		"POST /internal/workers/{id}/cordon":    {at + "/cordon", ""},
		"POST /internal/workers/{id}/uncordon":  {at + "/uncordon", ""},
		"GET /api/v1/tasks":                     {"/api/v1/tasks", ""},
		"POST /api/v1/tasks":                    {"/api/v1/tasks", `{"task_type":"load"}`},
		"POST /api/v1/tasks/batch": {"/api/v1/tasks/batch",
			`{"tasks":[{"task_type":"load"},{"task_type":"other"}]}`},
		"GET /api/v1/tasks/{id}":    {queued, ""},
		"DELETE /api/v1/tasks/{id}": {queued, ""},
		"GET /api/v1/queue/stats":   {"/api/v1/queue/stats", ""},
		"GET /v1/routes":            {"/v1/routes", ""},
		"GET /api/v1/dlq":           {"/api/v1/dlq", ""},
		"GET /api/v1/dlq/patterns":  {"/api/v1/dlq/patterns", ""},
		"POST /api/v1/dlq/{task_id}/replay": {"/api/v1/dlq/" + receipt.TaskUUID.String() + "/replay",
			`{"replayed_by":"ann"}`},
		"POST /api/v1/workers/register":      {"/api/v1/workers/register", `{"task_types":["save"]}`},
		"POST /api/v1/workers/{id}/poll":     {pool + "/poll", `{"wait_ms":1000}`},
		"POST /api/v1/workers/{id}/start":    {pool + "/start", `{` + mine + `}`},
		"POST /api/v1/workers/{id}/progress": {pool + "/progress", `{` + mine + `,"progress_percent":5}`},
		"POST /api/v1/workers/{id}/result":   {pool + "/result", `{` + mine + `,"status":"completed"}`},
		"POST /api/v1/workers/{id}/heartbeat": {pool + "/heartbeat",
			`{"current_tasks":["` + receipt.TaskUUID.String() + `"]}`},
		"GET /v1/pauses":                               {"/v1/pauses", ""},
		"POST /v1/pauses":                              {"/v1/pauses", `{"kind":"handler","handler":"none","reason":"down","paused_by":"ann"}`},
		"GET /v1/approvals":                            {"/v1/approvals", ""},
		"GET /v1/signals":                              {"/v1/signals", ""},
		"POST /v1/signals":                             {"/v1/signals", `{"name":"paid","key":"7"}`},
		"GET /v1/limits":                               {"/v1/limits", ""},
		"POST /v1/limits":                              {"/v1/limits", `{"kind":"handler","handler":"none","concurrency":3}`},
		"POST /v1/limits/delete":                       {"/v1/limits/delete", `{"kind":"handler","namespace":"shop","handler":"mail"}`},
		"POST /v1/pauses/resume":                       {"/v1/pauses/resume", `{"kind":"namespace","namespace":"shop"}`},
		"GET /v1/outages":                              {"/v1/outages", ""},
		"GET /v1/outages/{outage_uuid}":                {outage, ""},
		"POST /v1/outages/{outage_uuid}/close":         {outage + "/close", `{"closed_by":"ann"}`},
		"GET /v1/schedules":                            {"/v1/schedules", ""},
		"POST /v1/schedules":                           {"/v1/schedules", `{"name":"new","cron":"@daily","task_type":"t"}`},
		"GET /v1/schedules/{namespace}/{name}":         {"/v1/schedules/default/nightly", ""},
		"GET /v1/schedules/{namespace}/{name}/firings": {"/v1/schedules/default/nightly/firings", ""},
		"POST /v1/schedules/{namespace}/{name}/pause":  {"/v1/schedules/default/nightly/pause", ""},
		"POST /v1/schedules/{namespace}/{name}/resume": {"/v1/schedules/default/paused/resume", ""},
		"POST /v1/schedules/{namespace}/{name}/run":    {"/v1/schedules/default/nightly/run", ""},
		"POST /v1/schedules/{namespace}/{name}/backfill": {"/v1/schedules/default/nightly/backfill",
			`{"from":"2026-01-01T00:00:00Z","until":"2026-01-02T00:00:00Z"}`},
		"DELETE /v1/schedules/{namespace}/{name}": {"/v1/schedules/default/old", ""},
		"GET /health/ready":                       {"/health/ready", ""},
	})
}

func join(a, b map[string][2]string) map[string][2]string {
	maps.Copy(a, b)
	return a
}

func (n *node) documented(t *testing.T) []string {
	t.Helper()
	_, body := n.send(t, http.MethodGet, "/openapi.json", "")
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	var out []string
	for path, item := range doc.Paths {
		for method := range item {
			out = append(out, strings.ToUpper(method)+" "+path)
		}
	}
	return out
}

// withoutDatabase are the operations that need no database. Webhooks are configuration, and a test of one stores
// nothing.
var withoutDatabase = []string{"GET /health/live", "GET /version", "GET /metrics", "GET /v1/webhooks",
	"POST /v1/webhooks/{name}/test"}

// remembered are operations that a server may answer from memory, with such an answer: template versions never
// change, a server trusts a worker's state for a moment, and a draining worker gets nothing anyway.
var remembered = map[string]string{
	"POST /internal/workers/{id}/poll":               `"should_drain":true`,
	"POST /api/v1/workers/{id}/poll":                 `"should_drain":true`,
	"GET /v1/templates/{namespace}/{name}/{version}": `"fingerprint"`,
	"GET /internal/workers/{id}":                     `"worker_id"`,
}

// TestDatabaseDown stops PostgreSQL under a server: every operation is unavailable with a time to retry, and none
// answers that there is nothing. The server recovers with the database.
func TestDatabaseDown(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	n := runNode(t, server.DSN())
	operations := n.operations(t)
	for _, op := range n.documented(t) {
		if _, ok := operations[op]; !ok && !slices.Contains(withoutDatabase, op) {
			t.Errorf("%s is not tested", op)
		}
	}
	for op, call := range operations {
		method, path, _ := strings.Cut(op, " ")
		// A worker that has signed off is not found, whatever comes first.
		resp, body := n.send(t, method, call[0], call[1])
		missed := resp.StatusCode == http.StatusNotFound && !strings.Contains(path, "/workers/") &&
			!strings.HasSuffix(path, "/large_result") // the step has none
		if resp.StatusCode >= 500 || resp.StatusCode == http.StatusBadRequest || missed {
			t.Errorf("%s with the database up: %d %s", op, resp.StatusCode, body)
		}
	}
	if err := server.Stop(pgtest.Immediate); err != nil {
		t.Fatal(err)
	}
	for _, op := range slices.Sorted(maps.Keys(operations)) {
		method, _, _ := strings.Cut(op, " ")
		// Another template, because known ones need no database.
		resp, body := n.send(t, method, operations[op][0], strings.Replace(operations[op][1], "export", "backup", 1))
		if what := remembered[op]; what != "" && resp.StatusCode == http.StatusOK && strings.Contains(body, what) {
			continue
		}
		if err := checkUnavailable(resp, body); err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
	if resp, body := n.send(t, http.MethodGet, "/health/live", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("the process does not live: %d %s", resp.StatusCode, body)
	}
	if err := checkGauges(n.send(t, http.MethodGet, "/metrics", "")); err != nil {
		t.Error(err)
	}
	var e *tasker.Error
	if _, err := n.Tasks(t.Context(), tasker.TaskFilter{}); !errors.As(err, &e) || e.Code != tasker.CodeUnavailable ||
		e.RetryAfter <= 0 {
		t.Errorf("the client says %v", err)
	}

	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, n)
	if page, err := n.Tasks(t.Context(), tasker.TaskFilter{}); err != nil || len(page.Tasks) == 0 {
		t.Errorf("after the outage the tasks are %+v, %v", page, err)
	}
}

func checkUnavailable(resp *http.Response, body string) error {
	var p struct {
		Status int         `json:"status"`
		Code   tasker.Code `json:"code"`
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		return fmt.Errorf("answer %d is no JSON: %s", resp.StatusCode, body)
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	switch {
	case resp.StatusCode != http.StatusServiceUnavailable, p.Status != resp.StatusCode, p.Code != tasker.CodeUnavailable:
		return fmt.Errorf("answer is %d %s", resp.StatusCode, body)
	case err != nil || seconds < 1:
		return fmt.Errorf("Retry-After is %q", resp.Header.Get("Retry-After"))
	case resp.Header.Get("Content-Type") != "application/problem+json":
		return fmt.Errorf("the answer is %s", resp.Header.Get("Content-Type"))
	case strings.Contains(body, "127.0.0.1"), strings.Contains(body, "postgres"):
		return fmt.Errorf("the answer tells where the database is: %s", body)
	}
	return nil
}

func checkGauges(resp *http.Response, body string) error {
	switch {
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("/metrics is answered %d %s", resp.StatusCode, body)
	case !strings.Contains(body, "\ntasker_store_up 0\n"):
		return errors.New("/metrics does not say that the database is down")
	}
	for _, gauge := range []string{"tasker_dlq_pending_investigations", "tasker_staleness_tasks{", "tasker_queue_ready"} {
		if strings.Contains(body, "\n"+gauge) {
			return fmt.Errorf("/metrics shows %s, though nobody can know it", gauge)
		}
	}
	return nil
}

// awaitReady polls until the server answers again; nothing signals it.
func awaitReady(t *testing.T, n *node) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		if resp, _ := n.send(t, http.MethodGet, "/health/ready", ""); resp.StatusCode == http.StatusOK {
			return
		}
	}
	t.Fatal("the server is not ready, though the database is back")
}
