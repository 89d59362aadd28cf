package apitest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func (s *server) broken(t *testing.T) (tasker.TaskReceipt, tasker.Step) {
	t.Helper()
	receipt := s.submit(t, tasker.TaskRequest{TaskType: "fail"})
	s.settled(t, receipt, tasker.TaskError)
	return receipt, s.step(t, receipt, "fail")
}

func (s *server) lastAct(t *testing.T, kind string) operate.AuditRecord {
	t.Helper()
	records, err := s.Audit(s.ctx, operate.AuditFilter{Kind: kind, Limit: 1})
	if err != nil || len(records) != 1 {
		t.Fatalf("the last act of kind %s is %+v, %v", kind, records, err)
	}
	return records[0]
}

// TestWhoDidIt: every place that shows the claimed actor shows the API key, too.
func TestWhoDidIt(t *testing.T) { onEveryStore(t, testWhoDidIt) }

func testWhoDidIt(t *testing.T, s *server) {
	s.work(t, map[string]worker.Handler{"fail": failing})
	key := s.keyed(t, []string{"operate", "read", "submit"})
	receipt, step := s.broken(t)
	acted, err := key.ActOnStep(s.ctx, receipt.TaskUUID, step.StepUUID,
		tasker.StepAction{ActionType: tasker.ResolveManually,
			ResolvedBy: "the boss", Reason: "because"})
	if err != nil || acted.ResolvedBy != "the boss" || acted.ResolvedByKey != "the-key" {
		t.Errorf("the step is %+v, %v", acted, err)
	}
	act := s.lastAct(t, tasker.ResolveManually)
	if act.Actor != "the boss" || act.KeyName != "the-key" || act.Authenticated != operate.AuthenticatedByKey ||
		act.Template != "fail" {
		t.Errorf("the act is %+v", act)
	}
	history, err := s.TaskHistory(s.ctx, receipt.TaskUUID)
	if err != nil || !slices.ContainsFunc(history.Transitions, func(tr tasker.Transition) bool {
		return tr.Actor == "the boss" && tr.KeyName == "the-key"
	}) {
		t.Errorf("the history does not tell who did it: %+v, %v", history, err)
	}

	receipt, _ = s.broken(t)
	found, err := s.CaseOfTask(s.ctx, receipt.TaskUUID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operate.Of(key).UpdateCase(s.ctx, found.CaseUUID,
		operate.CaseUpdate{ResolutionStatus: tasker.CasePermanentlyFailed, ResolvedBy: "ann"}); err != nil {
		t.Fatal(err)
	}
	if found, err = s.CaseOfTask(s.ctx, receipt.TaskUUID); err != nil || found.ResolvedBy != "ann" ||
		found.ResolvedByKey != "the-key" {
		t.Errorf("the case is %+v, %v", found, err)
	}
	if _, err := key.CancelTasks(s.ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{receipt.TaskUUID}, CancelledBy: "bob",
		Reason: "late"}); err != nil {
		t.Fatal(err)
	}
	if task, err := s.Task(s.ctx, receipt.TaskUUID, 0); err != nil || task.CancelledBy != "bob" ||
		task.CancelledByKey != "the-key" {
		t.Errorf("the task is %+v, %v", task, err)
	}
	// Without keys there is no key, and that is stored, too.
	other, _ := s.broken(t)
	if _, err := s.ReplayTask(s.ctx, other.TaskUUID, operate.ReplayRequest{}); err != nil {
		t.Fatal(err)
	}
	if act := s.lastAct(t, "replay"); act.Actor != "anonymous" || act.Reason != "no reason given" ||
		act.Authenticated != operate.NotAuthenticated || act.KeyName != "" {
		t.Errorf("the act of nobody is %+v", act)
	}
	byKey, err := s.Audit(s.ctx, operate.AuditFilter{KeyName: "the-key"})
	if err != nil || len(byKey) != 4 { // its first use too
		t.Errorf("%d acts are of the key, %v, want 4: %+v", len(byKey), err, byKey)
	}
}

// TestNobodyIsTheSystem: the system's name and unreadable names are refused as actors in every family.
func TestNobodyIsTheSystem(t *testing.T) { onEveryStore(t, testNobodyIsTheSystem) }

