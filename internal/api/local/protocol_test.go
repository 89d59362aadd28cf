package local_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestUnknownWorker(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		ctx, nobody := t.Context(), uuid.New()
		r.submit(t, tasker.TaskRequest{TaskType: "h"})
		a := r.take(t, true)
		for name, call := range map[string]func() error{
			"Poll": func() error {
				_, err := protocol.Of(r.Client).Poll(ctx, protocol.PollRequest{WorkerID: nobody})
				return err
			},
			"Start": func() error {
				_, err := protocol.Of(r.Client).Start(ctx,
					protocol.StartRequest{WorkerID: nobody, Steps: []protocol.LeaseRef{ref(a)}})
				return err
			},
			"Progress": func() error {
				_, err := protocol.Of(r.Client).Progress(ctx,
					protocol.ProgressReport{WorkerID: nobody, StepUUID: a.StepUUID, Token: a.Token})
				return err
			},
			"Settle": func() error {
				_, err := protocol.Of(r.Client).Settle(ctx, protocol.SettleRequest{WorkerID: nobody,
					Results: []protocol.StepResult{{StepUUID: a.StepUUID, Token: a.Token, Status: protocol.ResultCompleted}}})
				return err
			},
			"Heartbeat": func() error {
				_, err := protocol.Of(r.Client).Heartbeat(ctx, protocol.Heartbeat{WorkerID: nobody})
				return err
			},
			"Drain": func() error {
				_, err := protocol.Of(r.Client).Drain(ctx, protocol.WorkerAct{WorkerID: nobody})
				return err
			},
		} {
			e := refusal(t, call(), tasker.CodeNotFound)
			if !strings.Contains(e.Message, nobody.String()) || !strings.Contains(e.Hint, "register") {
				t.Errorf("%s: %v", name, e)
			}
		}
		if s := r.step(t, a.TaskUUID, "h"); s.State != tasker.StepInProgress {
			t.Errorf("after the calls of a stranger the step is %s", s.State)
		}
	})
}

func TestRegisterWorker(t *testing.T) {
	t.Parallel()
	cfg := settings.Config{Leases: settings.Leases{HeartbeatInterval: 10 * time.Second, MissedHeartbeats: 2,
		StartTimeout: 5 * time.Second, MaxLongPoll: 3 * time.Second, PollInterval: 5 * time.Second},
		Limits: settings.Limits{PayloadBytes: 99}}
	r := newRig(t, memstore.New(nil), cfg)
	got, err := protocol.Of(r.Client).RegisterWorker(t.Context(),
		protocol.WorkerRegistration{Name: "x", Handlers: []string{"h"},
			Capabilities: []string{"b", "a", "b"}, Host: "box", Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	want := protocol.RegisteredWorker{WorkerID: got.WorkerID, PollIntervalMS: 5000, PollIntervalSeconds: 5,
		HeartbeatIntervalMS: 10_000, LeaseSeconds: 20,
		StartTimeoutSeconds: 5, MaxLongPollSeconds: 3, MaxResultPayloadBytes: 99, MaxLogBytes: 64 << 10,
		Namespaces: []string{"default"}, DefaultTimeoutSeconds: 600}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("registered as %+v, want %+v", *got, want)
	}
	list, err := protocol.Of(r.Client).Workers(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("the workers are %+v, %v", list, err)
	}
	w := list[1]
	if w.Name != "x" || w.State != "active" || w.Capacity != 0 || strings.Join(w.Capabilities, " ") != "a b" ||
		w.Host != "box" || w.Version != "v1" || !w.StartedAt.Equal(noon) {
		t.Errorf("the worker is %+v", w)
	}
	for place, reg := range map[string]protocol.WorkerRegistration{
		"/name":         {Name: "a\x1b"},
		"/handlers":     {Handlers: []string{strings.Repeat("h", 1<<20)}},
		"/capabilities": {Capabilities: []string{""}},
		"/namespaces":   {Namespaces: []string{"a\nb"}},
	} {
		_, err := protocol.Of(r.Client).RegisterWorker(t.Context(), reg)
		if e := refusal(t, err, tasker.CodeInvalid); places(e) != place || len(e.Error()) > 500 {
			t.Errorf("%s: refused with %.500s", place, e)
		}
	}
}

func TestAssignment(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.template(t, `
name: report
namespace_name: ops
version: "3"
steps:
  - {name: fetch, handler: {callable: get, initialization: {url: x}}}
  - {name: skip, handler: get}
  - {name: mail, handler: send, dependencies: [fetch, skip], timeout_seconds: 60}
`)
		id := r.submit(t, tasker.TaskRequest{Name: "report", Namespace: "ops", Context: json.RawMessage(`{"day":1}`),
			Priority: tasker.High, CorrelationID: "c"})
		fetch := r.take(t, true)
		if fetch.StepName != "fetch" || fetch.Initialization["url"] != "x" || fetch.ParentResults != nil ||
			string(fetch.Parameters) != `{"day":1}` {
			t.Errorf("the first step comes as %+v", fetch)
		}
		r.report(t, fetch, completed(`[1,2]`))
		r.act(t, id, "skip", tasker.ResolveManually)
		got := r.take(t, false)
		deadline := got.DeadlineAt
		if got.TaskUUID != id || !strings.HasPrefix(got.Token, "1.") || got.State != tasker.StepAssigned ||
			got.Namespace != "ops" || got.TaskName != "report" ||
			got.Version != "3" || got.StepName != "mail" || got.Handler != "send" || got.Attempt != 1 || got.MaxAttempts != 6 ||
			got.Priority != 75 ||
			got.CorrelationID != "c" || got.TimeoutSeconds != 60 || !got.LeaseExpiresAt.Equal(noon.Add(30*time.Second)) ||
			deadline != nil {
			t.Errorf("the step comes as %+v", got)
		}
		// A step that an operator resolved has the result null.
		if len(got.ParentResults) != 2 || string(got.ParentResults["fetch"]) != `[1,2]` ||
			string(got.ParentResults["skip"]) != `null` {
			t.Errorf("the results of the parents are %s", got.ParentResults)
		}
		r.silent(10 * time.Second)
		answers, err := protocol.Of(r.Client).Start(t.Context(),
			protocol.StartRequest{WorkerID: r.worker, Steps: []protocol.LeaseRef{ref(got)}})
		if err != nil || answers[0].Status != protocol.LeaseHeld ||
			!answers[0].LeaseExpiresAt.Equal(noon.Add(100*time.Second)) ||
			!answers[0].DeadlineAt.Equal(noon.Add(70*time.Second)) {
			t.Errorf("start was answered %+v, %v", answers, err)
		}
	})
}

