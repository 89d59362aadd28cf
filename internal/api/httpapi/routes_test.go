package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
)

type example struct {
	id, method, path, body string
	status                 int
	want                   string // part of the answer
}

func examples() []example {
	task := "/v1/tasks/" + taskID.String()
	step := task + "/workflow_steps/" + stepID.String()
	worker := "/internal/workers/" + workerID.String()
	queueWorker, held := "/api/v1/workers/"+workerID.String(), `{"task_id":"`+taskID.String()+`"}`
	letter, group, source := "/v1/dead-letters/"+letterID.String(), "/v1/groups/00000000000000ab",
		"/v1/sources/default/billing"
	redrive, redrives := "/v1/redrives/"+redriveID.String(), `{"operation":"redrive","selection":{"kind":"letter"}}`
	lease := `{"step_uuid":"` + stepID.String() + `","token":"7"}`
	return []example{
		{"submit-task", "POST", "/v1/tasks", `{"name":"import","context":{"a":1}}`, 201, `"created":true`},
		{"submit-tasks", "POST", "/v1/tasks/batch", `{"tasks":[{"name":"import"},{"task_type":"noop","priority":75}]}`, 200,
			`{"results":[{"task_uuid"`},
		{"list-tasks", "GET", "/v1/tasks?state=error&limit=10", "", 200, `"next_cursor":"end~`},
		{"get-task", "GET", task, "", 200, `"priority_level":75`},
		{"get-task-history", "GET", task + "/history", "", 200, `"outcome":"failed"`},
		{"explain-task", "GET", task + "/explain", "", 200, `"why":"3 of 3 attempts failed."`},
		{"cancel-task", "DELETE", task + "?cancelled_by=ann&reason=late", "", 200, `"state":"cancelled"`},
		{"cancel-tasks", "POST", "/v1/tasks/cancel", `{"task_uuids":["` + taskID.String() + `"]}`, 200, `{"results":[`},
		{"list-children", "GET", step + "/children", "", 200, `{"children":[{"index":0,`},
		{"list-steps", "GET", task + "/workflow_steps", "", 200, `[{"step_uuid"`},
		{"get-step", "GET", step, "", 200, `"current_state":"error"`},
		{"get-large-result", "GET", step + "/large_result", "", 200, `"large"`},
		{"list-step-logs", "GET", step + "/logs", "", 200, `"text":"no route"`},
		{"act-on-step", "PATCH", step, `{"action_type":"reset_for_retry","reset_by":"ann","reason":"fixed"}`, 200,
			`"step_uuid"`},
		{"list-cases", "GET", "/v1/dlq?resolution_status=pending&limit=10.0", "", 200, `[{"dlq_entry_uuid"`},
		{"list-failed-tasks", "GET", "/api/v1/dlq?retryable=true&limit=10", "", 200, `{"tasks":[{"task_id"`},
		{"get-failure-report", "GET", "/api/v1/dlq/patterns?namespace=default", "", 200, `"replayable_count":101`},
		{"edit-task-context", "PATCH", "/v1/tasks/" + taskID.String() + "/context",
			`{"merge":{"a":2},"reason":"typo","edited_by":"ann"}`, 200, `"ended_steps":["first"]`},
		{"update-cases", "POST", "/v1/dlq/update",
			`{"filter":{"resolution_status":"pending"},"update":{"resolution_notes":"x"},"dry_run":true}`, 200,
			`"next_cursor":"on~`},
		{"act-on-cases", "POST", "/v1/dlq/act",
			`{"filter":{"task_name":"import"},"action":{"action_type":"reset_for_retry","reason":"x"}}`, 200,
			`"step_name":"load"`},
		{"replay-task", "POST", "/api/v1/dlq/" + taskID.String() + "/replay",
			`{"reset_retry_count":true,"new_priority":"high"}`, 200, `"replay_count":2`},
		{"get-case", "GET", "/v1/dlq/task/" + taskID.String(), "", 200, `"task_snapshot":{`},
		{"open-case", "POST", "/v1/dlq/task/" + taskID.String(), `{"reason":"looks odd","opened_by":"ann"}`, 201,
			`"dlq_reason":"manual_dlq"`},
		{"update-case", "PATCH", "/v1/dlq/entry/" + caseID.String(),
			`{"resolution_status":"manually_resolved","resolved_by":"ann"}`, 200, `{"success":true`},
		{"get-case-stats", "GET", "/v1/dlq/stats", "", 200, `[{"dlq_reason"`},
		{"get-investigation-queue", "GET", "/v1/dlq/investigation-queue?limit=100", "", 200, `"priority_score":165.5`},
		{"get-staleness", "GET", "/v1/dlq/staleness?limit=100", "", 200, `"health_status":"warning"`},
		{"detect-staleness", "POST", "/v1/dlq/staleness/detect", `{"dry_run":true}`, 200,
			`"action_taken":"would_transition_to_dlq_and_error"`},
		{"stream-executions", "GET", "/api/v1/executions/stream?id=" + taskID.String() + "&until=settled", "", 200,
			`"status":"completed"`},
		{"stream-events", "GET", "/v1/events?task=" + taskID.String() + "&until=settled", "", 200, `"to_state":"complete"`},
		{"list-audit-chain", "GET", "/v1/audit/chain?above=8&limit=1000", "", 200, `{"archives":[{"seq":8`},
		{"list-loose-acts", "GET", "/v1/audit/loose?above=0", "", 200, `{"acts":[{"no":3`},
		{"list-audit", "GET", "/v1/audit?actor=ann", "", 200, `[{"no":9`},
		{"list-task-audit", "GET", task + "/audit", "", 200, `"kind":"update_case"`},
		{"list-case-audit", "GET", "/v1/dlq/entry/" + caseID.String() + "/audit", "", 200, `"kind":"update_case"`},
		{"register-template", "POST", "/v1/templates", `{"yaml":"name: import"}`, 201, `"fingerprint"`},
		{"list-templates", "GET", "/v1/templates?namespace=default", "", 200, `{"templates":[`},
		{"get-template", "GET", "/v1/templates/default/import", "", 200, `"version":"1.0.0"`},
		{"get-template-version", "GET", "/v1/templates/default/import/1.0.0", "", 200, `"version":"1.0.0"`},
		{"get-template-stats", "GET", "/v1/templates/default/import/1.0.0/stats?tasks=10", "", 200, `"failure_rate":0.5`},
		{"register-worker", "POST", "/internal/workers/register", `{"capabilities":["gpu"],"capacity":5}`, 200,
			`"worker_id"`},
		{"list-workers", "GET", "/internal/workers", "", 200, `{"workers":[`},
		{"poll", "POST", worker + "/poll", `{"capacity":3}`, 200, `"token":"7"`},
		{"start", "POST", worker + "/start", `{"steps":[` + lease + `]}`, 200, `{"leases":[`},
		{"progress", "POST", worker + "/progress", `{"step_uuid":"` + stepID.String() +
			`","token":"7","progress_percent":10}`, 200, `"status":"held"`},
		{"result", "POST", worker + "/result", `{"results":[{"step_uuid":"` + stepID.String() +
			`","token":"7","status":"completed"}]}`, 200, `{"results":[`},
		{"send-large-result", "POST", worker + "/steps/" + stepID.String() + "/large_result", `"large"`, 200,
			`"large_result":"7 bytes"`},
		{"get-large-parent-result", "GET", worker + "/steps/" + stepID.String() + "/parent_results/make", "", 200, `"large"`},
		{"heartbeat", "POST", worker + "/heartbeat", `{"current_load":1,"steps":[` + lease + `]}`, 200,
			`"acknowledged":true`},
		{"get-worker", "GET", worker, "", 200, `"circuit_breaker"`},
		{"resume-worker", "POST", worker + "/resume", "", 200, `"status":"active"`},
		{"cordon-worker", "POST", worker + "/cordon", `{"reason":"disk full"}`, 200, `"status":"active"`},
		{"uncordon-worker", "POST", worker + "/uncordon", "", 200, `"status":"active"`},
		{"drain", "POST", worker + "/drain", `{"final":true}`, 200, `"released":2`},
		{"enqueue-task", "POST", "/api/v1/tasks", `{"task_type":"video","priority":"low"}`, 201, `"position_in_queue":3`},
		{"enqueue-tasks", "POST", "/api/v1/tasks/batch",
			`{"tasks":[{"task_type":"video"},{"task_type":"mail","priority":75}]}`, 200, `{"results":[{"task_id"`},
		{"list-queue-tasks", "GET", "/api/v1/tasks?status=queued&status=executing,failed&user_id=ann&limit=10", "", 200,
			`{"tasks":[{"task_id"`},
		{"get-queue-task", "GET", "/api/v1/tasks/" + taskID.String() + "?include_history=true", "", 200,
			`"state_history":[{"state":"queued"`},
		{"cancel-queue-task", "DELETE", "/api/v1/tasks/" + taskID.String() + "?cancelled_by=ann&reason=late", "", 200,
			`"worker_notified":true`},
		{"create-execution", "POST", "/api/v1/executions", `{"action_ref":"core.echo","parameters":{"message":"hi"}}`, 201,
			`"status":"running"`},
		{"list-executions", "GET", "/api/v1/executions?status=scheduling,failed&action_ref=imp*&limit=1", "", 200,
			`{"executions":[{"id"`},
		{"get-execution", "GET", "/api/v1/executions/" + taskID.String(), "", 200, `"retry_reason":"transient_error"`},
		{"get-execution-stats", "GET", "/api/v1/executions/stats?namespace=default", "", 200, `"scheduling":7`},
		{"get-expired-executions", "GET", "/api/v1/executions/expired?hours=48", "", 200, `"total":5`},
		{"cancel-execution", "POST", "/api/v1/executions/" + taskID.String() + "/cancel", `{"cancelled_by":"ann"}`, 200,
			`"action_ref":"import"`},
		{"retry-execution", "POST", "/api/v1/executions/" + taskID.String() + "/retry", `{"reason":"fixed"}`, 200,
			`"action_ref":"import"`},
		{"get-queue-stats", "GET", "/api/v1/queue/stats?namespace=default", "", 200, `"total_depth":7`},
		{"list-routes", "GET", "/v1/routes?show=stuck&limit=10", "", 200, `"why":"no live worker serves it"`},
		{"list-pauses", "GET", "/v1/pauses?kind=route&namespace=default", "", 200, `"capabilities":["gpu"],"paused_at":`},
		{"pause", "POST", "/v1/pauses", `{"kind":"handler","handler":"charge","reason":"down","paused_by":"ann"}`, 201,
			`"paused_by":"ann"`},
		{"list-approvals", "GET", "/v1/approvals?namespace=default&template=refund&step=ask&after=2026-01-31T12:00:00Z", "", 200,
			`"approval":"Refund?","since":`},
		{"list-signals", "GET", "/v1/signals?namespace=default&name=paid&key=7&include_taken=true&before=2026-01-31T12:00:00Z",
			"", 200, `"key":"7","received_at":`},
		{"send-signal", "POST", "/v1/signals", `{"name":"paid","key":"7","payload":{"a":1}}`, 201, `"taken":2`},
		{"list-limits", "GET", "/v1/limits?kind=route&handler=charge", "", 200, `"concurrency":5,"running":3,`},
		{"set-limit", "POST", "/v1/limits", `{"kind":"handler","handler":"charge","concurrency":5,"reason":"slow"}`, 201,
			`"concurrency":5`},
		{"delete-limit", "POST", "/v1/limits/delete", `{"kind":"handler","handler":"charge"}`, 200, `"deleted_at":"`},
		{"resume", "POST", "/v1/pauses/resume", `{"kind":"namespace","namespace":"shop"}`, 200, `"ended_at":"`},
		{"list-outages", "GET", "/v1/outages?state=open&namespace=default", "", 200, `"last_probe":"failed"`},
		{"get-outage", "GET", "/v1/outages/" + taskID.String(), "", 200, `"etag":"7"`},
		{"close-outage", "POST", "/v1/outages/" + taskID.String() + "/close", `{"reason":"fixed","closed_by":"ann"}`, 200,
			`"close_reason":"fixed"`},
		{"register-queue-worker", "POST", "/api/v1/workers/register", `{"capabilities":["gpu"],"capacity":5,"host":"h"}`, 200,
			`"poll_interval_seconds":1`},
		{"poll-queue", "POST", queueWorker + "/poll", `{"available_capacity":3}`, 200, `"visibility_timeout_until"`},
		{"start-queue-task", "POST", queueWorker + "/start", held, 200, `"acknowledged":true`},
		{"progress-of-queue-task", "POST", queueWorker + "/progress",
			`{"task_id":"` + taskID.String() + `","progress_percent":10}`, 200, `"status":"held"`},
		{"result-of-queue-task", "POST", queueWorker + "/result",
			`{"task_id":"` + taskID.String() + `","status":"completed","result":{"n":1}}`, 200, `"step_state":"complete"`},
		{"list-fleet", "GET", "/api/v1/workers?role=action&status=active&cordoned=false&limit=10", "", 200,
			`{"workers":[{"id":`},
		{"get-fleet-worker", "GET", queueWorker, "", 200, `"role":"action"`},
		{"cordon-fleet-worker", "POST", queueWorker + "/cordon", `{"reason":"noisy"}`, 200, `"role":"action"`},
		{"uncordon-fleet-worker", "POST", queueWorker + "/uncordon", "", 200, `"role":"action"`},
		{"drain-queue-worker", "POST", queueWorker + "/drain", `{}`, 200, `"released":2`},
		{"dismiss-queue-worker", "DELETE", queueWorker, "", 200, `"released":2`},
		{"heartbeat-of-queue-worker", "POST", queueWorker + "/heartbeat",
			`{"current_load":3,"status":"busy","health":{"cpu_usage_percent":80}}`, 200, `"should_drain":false`},
		{"report-dead-letters", "POST", "/v1/dead-letters",
			`{"source":"billing","reports":[{"origin":"orders","payload":{"n":1},"failure":{"message":"no"}}]}`, 200,
			`"status":"captured"`},
		{"list-dead-letters", "GET", "/v1/dead-letters?state=open&group_id=00000000000000ab&parked=false", "", 200,
			`{"letters":[{"letter_uuid"`},
		{"export-dead-letters", "GET", "/v1/dead-letters/export?source=billing", "", 200, `"source":"billing"`},
		{"get-dead-letter", "GET", letter, "", 200, `"history":[{"no":1`},
		{"explain-dead-letter", "GET", letter + "/explain", "", 200, `"summary":"The letter waits."`},
		{"explain-redrive", "GET", redrive + "/explain", "", 200, `"summary":"It is halted."`},
		{"edit-dead-letter", "PATCH", letter, `{"patch":{"n":2},"set_headers":[{"name":"a","value":"b"}],"reason":"typo"}`,
			200, `"edited":{`},
		{"discard-dead-letter", "POST", letter + "/discard", `{"reason":"old"}`, 200, `"letter_uuid"`},
		{"restore-dead-letter", "POST", letter + "/restore", "", 200, `"letter_uuid"`},
		{"list-groups", "GET", "/v1/groups?open_only=true&order=open&limit=10", "", 200, `"next_cursor":"on~`},
		{"get-group", "GET", group, "", 200, `"notes":[{"no":1`},
		{"change-group", "PATCH", group, `{"state":"ignored","ignore":{"count":9},"owner":"","note":"known"}`, 200,
			`"group_id":"00000000000000ab"`},
		{"change-groups", "PATCH", "/v1/groups", `{"filter":{"where":"billing"},"owner":"payments"}`, 200,
			`"results":[{"group_id":"00000000000000ab"`},
		{"merge-groups", "POST", group + "/merge", `{"groups":["00000000000000ac"]}`, 200, `"group_id"`},
		{"unmerge-group", "POST", group + "/unmerge", "", 200, `"group_id"`},
		{"split-group", "POST", group + "/split", `{"group_by":["handler"]}`, 200, `"since_version":1`},
		{"unsplit-group", "POST", group + "/unsplit", "", 200, `"group_id"`},
		{"preview-replay", "POST", "/v1/replays/preview", `{"source":"web"}`, 200, `"samples":[{"partition":1`},
		{"create-replay", "POST", "/v1/replays", `{"source":"web","since":"2026-03-01T12:00:00Z"}`, 201, `"state":"draft"`},
		{"list-replays", "GET", "/v1/replays?namespace=default", "", 200, `{"replays":[`},
		{"get-replay", "GET", "/v1/replays/" + replayID.String(), "", 200, `"counts":{"letters":3`},
		{"act-on-replay", "PATCH", "/v1/replays/" + replayID.String(), `{"action":"pause"}`, 200, `"replay_uuid"`},
		{"preview-redrive", "POST", "/v1/redrives/preview", redrives, 200, `"samples":[{"kind":"letter"`},
		{"create-redrive", "POST", "/v1/redrives", redrives, 201, `"state":"draft"`},
		{"list-redrives", "GET", "/v1/redrives?state=running&state=observing", "", 200, `{"redrives":[`},
		{"get-redrive", "GET", redrive, "", 200, `"counts":{"pending":3`},
		{"act-on-redrive", "PATCH", redrive, `{"action":"pause"}`, 200, `"redrive_uuid"`},
		{"list-redrive-items", "GET", redrive + "/items?state=failed&limit=2", "", 200, `{"items":[{"no":7`},
		{"list-sources", "GET", "/v1/sources?namespace=default", "", 200, `"open":4`},
		{"save-source", "POST", "/v1/sources", `{"name":"billing","driver":"http","targets":["orders*"]}`, 201,
			`"name":"billing"`},
		{"remove-source", "DELETE", source + "?reason=gone", "", 200, `{"removed":true}`},
		{"get-source", "GET", source, "", 200, `"policies":[{`},
		{"test-source", "POST", source + "/test", "", 200, `"state":"lost"`},
		{"pause-source", "POST", source + "/pause", `{"reason":"upgrade"}`, 200, `"paused":true`},
		{"resume-source", "POST", source + "/resume", "", 200, `"name":"billing"`},
		{"list-schedules", "GET", "/v1/schedules?namespace=default", "", 200, `{"schedules":[`},
		{"save-schedule", "POST", "/v1/schedules", `{"name":"nightly","cron":"0 3 * * *","task_type":"report"}`, 201,
			`"outcome":"created"`},
		{"get-schedule", "GET", "/v1/schedules/default/nightly", "", 200, `"next_times":["20`},
		{"list-firings", "GET", "/v1/schedules/default/nightly/firings?limit=5", "", 200, `"skips":[{"reason":"missed"`},
		{"pause-schedule", "POST", "/v1/schedules/default/nightly/pause", `{"until":"2030-01-01T00:00:00Z"}`, 200,
			`"state":"paused"`},
		{"resume-schedule", "POST", "/v1/schedules/default/nightly/resume", "", 200, `"name":"nightly"`},
		{"run-schedule", "POST", "/v1/schedules/default/nightly/run", "", 200, `"kind":"time"`},
		{"backfill-schedule", "POST", "/v1/schedules/default/nightly/backfill",
			`{"from":"2026-01-01T00:00:00Z","until":"2026-01-02T00:00:00Z"}`, 200, `"fired":1`},
		{"remove-schedule", "DELETE", "/v1/schedules/default/nightly?reason=gone", "", 200, `{"removed":true}`},
		{"list-webhooks", "GET", "/v1/webhooks", "", 200, `{"webhooks":[`},
		{"test-webhook", "POST", "/v1/webhooks/ops/test", "", 200, `"delivered":true`},
		{"list-policies", "GET", "/v1/policies", "", 200, `{"policies":[`},
		{"save-policy", "POST", "/v1/policies", `{"source":"billing","strategy":"scheduled","time_of_day":"03:30"}`, 200,
			`"strategy":"scheduled"`},
		{"remove-policy", "DELETE", "/v1/policies?source=billing&origin=a%2Fb", "", 200, `{"removed":true}`},
		{"list-rules", "GET", "/v1/rules", "", 200, `"since_version":1`},
		{"save-rule", "POST", "/v1/rules", `{"name":"tenants","when":"true","group_by":["code"]}`, 200, `"version":2`},
		{"get-rule", "GET", "/v1/rules/default/tenants", "", 200, `"versions":[`},
		{"remove-rule", "DELETE", "/v1/rules/default/tenants?reason=gone", "", 200, `{"removed":true}`},
		{"test-rule", "POST", "/v1/rules/test", `{"rule":{"name":"t","when":"true"},"failure":{"message":"m"}}`, 200,
			`"keys":["acme"]`},
		{"get-dlq-stats", "GET", "/api/dlq/stats", "", 200,
			`{"detection_queue_count":5,"analysis_queue_count":2,"total_count":8,"queues":[`},
		{"list-dlq-jobs", "GET", "/api/dlq/jobs/dlq:detection_queue?start=0&limit=10", "", 200,
			`"pagination":{"total":1,"limit":10,"offset":0,"has_more":false}`},
		{"requeue-dlq-job", "POST", "/api/dlq/requeue/dlq:detection_queue", "", 200,
			`{"success":true,"message":"Job requeued from dlq:detection_queue to detection_queue","job":null,`},
		{"requeue-dlq-job-by-id", "POST", "/api/dlq/requeue/dlq:detection_queue/" + letterID.String(), "", 200,
			`"message":"Job requeued from dlq:detection_queue to detection_queue"`},
		{"requeue-dlq-jobs", "POST", "/api/dlq/requeue-all/dlq:detection_queue", "", 200,
			`"message":"Requeued 1 jobs from dlq:detection_queue to detection_queue"`},
		{"move-dlq-job", "POST", "/api/dlq/move/dlq:detection_queue?target_queue=spare", "", 200,
			`"message":"Job requeued from dlq:detection_queue to spare"`},
		{"move-dlq-job-by-id", "POST", "/api/dlq/move/detection_queue/" + letterID.String() + "?target_queue=spare", "",
			200, `"message":"Job requeued from dlq:detection_queue to spare"`},
		{"clear-dlq", "DELETE", "/api/dlq/dlq:detection_queue", "", 200,
			`{"success":true,"message":"Cleared 5 jobs from dlq:detection_queue","queue_name":"dlq:detection_queue"`},
		{"discard-dlq-job", "DELETE", "/api/dlq/jobs/dlq:detection_queue/" + letterID.String() + "?reason=old", "", 200,
			`"count":1`},
		{"restore-dlq", "POST", "/api/dlq/restore/dlq:detection_queue", "", 200,
			`"message":"Restored 5 jobs to dlq:detection_queue"`},
		{"restore-dlq-job", "POST", "/api/dlq/restore/dlq:detection_queue/" + letterID.String(), "", 200, `"count":1`},
		{"get-dead-message-stats", "GET", "/api/v1/dlq/stats", "", 200,
			`{"by_status":{"pending":2,"scheduled":0,"retried":0,"discarded":0},"by_topic":[{"topic":"pod-events",`},
		{"list-dead-messages", "GET", "/api/v1/dlq/messages?status=pending&topic=pod-events&event_type=x&limit=7&offset=3",
			"", 200, `"total":1,"offset":3,"limit":7}`},
		{"get-dead-message", "GET", "/api/v1/dlq/messages/event-1", "", 200, `{"event_id":"event-1",`},
		{"list-dead-topics", "GET", "/api/v1/dlq/topics", "", 200, `[{"topic":"pod-events","total_messages":2,`},
		{"retry-dead-messages", "POST", "/api/v1/dlq/retry", `{"event_ids":["event-1"]}`, 200,
			`{"total":1,"successful":1,"failed":0,"pending":0,"details":[{"event_id":"event-1","status":"success"}]}`},
		{"set-retry-policy", "POST", "/api/v1/dlq/retry-policy", `{"topic":"pod-events","strategy":"immediate"}`, 200,
			`{"message":"Retry policy set for topic pod-events"}`},
		{"discard-dead-message", "DELETE", "/api/v1/dlq/messages/event-1?reason=old", "", 200,
			`{"message":"Message event-1 discarded"}`},
		{"live", "GET", "/health/live", "", 200, `"live"`},
		{"ready", "GET", "/health/ready", "", 200, `"ready"`},
		{"version", "GET", "/version", "", 200, `"v9"`},
	}
}