func testNobodyIsTheSystem(t *testing.T, s *server) {
	s.work(t, map[string]worker.Handler{"fail": failing})
	receipt, step := s.broken(t)
	found, err := s.CaseOfTask(s.ctx, receipt.TaskUUID)
	if err != nil {
		t.Fatal(err)
	}
	id := receipt.TaskUUID.String()
	bodies := map[string]struct{ method, path, before, after string }{
		"Cancel":    {"POST", "/v1/tasks/cancel", `{"task_uuids":["` + id + `"],"reason":"x","cancelled_by":"`, `"}`},
		"CancelWhy": {"POST", "/v1/tasks/cancel", `{"task_uuids":["` + id + `"],"cancelled_by":"x","reason":"`, `"}`},
		"Step": {"PATCH", "/v1/tasks/" + id + "/workflow_steps/" + step.StepUUID.String(),
			`{"action_type":"resolve_manually","reason":"x","resolved_by":"`, `"}`},
		"StepWhy": {"PATCH", "/v1/tasks/" + id + "/workflow_steps/" + step.StepUUID.String(),
			`{"action_type":"resolve_manually","resolved_by":"x","reason":"`, `"}`},
		"Case": {"PATCH", "/v1/dlq/entry/" + found.CaseUUID.String(),
			`{"resolution_status":"cancelled","resolved_by":"`, `"}`},
		"Replay":    {"POST", "/api/v1/dlq/" + id + "/replay", `{"replayed_by":"`, `"}`},
		"ReplayWhy": {"POST", "/api/v1/dlq/" + id + "/replay", `{"reason":"`, `"}`},
		"Template": {"POST", "/v1/templates",
			`{"yaml":"{name: a, version: \"1\", steps: [{name: a, handler: a}]}","registered_by":"`, `"}`},
		"TemplateWhy": {"POST", "/v1/templates",
			`{"yaml":"{name: a, version: \"1\", steps: [{name: a, handler: a}]}","reason":"`, `"}`},
		"Edit": {"PATCH", "/v1/tasks/" + id + "/context", `{"context":{},"reason":"x","edited_by":"`, `"}`},
	}
	for name, b := range bodies {
		words := []string{" ", "\u00a0\u200b\u202e"}
		if !strings.HasSuffix(name, "Why") {
			words = append(words, "system", " SYSTEM ", "System\u200b", "sys\u200btem", "s\u00adystem")
		}
		for _, word := range words {
			if status, answer := s.send(t, b.method, b.path, b.before+word+b.after, nil); status != 400 {
				t.Errorf("%s with %q is answered %d %s, want 400", name, word, status, answer)
			}
		}
	}
	for _, family := range []string{"/v1/tasks/", "/api/v1/tasks/"} {
		for _, query := range []string{"cancelled_by=system", "cancelled_by=%20", "cancelled_by=%E2%80%8B",
			"cancelled_by=sys%E2%80%8Btem", "reason=%20%20"} {
			if status, answer := s.send(t, "DELETE", family+id+"?"+query, "", nil); status != 400 {
				t.Errorf("DELETE %s?%s is answered %d %s, want 400", family, query, status, answer)
			}
		}
	}
	if records, err := s.Audit(s.ctx, operate.AuditFilter{}); err != nil || len(records) != 0 {
		t.Errorf("the refused acts left %+v, %v", records, err)
	}
	// As the queue's own clients send it: without an actor.
	if status, answer := s.send(t, "DELETE", "/api/v1/tasks/"+id, "", nil); status != 200 {
		t.Errorf("answered %d %s", status, answer)
	}
	if act := s.lastAct(t, "cancel"); act.Actor != "anonymous" || act.Reason != "no reason given" {
		t.Errorf("the act is %+v", act)
	}
}

// TestTwoOperators: of two acts on the same seen state one succeeds, and the other is refused with the present state.
func TestTwoOperators(t *testing.T) { onEveryStore(t, testTwoOperators) }