func TestStartTwice(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.submit(t, tasker.TaskRequest{TaskType: "h"})
		a := r.take(t, false)
		r.start(t, a)
		r.silent(10 * time.Second)
		r.start(t, a) // the answer to the first was lost
		s := r.step(t, a.TaskUUID, "h")
		if s.Attempts != 1 || !s.LastAttemptedAt.Equal(noon) || !s.LeaseExpiresAt.Equal(noon.Add(100*time.Second)) {
			t.Errorf("started twice, the step is %+v", s)
		}
	})
}

func TestSettleWithoutStart(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.submit(t, tasker.TaskRequest{TaskType: "h"})
		a := r.take(t, false)
		r.silent(time.Second)
		if answer := r.report(t, a, completed(`1`)); answer.State != tasker.StepComplete {
			t.Errorf("the report was answered %+v", answer)
		}
		s := r.step(t, a.TaskUUID, "h")
		if s.State != tasker.StepComplete || s.Attempts != 1 || string(s.Results) != `1` || s.CompletedAt == nil {
			t.Errorf("the step is %+v", s)
		}
	})
}

// TestStaleToken: a report under a stale token changes nothing, and does not hold back the rest of its batch.
func TestStaleToken(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.submit(t, tasker.TaskRequest{TaskType: "h"})
		old := r.take(t, true)
		r.report(t, old, protocol.StepResult{Status: protocol.ResultReleased})
		now := r.take(t, true)
		if now.Token == old.Token {
			t.Fatalf("both tokens are %s", old.Token)
		}
		answers, err := protocol.Of(r.Client).Settle(t.Context(),
			protocol.SettleRequest{WorkerID: r.worker, Results: []protocol.StepResult{
				{StepUUID: old.StepUUID, Token: old.Token, Status: protocol.ResultCompleted, Result: json.RawMessage(`"old"`)},
				{StepUUID: uuid.New(), Token: now.Token, Status: protocol.ResultCompleted},
				{StepUUID: now.StepUUID, Token: now.Token, Status: protocol.ResultCompleted, Result: json.RawMessage(`"new"`)},
				{StepUUID: now.StepUUID, Token: now.Token, Status: protocol.ResultFailed,
					Error: &tasker.Failure{Message: "said twice"}},
			}})
		if err != nil {
			t.Fatal(err)
		}
		for i, code := range []tasker.Code{tasker.CodeStaleToken, tasker.CodeStaleToken, "", tasker.CodeStaleToken} {
			if got := answers[i].Error; code == "" && got != nil || code != "" && (got == nil || got.Code != code) {
				t.Errorf("result %d was answered %+v, want the code %q", i, answers[i], code)
			}
		}
		if s := r.step(t, now.TaskUUID, "h"); s.State != tasker.StepComplete || string(s.Results) != `"new"` {
			t.Errorf("the step is %s with %s", s.State, s.Results)
		}
		for name, lease := range map[string]protocol.LeaseRef{"Settled": ref(now), "Old": ref(old),
			"Unknown": {StepUUID: uuid.New(), Token: now.Token}} {
			started, err := protocol.Of(r.Client).Start(t.Context(),
				protocol.StartRequest{WorkerID: r.worker, Steps: []protocol.LeaseRef{lease}})
			if err != nil || started[0].Status != protocol.LeaseLost || started[0].Error == nil {
				t.Errorf("%s: start was answered %+v, %v", name, started, err)
			}
			report := protocol.ProgressReport{WorkerID: r.worker, StepUUID: lease.StepUUID, Token: lease.Token,
				ProgressPercent: 50}
			if answer, err := protocol.Of(r.Client).Progress(t.Context(),
				report); err != nil || answer.Status != protocol.LeaseLost ||
				answer.Error == nil {
				t.Errorf("%s: progress was answered %+v, %v", name, answer, err)
			}
		}
	})
}