func TestEveryRouteOK(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{Version: "v9"})
	untested := map[string]bool{}
	for _, id := range a.doc.ids {
		untested[id] = true
	}
	for _, e := range examples() {
		delete(untested, e.id)
		t.Run(e.id, func(t *testing.T) {
			t.Parallel()
			got := a.do(t, e.method, e.path, e.body)
			if got.status != e.status || !strings.Contains(got.body, e.want) {
				t.Errorf("answer is %d %s, want %d with %s", got.status, got.body, e.status, e.want)
			}
			if got.header.Get("X-Request-Id") == "" || got.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("headers are %v", got.header)
			}
		})
	}
	for id := range untested {
		t.Errorf("operation %s has no example", id)
	}
}

func TestEveryRouteError(t *testing.T) {
	t.Parallel()
	for _, kind := range web.ProblemKinds() {
		t.Run(string(kind.Code), func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			err := &tasker.Error{Code: kind.Code, Message: "words of the backend", Hint: "a hint"}
			a := newAPI(t, &fake{err: err},
				httpapi.Options{Front: web.New(web.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})})
			internal := kind.Code == tasker.CodeInternal
			for _, e := range examples() {
				if e.id == "live" || e.id == "ready" || e.id == "version" {
					continue // without the Backend
				}
				if !a.doc.lists(t, e.id, kind.Status) {
					continue
				}
				log.Reset()
				got := a.do(t, e.method, e.path, e.body)
				p := got.problem(t)
				if got.status != kind.Status || p.Status != kind.Status || p.Code != kind.Code || p.Title != kind.Title {
					t.Errorf("%s: answer is %d %s", e.id, got.status, got.body)
				}
				if said := strings.Contains(got.body, "words of the backend"); said == internal {
					t.Errorf("%s: the answer is %s", e.id, got.body)
				}
				if logged := strings.Contains(log.String(), "words of the backend"); logged != internal {
					t.Errorf("%s: the log is %s", e.id, log.String())
				}
				if retry := got.header.Get("Retry-After"); (retry == "1") != (kind.Status == 429 || kind.Status == 503) {
					t.Errorf("%s: Retry-After is %q", e.id, retry)
				}
			}
		})
	}
}

