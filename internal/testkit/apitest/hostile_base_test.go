package apitest_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

type base struct {
	about string // "" for the task whose step a worker holds; failed, or waiting
	body  string
}

// baseOf has an accepted request for each operation that needs a body, or another task than the held one: a request
// with one hostile place is refused for that only.
var baseOf = map[string]base{
	"post /v1/tasks":        {"", `{"task_type":"h"}`},
	"post /v1/tasks/batch":  {"", `{"tasks":[{"task_type":"h"}]}`},
	"post /v1/tasks/cancel": {"waiting", `{"task_uuids":["{task_uuid}"]}`},
	"patch /v1/tasks/{uuid}/workflow_steps/{step_uuid}": {"failed",
		`{"action_type":"resolve_manually","resolved_by":"ann","reason":"x"}`},
	"patch /v1/tasks/{uuid}/context": {"failed", `{"context":{},"edited_by":"ann","reason":"x"}`},
	"post /v1/templates": {"",
		`{"yaml":"name: t\nversion: \"1\"\nsteps: [{name: a, handler: h}]\n"}`},
	"post /v1/dlq/task/{task_uuid}":        {"waiting", `{"opened_by":"ann","reason":"x"}`},
	"patch /v1/dlq/entry/{dlq_entry_uuid}": {"", `{"resolution_notes":"x","resolved_by":"ann"}`},
	"post /v1/dlq/update": {"",
		`{"filter":{"resolution_status":"pending"},"update":{"resolution_notes":"x","resolved_by":"ann"}}`},
	"post /v1/dlq/act": {"failed",
		`{"filter":{"resolution_status":"pending"},"action":{"action_type":"reset_for_retry","reset_by":"ann","reason":"x"}}`},
	"post /v1/dlq/staleness/detect":     {"", `{"dry_run":true}`},
	"post /internal/workers/register":   {"", `{"handlers":["h"]}`},
	"post /internal/workers/{id}/poll":  {"", `{}`},
	"post /internal/workers/{id}/start": {"", `{"steps":[{"step_uuid":"{step_uuid}","token":"{token}"}]}`},
	"post /internal/workers/{id}/progress": {"",
		`{"step_uuid":"{step_uuid}","token":"{token}","progress_percent":5}`},
	"post /internal/workers/{id}/steps/{step_uuid}/large_result": {"", `1`},
	"post /internal/workers/{id}/result": {"",
		`{"results":[{"step_uuid":"{step_uuid}","token":"{token}","status":"completed"}]}`},
	"post /internal/workers/{id}/heartbeat": {"", `{}`},
	"post /internal/workers/{id}/drain":     {"", `{}`},
	"post /internal/workers/{id}/resume":    {"", `{}`},
	"post /internal/workers/{id}/cordon":    {"", `{}`},
	"post /internal/workers/{id}/uncordon":  {"", `{}`},
	"post /api/v1/tasks":                    {"", `{"task_type":"h"}`},
	"post /api/v1/tasks/batch":              {"", `{"tasks":[{"task_type":"h"}]}`},
	"post /api/v1/dlq/{task_id}/replay":     {"failed", `{}`},
	"post /api/v1/executions":               {"", `{"action_ref":"h"}`},
	"post /api/v1/executions/{id}/cancel":   {"waiting", `{}`},
	"post /api/v1/executions/{id}/retry":    {"failed", `{}`},
	"post /api/v1/workers/register":         {"", `{"task_types":["h"]}`},
	"post /api/v1/workers/{id}/poll":        {"", `{}`},
	"post /api/v1/workers/{id}/start":       {"", `{"task_id":"{task_id}","token":"{token}"}`},
	"post /api/v1/workers/{id}/progress": {"",
		`{"task_id":"{task_id}","token":"{token}","progress_percent":5}`},
	"post /api/v1/workers/{id}/result": {"",
		`{"task_id":"{task_id}","token":"{token}","status":"completed"}`},
	"post /api/v1/workers/{id}/heartbeat": {"", `{}`},
	"post /api/v1/workers/{id}/drain":     {"", `{}`},
	"post /api/v1/workers/{id}/cordon":    {"", `{}`},
	"post /api/v1/workers/{id}/uncordon":  {"", `{}`},
	"delete /v1/tasks/{uuid}":             {about: "waiting"},
	"delete /api/v1/tasks/{id}":           {about: "waiting"},
}