func TestProgress(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.submit(t, tasker.TaskRequest{TaskType: "h"})
		a := r.take(t, true)
		for place, report := range map[string]protocol.ProgressReport{
			"/progress_percent": {ProgressPercent: 101},
			"/status_message":   {StatusMessage: "\x1b[2J"},
		} {
			report.WorkerID, report.StepUUID, report.Token = r.worker, a.StepUUID, a.Token
			_, err := protocol.Of(r.Client).Progress(t.Context(), report)
			if e := refusal(t, err, tasker.CodeInvalid); places(e) != place {
				t.Errorf("%s: refused with %v", place, e)
			}
		}
		r.silent(time.Minute)
		answer, err := protocol.Of(r.Client).Progress(t.Context(),
			protocol.ProgressReport{WorkerID: r.worker, StepUUID: a.StepUUID, Token: a.Token,
				ProgressPercent: 30, StatusMessage: "a third"})
		if err != nil || answer.Status != protocol.LeaseHeld || !answer.LeaseExpiresAt.Equal(noon.Add(150*time.Second)) {
			t.Errorf("progress was answered %+v, %v", answer, err)
		}
		if s := r.step(t, a.TaskUUID, "h"); *s.ProgressPercent != 30 || s.StatusMessage != "a third" {
			t.Errorf("the step is %+v", s)
		}
	})
}