func testTwoOperators(t *testing.T, s *server) {
	s.work(t, map[string]worker.Handler{"fail": failing})
	race := func(name string, act func() error) {
		t.Helper()
		errs := make([]error, 2)
		var both sync.WaitGroup
		for i := range errs {
			both.Go(func() { errs[i] = act() })
		}
		both.Wait()
		slices.SortFunc(errs, func(a, b error) int { return len(tasker.ErrorCode(a)) - len(tasker.ErrorCode(b)) })
		if errs[0] != nil || tasker.ErrorCode(errs[1]) != tasker.CodeConflict || !strings.Contains(errs[1].Error(), " is ") {
			t.Errorf("%s: the two are answered %v and %v, want one success and one conflict", name, errs[0], errs[1])
		}
	}
	receipt, step := s.broken(t)
	race("resolve what was read", func() error {
		_, err := s.ActOnStep(s.ctx, receipt.TaskUUID, step.StepUUID,
			tasker.StepAction{ActionType: tasker.ResolveManually, ResolvedBy: "ann", Reason: "x", IfMatch: step.ETag})
		return err
	})
	receipt, step = s.broken(t)
	race("resolve in a state", func() error {
		_, err := s.ActOnStep(s.ctx, receipt.TaskUUID, step.StepUUID,
			tasker.StepAction{ActionType: tasker.ResolveManually, ResolvedBy: "ann", Reason: "x",
				ExpectedState: string(tasker.StepError)})
		return err
	})
	receipt, _ = s.broken(t)
	failed, err := s.Task(s.ctx, receipt.TaskUUID, 0)
	if err != nil {
		t.Fatal(err)
	}
	race("replay", func() error {
		_, err := s.ReplayTask(s.ctx, receipt.TaskUUID, operate.ReplayRequest{ReplayedBy: "ann", IfMatch: failed.ETag})
		return err
	})
	s.settled(t, receipt, tasker.TaskError)
	if again, err := s.Task(s.ctx, receipt.TaskUUID, 0); err != nil || again.ETag == failed.ETag {
		t.Errorf("the task that failed again has the etag %s, as before (%v)", again.ETag, err)
	}
	found, err := s.CaseOfTask(s.ctx, receipt.TaskUUID)
	if err != nil {
		t.Fatal(err)
	}
	race("resolve a case", func() error {
		_, err := s.UpdateCase(s.ctx, found.CaseUUID,
			operate.CaseUpdate{ResolutionStatus: tasker.CaseCancelled, ResolvedBy: "ann", IfMatch: found.ETag})
		return err
	})
	many := operate.BulkCaseUpdate{Filter: operate.CaseFilter{CaseUUIDs: []uuid.UUID{found.CaseUUID}},
		Update: operate.CaseUpdate{ResolutionStatus: tasker.CaseCancelled, ResolvedBy: "ann",
			ExpectedState: string(tasker.CasePending)}}
	if bulk, err := s.UpdateCases(s.ctx, many); err != nil || len(bulk.Results) != 1 || bulk.Results[0].Error == nil ||
		bulk.Results[0].Error.Code != tasker.CodeConflict {
		t.Errorf("many cases of which one has moved are answered %+v, %v, want its conflict", bulk, err)
	}
	many.Update.IfMatch = found.ETag // of which?
	if _, err := s.UpdateCases(s.ctx, many); tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("an etag for many cases is answered %v, want invalid", err)
	}
	race("cancel", func() error {
		receipts, err := s.CancelTasks(s.ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{receipt.TaskUUID},
			ExpectedState: string(tasker.TaskError)})
		if err == nil && receipts[0].Error != nil {
			err = receipts[0].Error
		}
		return err
	})
	for name, body := range map[string]string{"State": `"expected_state":"broken"`, "Match": `"if_match":"a b"`} {
		path := "/v1/tasks/" + receipt.TaskUUID.String() + "/workflow_steps/" + step.StepUUID.String()
		status, answer := s.send(t, "PATCH", path, `{"action_type":"reset_for_retry","reset_by":"a","reason":"x",`+body+`}`,
			nil)
		if status != 400 {
			t.Errorf("%s: answered %d %s, want 400", name, status, answer)
		}
	}
}

// TestETag: the header of a GET is the precondition of the act.
func TestETag(t *testing.T) { onEveryStore(t, testETag) }