// TestTimeIsUp: a store that did not answer in time is unavailable, not an empty list.
func TestTimeIsUp(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{context.DeadlineExceeded, fmt.Errorf("query tasks: %w", context.DeadlineExceeded)} {
		a := newAPI(t, &fake{err: cause}, httpapi.Options{})
		for _, e := range examples() {
			if e.id == "live" || e.id == "ready" || e.id == "version" {
				continue // without the Backend
			}
			got := a.do(t, e.method, e.path, e.body)
			if got.status != 503 || got.problem(t).Code != tasker.CodeUnavailable || got.header.Get("Retry-After") != "1" {
				t.Errorf("%s: answer is %d %s, Retry-After %q", e.id, got.status, got.body, got.header.Get("Retry-After"))
			}
		}
	}
}

func TestInternalDetailStaysInside(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := newAPI(t, &fake{err: errors.New("open /secret/tasker.db: disk on fire")},
		httpapi.Options{Front: web.New(web.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})})
	got := a.do(t, "GET", "/v1/tasks", "", "X-Request-Id: from-proxy.1")
	if got.status != 500 || strings.Contains(got.body, "secret") {
		t.Errorf("answer is %d %s", got.status, got.body)
	}
	if !strings.Contains(log.String(), "disk on fire") || !strings.Contains(log.String(), "request_id=from-proxy.1") {
		t.Errorf("the log lacks the cause or the request id: %s", log.String())
	}
	if got.header.Get("X-Request-Id") != "from-proxy.1" {
		t.Errorf("request id is %q", got.header.Get("X-Request-Id"))
	}
	hostile := a.do(t, "GET", "/version", "", "X-Request-Id: a b\"c")
	if id := hostile.header.Get("X-Request-Id"); strings.ContainsAny(id, " \"") || id == "" {
		t.Errorf("a hostile request id was kept: %q", id)
	}
}