// TestHeartbeat: without a list it renews all leases of the worker, with an empty one none, and it reports a cancelled
// task.
func TestHeartbeat(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		for range 3 {
			r.submit(t, tasker.TaskRequest{TaskType: "h"})
		}
		first, second := r.take(t, true), r.take(t, true)
		other := r.join(t, protocol.WorkerRegistration{Name: "other"})
		if resp, err := protocol.Of(r.Client).Poll(ctx,
			protocol.PollRequest{WorkerID: other, Start: true}); err != nil || len(resp.Steps) != 1 {
			t.Fatalf("the other worker got %+v, %v", resp, err)
		}
		r.silent(time.Minute)
		beat := func(steps []protocol.LeaseRef) *protocol.HeartbeatResponse {
			t.Helper()
			resp, err := protocol.Of(r.Client).Heartbeat(ctx,
				protocol.Heartbeat{WorkerID: r.worker, CurrentLoad: 2, Steps: steps})
			if err != nil || !resp.Acknowledged || resp.ShouldDrain {
				t.Fatalf("the heartbeat was answered %+v, %v", resp, err)
			}
			return resp
		}
		if resp := beat([]protocol.LeaseRef{}); len(resp.Leases) != 0 {
			t.Errorf("an empty list renewed %+v", resp.Leases)
		}
		resp := beat(nil)
		if len(resp.Leases) != 2 {
			t.Fatalf("a heartbeat of everything renewed %+v, want the two of this worker", resp.Leases)
		}
		for _, l := range resp.Leases {
			if l.Status != protocol.LeaseHeld || !l.LeaseExpiresAt.Equal(noon.Add(150*time.Second)) {
				t.Errorf("renewed as %+v", l)
			}
		}
		r.cancel(t, first.TaskUUID)
		resp = beat([]protocol.LeaseRef{ref(second), ref(first)})
		if resp.Leases[0].Status != protocol.LeaseHeld || resp.Leases[1].Status != protocol.LeaseCancelled ||
			resp.Leases[1].StepUUID != first.StepUUID {
			t.Errorf("after the cancellation the leases are %+v", resp.Leases)
		}
		// the worker loses a lease without heartbeats
		r.wait(t, 30*time.Second)
		workers, err := protocol.Of(r.Client).Workers(ctx)
		if err != nil || len(workers) != 2 {
			t.Fatalf("the workers are %+v, %v", workers, err)
		}
		for _, w := range workers {
			want := "active"
			if w.Name == "other" {
				want = "dead"
			}
			if w.State != want || w.Name == "w" && (w.ReportedLoad != 2 || w.CurrentLoad != 1) {
				t.Errorf("the worker is %+v, want it %s", w, want)
			}
		}
		// one that was taken for dead is alive again with a heartbeat
		if _, err := protocol.Of(r.Client).Heartbeat(ctx, protocol.Heartbeat{WorkerID: other}); err != nil {
			t.Error(err)
		}
		if resp, err := protocol.Of(r.Client).Poll(ctx,
			protocol.PollRequest{WorkerID: other, Start: true}); err != nil || len(resp.Steps) != 1 ||
			!strings.HasPrefix(resp.Steps[0].Token, "2.") {
			t.Errorf("back again it got %+v, %v", resp, err)
		}
	})
}

// TestDrain: the first drain ends the intake; the final one releases the leases without charging attempts.
func TestDrain(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		for range 3 {
			r.submit(t, tasker.TaskRequest{TaskType: "h"})
		}
		started, assigned := r.take(t, true), r.take(t, false)
		if resp, err := protocol.Of(r.Client).Drain(ctx,
			protocol.WorkerAct{WorkerID: r.worker}); err != nil || resp.Released != 0 {
			t.Errorf("drain was answered %+v, %v", resp, err)
		}
		if resp, err := protocol.Of(r.Client).Poll(ctx, protocol.PollRequest{WorkerID: r.worker, Start: true}); err != nil ||
			len(resp.Steps) != 0 || !resp.ShouldDrain {
			t.Errorf("a draining worker got %+v, %v", resp, err)
		}
		if resp, err := protocol.Of(r.Client).Heartbeat(ctx,
			protocol.Heartbeat{WorkerID: r.worker}); err != nil || !resp.ShouldDrain ||
			len(resp.Leases) != 2 {
			t.Errorf("its heartbeat was answered %+v, %v", resp, err)
		}
		resp, err := protocol.Of(r.Client).Drain(ctx, protocol.WorkerAct{WorkerID: r.worker, Final: true})
		if err != nil || resp.Released != 2 {
			t.Errorf("the final drain was answered %+v, %v", resp, err)
		}
		for _, a := range []protocol.Assignment{started, assigned} {
			if s := r.step(t, a.TaskUUID, "h"); s.State != tasker.StepEnqueued || s.Attempts != 0 {
				t.Errorf("given back, the step is %+v", s)
			}
		}
	})
}