func testETag(t *testing.T, s *server) {
	s.work(t, map[string]worker.Handler{"fail": failing})
	receipt, step := s.broken(t)
	path := s.url + "/v1/tasks/" + receipt.TaskUUID.String() + "/workflow_steps/" + step.StepUUID.String()
	request := func(method, etag string) *http.Response {
		t.Helper()
		body := `{"action_type":"resolve_manually","resolved_by":"ann","reason":"x"}`
		if method == http.MethodGet {
			body = ""
		}
		r, err := http.NewRequestWithContext(s.ctx, method, path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if etag != "" {
			r.Header.Set("If-Match", etag)
		}
		answer, err := s.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer
	}
	etag := request(http.MethodGet, "").Header.Get("ETag")
	if got := request(http.MethodPatch, `"error-0"`); etag == "" || got.StatusCode != http.StatusConflict {
		t.Errorf("with another etag than %s it is answered %d, want 409", etag, got.StatusCode)
	}
	if got := request(http.MethodPatch, `"error-0", W/`+etag); got.StatusCode != http.StatusOK ||
		got.Header.Get("ETag") == etag {
		t.Errorf("with its etag it is answered %d, and has the etag %s", got.StatusCode, got.Header.Get("ETag"))
	}
}

// TestActsWithoutTask: the trail has acts on workers and templates, and the use of keys.
func TestActsWithoutTask(t *testing.T) { onEveryStore(t, testActsWithoutTask) }

func testActsWithoutTask(t *testing.T, s *server) {
	key := s.keyed(t, []string{"operate", "read", "work"})
	const document = "{name: cut, namespace_name: video, version: \"2\", steps: [{name: a, handler: a}]}"
	for range 2 { // the second time changes nothing
		if _, err := key.RegisterTemplate(s.ctx, tasker.TemplateSource{YAML: document, RegisteredBy: "ann",
			Reason: "a new cut"}); err != nil {
			t.Fatal(err)
		}
	}
	worker, err := protocol.Of(key).RegisterWorker(s.ctx, protocol.WorkerRegistration{Name: "w", Handlers: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	id := worker.WorkerID
	for range 2 {
		if _, err := protocol.Of(key).Drain(s.ctx,
			protocol.WorkerAct{WorkerID: id, By: "bob", Reason: "the disk"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := protocol.Of(key).ResumeWorker(s.ctx, protocol.WorkerAct{WorkerID: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := protocol.Of(key).Drain(s.ctx,
		protocol.WorkerAct{WorkerID: id, Final: true}); err != nil { // its own good-bye
		t.Fatal(err)
	}
	for _, req := range []operate.DetectRequest{{DryRun: true, Reason: "no act"}, {Actor: "eve", Reason: "a look"}} {
		if _, err := operate.Of(key).DetectStaleness(s.ctx, req); err != nil {
			t.Fatal(err)
		}
	}
	records, err := s.Audit(s.ctx, operate.AuditFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range records {
		if r.KeyName != "the-key" || r.TaskUUID != uuid.Nil {
			t.Errorf("the act is %+v", r)
		}
		got = append(got, r.Kind+" by "+r.Actor+": "+r.Reason+" ("+r.Before+" -> "+r.After+")")
	}
	want := []string{"detect_staleness by eve: a look ( -> )",
		"resume_worker by the-key: no reason given (draining -> active)",
		"drain_worker by bob: the disk (active -> draining)",
		"register_template by ann: a new cut ( -> 2)", "use_key by the-key: first use of the day on this node ( -> )"}
	if !slices.Equal(got, want) {
		t.Errorf("the trail is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for name, f := range map[string]struct {
		filter operate.AuditFilter
		want   int
	}{
		"Worker": {operate.AuditFilter{WorkerID: id}, 2}, "Template": {operate.AuditFilter{Template: "cut"}, 1},
		"Namespace": {operate.AuditFilter{Namespace: "audio"}, 0},
	} {
		if list, err := s.Audit(s.ctx, f.filter); err != nil || len(list) != f.want {
			t.Errorf("%s: there are %d acts, %v, want %d", name, len(list), err, f.want)
		}
	}
	// A key of one namespace sees its acts, but none on workers and keys.
	if list, err := operate.Of(s.keyed(t, []string{"read"}, "video")).Audit(s.ctx, operate.AuditFilter{}); err != nil ||
		len(list) != 1 || list[0].Template != "cut" {
		t.Errorf("the key of video sees %+v, %v", list, err)
	}
	raw, err := json.Marshal(records[0])
	if err != nil || strings.Contains(string(raw), `"task_uuid"`) {
		t.Errorf("an act about no task is %s, %v", raw, err)
	}
}

// failing is a handler that fails for good.
func failing(context.Context, *worker.Job) (any, error) {
	retryable := false
	return nil, &tasker.Failure{Type: "Broken", Message: "it is broken", Retryable: &retryable}
}