func (h *attacker) plain(method, path string) {
	h.t.Helper()
	if strings.HasSuffix(path, "/events") || strings.HasSuffix(path, "/stream") {
		return // the answer does not end
	}
	if method == "get" && (strings.HasSuffix(path, "/large_result") || strings.Contains(path, "/parent_results/")) {
		return // nothing has a large result
	}
	taken := h.taken
	h.send(method, h.fill(path+queryOf[method+" "+path]), h.fill(baseOf[method+" "+path].body),
		http.Header{"Tasker-Lease": {h.fill("{token}")}})
	if h.taken == taken {
		h.t.Errorf("%s %s is not taken without anything hostile in it", method, path)
	}
}

// members sends requests with one hostile member of the body.
func (h *attacker) members(method, path string, s schema) {
	if s.Ref != "" {
		s = h.doc.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		for _, value := range h.thinned(hostileValues) {
			h.prepareSometimes()
			body := map[string]any{}
			if err := json.Unmarshal([]byte(h.fill(baseOf[method+" "+path].body)), &body); err != nil {
				h.t.Fatalf("%s %s: %v", method, path, err)
			}
			body[name] = json.RawMessage(value)
			h.send(method, h.fill(path), encode(body), nil)
		}
	}
}

// prepare makes three tasks: a held one, a failed one, and a waiting one; all but the last have a case.
func (h *attacker) prepare() {
	h.t.Helper()
	ctx := h.t.Context()
	worker, err := h.engine.RegisterWorker(ctx, protocol.WorkerRegistration{Name: "w", Handlers: []string{"h", "failing"}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.known = map[string]any{"task_type": "h", "id": worker.WorkerID.String(), "worker_id": worker.WorkerID.String(),
		"wait_ms": 0, "wait_seconds": 0}
	h.prepareLetters()
	h.prepareFlow()
	about := map[string]uuid.UUID{}
	for kind, handler := range map[string]string{"failed": "failing", "waiting": "nobody", "": "h"} {
		receipt, err := h.Submit(ctx, tasker.TaskRequest{TaskType: handler})
		if err != nil {
			h.t.Fatal(err)
		}
		about[kind] = receipt.TaskUUID
	}
	polled, err := h.engine.Poll(ctx, protocol.PollRequest{WorkerID: worker.WorkerID, Capacity: 1000, Start: true})
	if err != nil {
		h.t.Fatal(err)
	}
	of := about[h.about]
	for _, a := range polled.Steps {
		switch a.TaskUUID {
		case about["failed"]:
			no := false
			result := protocol.StepResult{StepUUID: a.StepUUID, Token: a.Token, Status: protocol.ResultFailed,
				Error: &tasker.Failure{Message: "broken", Retryable: &no}}
			if _, err := h.engine.Settle(ctx, protocol.SettleRequest{WorkerID: worker.WorkerID,
				Results: []protocol.StepResult{result}}); err != nil {
				h.t.Fatal(err)
			}
		case of:
			h.known["token"] = a.Token
		}
	}
	if _, err := h.engine.OpenCase(ctx, about[""],
		operate.OpenCaseRequest{OpenedBy: "ann", Reason: "to have one"}); err != nil {
		h.t.Fatal(err)
	}
	steps, err := h.Steps(ctx, of)
	if err != nil {
		h.t.Fatal(err)
	}
	h.known["uuid"], h.known["task_uuid"], h.known["task_id"], h.known["step_uuid"] = of.String(), of.String(),
		of.String(), steps[0].StepUUID.String()
	if strings.HasPrefix(h.path, "/api/v1/tasks/") || strings.HasPrefix(h.path, "/api/v1/executions/") {
		h.known["id"] = of.String()
	}
	if h.about == "waiting" {
		return
	}
	opened, err := h.engine.CaseOfTask(ctx, of)
	if err != nil {
		h.t.Fatal(err)
	}
	h.known["dlq_entry_uuid"] = opened.CaseUUID.String()
}