func TestActs(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
		r.report(t, r.take(t, true), failed("no", true))
		step := r.step(t, id, "h").StepUUID
		for name, test := range map[string]struct {
			act   tasker.StepAction
			place string
		}{
			"ResetByNobody": {tasker.StepAction{ActionType: tasker.ResetForRetry, Reason: "x"}, "/reset_by"},
			"ResolvedByNobody": {tasker.StepAction{ActionType: tasker.ResolveManually, ResetBy: "ann", Reason: "x"},
				"/resolved_by"},
			"CompletedByNobody": {tasker.StepAction{ActionType: tasker.CompleteManually, Reason: "x",
				CompletionData: &tasker.CompletionData{Result: json.RawMessage(`1`)}}, "/completed_by"},
			"HostileName": {tasker.StepAction{ActionType: tasker.ResetForRetry, ResetBy: "\x1b]0;x\a", Reason: "x"},
				"/reset_by"},
			"WithoutReason": {tasker.StepAction{ActionType: tasker.ResetForRetry, ResetBy: "ann"}, "/reason"},
			"WithoutResult": {tasker.StepAction{ActionType: tasker.CompleteManually, CompletedBy: "ann", Reason: "x"},
				"/completion_data/result"},
			"BrokenResult": {tasker.StepAction{ActionType: tasker.CompleteManually, CompletedBy: "ann", Reason: "x",
				CompletionData: &tasker.CompletionData{Result: json.RawMessage(`{`)}}, "/completion_data/result"},
			"BrokenMetadata": {tasker.StepAction{ActionType: tasker.CompleteManually, CompletedBy: "ann", Reason: "x",
				CompletionData: &tasker.CompletionData{Result: json.RawMessage(`1`), Metadata: json.RawMessage(`{`)}},
				"/completion_data/metadata"},
			"ResolvedWithResult": {tasker.StepAction{ActionType: tasker.ResolveManually, ResolvedBy: "ann", Reason: "x",
				CompletionData: &tasker.CompletionData{Result: json.RawMessage(`1`)}}, "/completion_data"},
			"ResetWithMetadata": {tasker.StepAction{ActionType: tasker.ResetForRetry, ResetBy: "ann", Reason: "x",
				CompletionData: &tasker.CompletionData{Metadata: json.RawMessage(`{}`)}}, "/completion_data"},
			"UnknownAct": {tasker.StepAction{ActionType: "skip", ResetBy: "ann", Reason: "x"}, "/action_type"},
		} {
			_, err := r.ActOnStep(ctx, id, step, test.act)
			if e := refusal(t, err, tasker.CodeInvalid); places(e) != test.place {
				t.Errorf("%s: refused at %q: %v", name, places(e), e)
			}
		}
		_, err := r.CancelTasks(ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{id}, CancelledBy: "\x00"})
		if e := refusal(t, err, tasker.CodeInvalid); places(e) != "/cancelled_by" {
			t.Errorf("a cancellation by a hostile name is refused with %v", e)
		}
		if s := r.step(t, id, "h"); s.State != tasker.StepError || s.ResolvedBy != "" {
			t.Errorf("after refused acts the step is %+v", s)
		}

		// an act returns the step after it, with actor and reason
		if s := r.act(t, id, "h", tasker.ResetForRetry); s.State != tasker.StepPending || s.Attempts != 0 ||
			s.ResolvedBy != "ann" || s.ResolutionReason != "by hand" {
			t.Errorf("the reset was answered %+v", s)
		}
		r.wait(t, time.Second)
		a := r.take(t, true)
		_, err = r.ActOnStep(ctx, id, step, tasker.StepAction{ActionType: tasker.ResetForRetry, ResetBy: "ann", Reason: "x"})
		if e := refusal(t, err, tasker.CodeWrongState); !strings.Contains(e.Message, "in_progress") ||
			!strings.Contains(e.Hint, "in error") {
			t.Errorf("the reset of a running step is refused with %v", e)
		}
		if s := r.act(t, id, "h", tasker.CompleteManually); s.State != tasker.StepComplete ||
			string(s.Results) != `{"by":"hand"}` {
			t.Errorf("the completion was answered %+v", s)
		}
		answers, err := protocol.Of(r.Client).Settle(ctx, protocol.SettleRequest{WorkerID: r.worker,
			Results: []protocol.StepResult{{StepUUID: a.StepUUID, Token: a.Token, Status: protocol.ResultCompleted}}})
		if err != nil || answers[0].Error == nil || answers[0].Error.Code != tasker.CodeStaleToken ||
			answers[0].State != tasker.StepComplete {
			t.Errorf("the worker that was cut off was answered %+v, %v", answers, err)
		}
		_, err = r.ActOnStep(ctx, id, step, tasker.StepAction{ActionType: tasker.ResolveManually, ResolvedBy: "ann",
			Reason: "x"})
		refusal(t, err, tasker.CodeWrongState)
		receipts, err := r.CancelTasks(ctx,
			tasker.CancelRequest{TaskUUIDs: []uuid.UUID{id, uuid.New(), r.submit(t, tasker.TaskRequest{TaskType: "h"})}})
		if err != nil {
			t.Fatal(err)
		}
		for i, code := range []tasker.Code{tasker.CodeWrongState, tasker.CodeNotFound, ""} {
			if got := receipts[i].Error; code == "" && got != nil || code != "" && (got == nil || got.Code != code) {
				t.Errorf("cancellation %d was answered %+v, want the code %q", i, receipts[i], code)
			}
		}
		if receipts[0].State != tasker.TaskComplete || receipts[2].State != tasker.TaskCancelled {
			t.Errorf("the cancellations were answered %+v", receipts)
		}
	})
}