func TestRetryAfterOfTheBackend(t *testing.T) {
	t.Parallel()
	a := newAPI(t,
		&fake{err: &tasker.Error{Code: tasker.CodeExhausted, Message: "full", RetryAfter: 2500 * time.Millisecond}},
		httpapi.Options{})
	if got := a.do(t, "POST", "/v1/tasks", `{"name":"x"}`); got.status != 429 || got.header.Get("Retry-After") != "3" {
		t.Errorf("answer is %d, Retry-After %q; want 429, 3", got.status, got.header.Get("Retry-After"))
	}
}

func TestUnknownRoutes(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	for name, c := range map[string]struct {
		method, path string
		status       int
		allow        string
	}{
		"Path":          {"GET", "/v2/tasks", 404, ""},
		"TrailingSlash": {"GET", "/v1/tasks/", 404, ""},
		"Method":        {"PUT", "/v1/tasks", 405, "GET, HEAD, POST"},
		"Delete":        {"PATCH", "/v1/tasks/" + taskID.String(), 405, "GET, HEAD, DELETE"},
		"Post":          {"POST", "/health/live", 405, "GET, HEAD"},
		"Sibling":       {"GET", "/internal/workers/register", 405, "POST"},
		"SiblingDelete": {"DELETE", "/v1/tasks/cancel", 405, "POST"},
		"Options":       {"OPTIONS", "/v1/tasks/cancel", 405, "POST"},
		"Documentation": {"POST", "/docs", 405, "GET, HEAD"},
		"Metrics":       {"GET", "/metrics", 404, ""},
		"Weird":         {"BREW", "/version", 405, "GET, HEAD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := a.do(t, c.method, c.path, "")
			p := got.problem(t)
			if got.status != c.status || p.Status != c.status || got.header.Get("Allow") != c.allow {
				t.Errorf("answer is %d, Allow %q: %s", got.status, got.header.Get("Allow"), got.body)
			}
		})
	}
}