// TestFailureComesBack: the whole context of a failure is stored, and shown with the step and its attempt.
func TestFailureComesBack(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
		retryable := true
		sent := tasker.Failure{Type: "http", Message: "503 from the bank\x00\xff", Stack: "main.go:1", Code: "BANK",
			HTTPStatus:   503,
			ResponseBody: strings.Repeat("b", 9000), Retryable: &retryable, RetryAfterSeconds: 45,
			Details: json.RawMessage(`{"try": 1}`)}
		answer := r.report(t, r.take(t, true), protocol.StepResult{Status: protocol.ResultFailed, Error: &sent})
		if answer.State != tasker.StepWaitingForRetry || !answer.NextRetryAt.Equal(noon.Add(45*time.Second)) {
			t.Errorf("the failure was answered %+v", answer)
		}
		s := r.step(t, id, "h")
		h, err := r.TaskHistory(t.Context(), id)
		if err != nil || len(h.Attempts) != 1 {
			t.Fatalf("the history is %+v, %v", h, err)
		}
		for where, f := range map[string]*tasker.Failure{"step": s.LastError, "attempt": h.Attempts[0].Error} {
			if f.Type != "http" || f.Message != "503 from the bank\x00\uFFFD" || f.Stack != "main.go:1" || f.Code != "BANK" ||
				f.HTTPStatus != 503 ||
				len(f.ResponseBody) > 8<<10 || !strings.HasSuffix(f.ResponseBody, "[truncated]") || !*f.Retryable ||
				f.RetryAfterSeconds != 45 || string(f.Details) != `{"try": 1}` {
				t.Errorf("the %s shows %+v", where, f)
			}
		}
		if s.RetryEligible || s.LastFailureAt == nil || !s.NextRetryAt.Equal(*answer.NextRetryAt) || s.Worker == "" {
			t.Errorf("while the back-off runs the step is %+v", s)
		}
		r.silent(45 * time.Second)
		if s := r.step(t, id, "h"); !s.RetryEligible {
			t.Errorf("after the back-off the step is %+v", s)
		}
	})
}

func TestTaskCounts(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.template(t, diamond)
		id := r.submit(t, tasker.TaskRequest{Name: "diamond"})
		r.report(t, r.take(t, true), completed(`1`))
		r.report(t, r.take(t, true), failed("later", false))
		got := r.task(t, id)
		if got.TotalSteps != 4 || got.CompletedSteps != 1 || got.WaitingSteps != 1 || got.InProgressSteps != 1 ||
			got.PendingSteps != 1 || got.CompletionPercentage != 25 {
			t.Errorf("the task is %+v", got)
		}
		r.cancel(t, id)
		if got = r.task(t, id); got.CancelledSteps != 3 || got.CompletedSteps != 1 || got.CancelledBy != "ann" ||
			got.CancelReason != "not needed" || !got.FinishedAt.Equal(noon) {
			t.Errorf("cancelled, the task is %+v", got)
		}
	})
}

func TestStoreGone(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.submit(t, tasker.TaskRequest{TaskType: "h"})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		for name, call := range map[string]func() error{
			"Ready":     func() error { return r.b.Ready(ctx) },
			"Tasks":     func() error { _, err := r.Tasks(ctx, tasker.TaskFilter{}); return err },
			"Templates": func() error { _, err := r.Templates(ctx, tasker.TemplateFilter{}); return err },
			"Workers":   func() error { _, err := protocol.Of(r.Client).Workers(ctx); return err },
			"Submit":    func() error { _, err := r.Submit(ctx, tasker.TaskRequest{TaskType: "h"}); return err },
			"Task":      func() error { _, err := r.Task(ctx, uuid.New(), 0); return err },
			"Poll": func() error {
				_, err := protocol.Of(r.Client).Poll(ctx, protocol.PollRequest{WorkerID: r.worker})
				return err
			},
			"RunOnce": func() error { return r.b.RunOnce(ctx) },
		} {
			if code := tasker.ErrorCode(call()); code != tasker.CodeUnavailable {
				t.Errorf("%s on a closed store has the code %q, want unavailable", name, code)
			}
		}
	})
}
