package local_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

func (r *rig) smuggle(t *testing.T, name string, steps []task.StepSpec) {
	t.Helper()
	for i := range steps {
		steps[i].Handler, steps[i].Retry = "h", task.DefaultRetry()
	}
	tpl := &task.Template{Namespace: "default", Name: name, Version: "1", Fingerprint: name, CreatedAt: r.clock(),
		Steps: steps}
	tpl.Link()
	err := r.store.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		_, err := tx.InsertTemplate(ctx, tpl)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// explained renders an explanation: the summary, then a line "name state: why | next" per step.
func (r *rig) explained(t *testing.T, id uuid.UUID) string {
	t.Helper()
	x, err := r.ExplainTask(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{string(x.State) + ": " + x.Summary}
	for _, s := range x.Steps {
		lines = append(lines, s.Name+" "+string(s.State)+": "+s.Why+" | "+s.Next)
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), " ("+r.worker.String()+")", "")
}

func TestExplainLimits(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.template(t, "name: bounded\nversion: \"1\"\nlifecycle: {max_duration_minutes: 100, max_steps_in_process_minutes: "+
			"20, max_waiting_for_retry_minutes: 30}\nsteps:\n"+
			"  - {name: a, handler: h, retry: {backoff: fixed, backoff_base_ms: 7200000, max_backoff_ms: 7200000, jitter: 0}}\n")
		limits := func(id uuid.UUID, want ...string) {
			t.Helper()
			x, err := r.ExplainTask(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(x.Limits, "\n"); got != strings.Join(want, "\n") {
				t.Errorf("the limits are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}
		}
		bounded := r.submit(t, tasker.TaskRequest{Name: "bounded"})
		whole :=
			"Its max_duration_minutes (1h40m0s) end at 2026-03-01 13:40:00Z, in 1h40m0s; then it is in error, whatever it does."
		limits(bounded, "It is stale at 2026-03-01 12:20:00Z, in 20m0s: the threshold of its template for steps_in_process "+
			"is 20m0s.", whole)
		r.report(t, r.take(t, true), failed("no quota", false))
		limits(bounded, "It is stale at 2026-03-01 12:30:00Z, in 30m0s: the threshold of its template for waiting_for_retry "+
			"is 30m0s.", whole)

		usual := r.submit(t, tasker.TaskRequest{TaskType: "h", TimeoutSeconds: 7200})
		limits(usual, "It is stale at 2026-03-01 13:31:00Z, in 1h31m0s: step h may wait in its queue until 2026-03-01 "+
			"13:01:00Z, "+
			"and the threshold for all tasks for steps_in_process, 30m0s, begins then.")
		a := r.take(t, true)
		limits(usual, "It is stale at 2026-03-01 14:30:00Z, in 2h30m0s: the attempt of step h may run until 2026-03-01 "+
			"14:00:00Z, "+
			"and the threshold for all tasks for steps_in_process, 30m0s, begins then.")
		snoozed := protocol.StepResult{Status: protocol.ResultSnoozed, SnoozeSeconds: 86400}
		r.report(t, a, snoozed)
		limits(usual, "It is stale at 2026-03-02 12:30:00Z, in 24h30m0s: step h waits for a time that it was given, "+
			"2026-03-02 12:00:00Z, "+
			"and the threshold for all tasks for waiting_for_retry, 30m0s, begins then.")

		r.wait(t, 31*time.Minute)
		if _, err := r.b.DetectStaleness(t.Context(), operate.DetectRequest{}); err != nil {
			t.Fatal(err)
		}
		limits(bounded)
		const want = "It was given up with its task at 2026-03-01 12:31:00Z, " +
			"after attempt 1 of 4: stale: waiting_for_retry " +
			"for 31m0s; the threshold is 30m0s. " +
			"It would have become ready at 2026-03-01 14:00:00Z. Its last error, at 2026-03-01 12:00:00Z: no quota"
		if got := r.explained(t, bounded); !strings.Contains(got, want) {
			t.Errorf("of what was given up it says\n%s\nwant\n%s", got, want)
		}
		steps, err := r.Steps(t.Context(), bounded)
		if err != nil {
			t.Fatal(err)
		}
		if s := steps[0]; s.LastError == nil || s.LastError.Message != "no quota" || s.ResolvedBy != "" || s.Attempts != 1 {
			t.Errorf("the step says %+v", s)
		}
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		live func(t *testing.T, r *rig) uuid.UUID
		want string
	}{
		"NoWorker": {func(t *testing.T, r *rig) uuid.UUID {
			return r.submit(t, tasker.TaskRequest{TaskType: "ocr", Namespace: "scans",
				RequiredCapabilities: []string{"gpu", "cuda"}})
		}, `steps_in_process: The task is in progress: 0 of 1 step done, 1 queued or running.
ocr enqueued: It has been ready since 2026-03-01 12:00:00Z, but no live worker serves handler "ocr" in namespace "scans" with cuda, gpu. | Start a worker for handler "ocr" in namespace "scans" with cuda, gpu; it then gets the step at once.`},
		"DrainingWorkerOnly": {func(t *testing.T, r *rig) uuid.UUID {
			if _, err := protocol.Of(r.Client).Drain(t.Context(), protocol.WorkerAct{WorkerID: r.worker}); err != nil {
				t.Fatal(err)
			}
			return r.submit(t, tasker.TaskRequest{TaskType: "h"})
		}, `steps_in_process: The task is in progress: 0 of 1 step done, 1 queued or running.
h enqueued: It has been ready since 2026-03-01 12:00:00Z, but no live worker serves handler "h" in namespace "default" (1 worker is draining and claims no more steps). | Start a worker for handler "h" in namespace "default"; it then gets the step at once.`},
		"DeadWorkerOnly": {func(t *testing.T, r *rig) uuid.UUID {
			r.wait(t, 90*time.Second) // without a sign of life
			return r.submit(t, tasker.TaskRequest{TaskType: "h"})
		}, `steps_in_process: The task is in progress: 0 of 1 step done, 1 queued or running.
h enqueued: It has been ready since 2026-03-01 12:01:30Z, but no live worker serves handler "h" in namespace "default". | Start a worker for handler "h" in namespace "default"; it then gets the step at once.`},
		"OtherNamespaceOnly": {func(t *testing.T, r *rig) uuid.UUID {
			if _, err := protocol.Of(r.Client).Drain(t.Context(), protocol.WorkerAct{WorkerID: r.worker}); err != nil {
				t.Fatal(err)
			}
			r.join(t, protocol.WorkerRegistration{Name: "second", Handlers: []string{"h"}})
			return r.submit(t, tasker.TaskRequest{TaskType: "h", Namespace: "scans"})
		}, `steps_in_process: The task is in progress: 0 of 1 step done, 1 queued or running.
h enqueued: It has been ready since 2026-03-01 12:00:00Z, but no live worker serves handler "h" in namespace "scans" (1 worker is draining and claims no more steps; 1 worker serves this handler in other namespaces only). | Start a worker for handler "h" in namespace "scans"; it then gets the step at once.`},
		"Queued": {func(t *testing.T, r *rig) uuid.UUID {
			r.submit(t, tasker.TaskRequest{TaskType: "h"})
			r.submit(t, tasker.TaskRequest{TaskType: "h", Priority: tasker.Low}) // comes later
			r.submit(t, tasker.TaskRequest{TaskType: "other"})                   // another route, of the same workers
			r.join(t, protocol.WorkerRegistration{Name: "second"})
			r.wait(t, time.Second)
			return r.submit(t, tasker.TaskRequest{TaskType: "h"})
		}, `steps_in_process: The task is in progress: 0 of 1 step done, 1 queued or running.
h enqueued: It has been ready since 2026-03-01 12:00:01Z and waits on handler "h" in namespace "default": 2 steps ahead of it, 2 workers serving. | The next free worker takes the first step in the queue; add workers if the queue grows.`},
		"AssignedAndWaitingForAParent": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			r.take(t, false)
			return id
		}, `steps_in_process: The task is in progress: 0 of 2 steps done, 1 queued or running.
a assigned: It was assigned to worker w at 2026-03-01 12:00:00Z. The worker must start it before 2026-03-01 12:00:30Z. | If the worker does not start it by then, it returns to the queue and no attempt is charged.
b pending: It waits for a (assigned). | It becomes ready automatically when they are complete.`},
		"LeasedWithProgress": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{TaskType: "h", TimeoutSeconds: 300})
			a := r.take(t, true)
			r.silent(10 * time.Second)
			report := protocol.ProgressReport{WorkerID: r.worker, StepUUID: a.StepUUID, Token: a.Token, ProgressPercent: 40,
				StatusMessage: "page 4 of 10"}
			if _, err := protocol.Of(r.Client).Progress(t.Context(), report); err != nil {
				t.Fatal(err)
			}
			return id
		}, `steps_in_process: The task is in progress: 0 of 1 step done, 1 queued or running.
h in_progress: Worker w holds its lease until 2026-03-01 12:01:40Z; attempt 1 of 4 has been running since 2026-03-01 12:00:00Z. Reported progress: 40 %, page 4 of 10 | Heartbeats of the worker renew the lease. The attempt times out at 2026-03-01 12:05:00Z, in 4m50s.`},
		"WaitingForATimeAndAnApproval": {func(t *testing.T, r *rig) uuid.UUID {
			r.template(t, "name: waits\nversion: \"1\"\nsteps:\n  - {name: t, wait: {for: 2h}}\n"+
				"  - {name: a, wait: {approval: \"Refund?\", timeout: 1h}}\n  - {name: b, wait: {approval: \"Sure?\"}}\n"+
				"  - {name: c, wait: {approval: \"Tell?\", timeout: 1h, on_timeout: continue}}\n")
			id := r.submit(t, tasker.TaskRequest{Name: "waits"})
			r.wait(t, time.Minute)
			return id
		}, `steps_in_process: The task is in progress: 0 of 4 steps done, 0 queued or running, 4 waiting for what no worker does.
t waiting: It waits for a time, 2026-03-01 14:01:00Z, in 2h0m0s. | It completes automatically at that time; resolve it to continue now.
a waiting: It has been waiting for an approval since 2026-03-01 12:01:00Z: "Refund?". | Approve or reject it: tasker task approve-step, or reject-step. Without an answer it fails at 2026-03-01 13:01:00Z, in 1h0m0s.
b waiting: It has been waiting for an approval since 2026-03-01 12:01:00Z: "Sure?". | Approve or reject it: tasker task approve-step, or reject-step. It waits without end.
c waiting: It has been waiting for an approval since 2026-03-01 12:01:00Z: "Tell?". | Approve or reject it: tasker task approve-step, or reject-step. Without an answer it continues at 2026-03-01 13:01:00Z, in 1h0m0s.`},
		"SkippedWithValues": {func(t *testing.T, r *rig) uuid.UUID {
			r.template(t, "name: gifts\nversion: \"1\"\nsensitive: [/card]\nsteps:\n"+
				"  - {name: a, handler: a, when: 'context.gift == true && context.items[1].sku == \"x\" && context.items[0] > 1'}\n"+
				"  - {name: b, handler: b, dependencies: [a], when: 'parents.a.state == \"complete\" || context.card == 42'}\n"+
				"  - {name: c, handler: c}\n")
			id := r.submit(t, tasker.TaskRequest{Name: "gifts",
				Context: []byte(`{"card":41,"items":[1.10e400,{"sku":"` + strings.Repeat("y", 100) + `"}]}`)})
			r.wait(t, time.Minute)
			return id
		}, `steps_in_process: The task is in progress: 2 of 3 steps done, 1 queued or running.
a skipped: Step a was skipped at 2026-03-01 12:01:00Z: its condition did not hold: context.gift == true && context.items[1].sku == "x" && context.items[0] > 1 (context.gift is null, context.items[0] is 1.10e400, context.items[1].sku is "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…[truncated]). | Nothing: the steps that depend on it go on.
b skipped: Step b was skipped at 2026-03-01 12:01:00Z: its condition did not hold: parents.a.state == "complete" || context.card == 42 (a is skipped, context.card is "[masked]"). | Nothing: the steps that depend on it go on.
c enqueued: It has been ready since 2026-03-01 12:00:00Z and waits on handler "c" in namespace "default": 0 steps ahead of it, 1 worker serving. | The next free worker takes the first step in the queue; add workers if the queue grows.`},
		"WaitingForASignal": {func(t *testing.T, r *rig) uuid.UUID {
			r.template(t, "name: waits\nversion: \"1\"\nsteps:\n"+
				"  - {name: a, wait: {signal: paid, key: \"{{id}}\", timeout: 1h}}\n  - {name: b, wait: {signal: seen, key: k}}\n")
			id := r.submit(t, tasker.TaskRequest{Name: "waits", Context: []byte(`{"id":7}`)})
			r.wait(t, time.Minute)
			return id
		}, `steps_in_process: The task is in progress: 0 of 2 steps done, 0 queued or running, 2 waiting for what no worker does.
a waiting: It has been waiting since 2026-03-01 12:01:00Z for the signal "paid" with the key "7". | It continues when the signal arrives: tasker signal send, or POST /v1/signals. Without it it fails at 2026-03-01 13:01:00Z, in 1h0m0s.
b waiting: It has been waiting since 2026-03-01 12:01:00Z for the signal "seen" with the key "k". | It continues when the signal arrives: tasker signal send, or POST /v1/signals. It waits without end.`},
		"WaitingForRetry": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			r.report(t, r.take(t, true), failed("connection refused\nat line 3", false))
			return id
		}, `waiting_for_retry: The task is waiting: every step that could run is waiting for a retry or is snoozed.
a waiting_for_retry: Attempt 1 of 2 failed at 2026-03-01 12:00:00Z: connection refused (class transient); the step waits for its retry. | It becomes ready automatically at 2026-03-01 12:00:10Z, in 10s; reset it to run it now.
b pending: It waits for a (waiting_for_retry). | It becomes ready automatically when they are complete.`},
		"Snoozed": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
			r.report(t, r.take(t, true), protocol.StepResult{Status: protocol.ResultSnoozed, SnoozeSeconds: 3600})
			return id
		}, `waiting_for_retry: The task is waiting: every step that could run is waiting for a retry or is snoozed.
h waiting_for_retry: Its handler postponed it (snoozed) at 2026-03-01 12:00:00Z. | It becomes ready automatically at 2026-03-01 13:00:00Z, in 1h0m0s; reset it to run it now.`},
		"Scheduled": {func(t *testing.T, r *rig) uuid.UUID {
			at := noon.Add(2 * time.Hour)
			return r.submit(t, tasker.TaskRequest{TaskType: "h", RunAt: &at})
		}, `pending: The task is scheduled: it starts at 2026-03-01 14:00:00Z, in 2h0m0s.
h pending: It is scheduled for 2026-03-01 14:00:00Z, in 2h0m0s. | It becomes ready automatically at that time.`},
		"ResolvedBeforeItsTime": {func(t *testing.T, r *rig) uuid.UUID {
			at := noon.Add(2 * time.Hour)
			id := r.submit(t, tasker.TaskRequest{Name: "pair", RunAt: &at})
			r.act(t, id, "a", tasker.ResolveManually)
			return id
		},
			`waiting_for_dependencies: No step of the task can run now: the remaining steps wait for a time or for their dependencies.
b pending: It is scheduled for 2026-03-01 14:00:00Z, in 2h0m0s. | It becomes ready automatically at that time.`},
		"ErrorAfterEveryAttempt": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			for range 2 {
				r.report(t, r.take(t, true), failed("down", false))
				r.wait(t, 10*time.Second)
			}
			return id
		},
			`error: The task has been in error since 2026-03-01 12:00:10Z: 1 step failed permanently, and no other step can run. The task continues when that step is repaired.
a error: It failed permanently after attempt 2 of 2 at 2026-03-01 12:00:10Z: down. | Fix the cause and reset the step; or resolve it, or complete it with a result.
b pending: It waits for a (error). | Repair a; then it continues automatically.`},
		"ErrorFarUp": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "chain"})
			r.report(t, r.take(t, true), failed("no such file", true))
			return id
		},
			`error: The task has been in error since 2026-03-01 12:00:00Z: 1 step failed permanently, and no other step can run. The task continues when that step is repaired.
a error: It failed permanently after attempt 1 of 4 at 2026-03-01 12:00:00Z: no such file. The failure was not retryable. | Fix the cause and reset the step; or resolve it, or complete it with a result.
b pending: It waits for a (error). | Repair a; then it continues automatically.
c pending: It waits for b (pending). | Repair a; then it continues automatically.`},
		"ErrorInOneBranch": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "diamond"})
			r.report(t, r.take(t, true), completed(`1`))
			r.report(t, r.take(t, true), failed("no", true))
			r.take(t, true)
			return id
		}, `steps_in_process: The task is in progress: 1 of 4 steps done, 1 queued or running, 1 failed permanently.
join pending: It waits for left (error), right (in_progress). | Repair left; then it continues automatically.
left error: It failed permanently after attempt 1 of 4 at 2026-03-01 12:00:00Z: no. The failure was not retryable. | Fix the cause and reset the step; or resolve it, or complete it with a result.
right in_progress: Worker w holds its lease until 2026-03-01 12:01:30Z; attempt 1 of 4 has been running since 2026-03-01 12:00:00Z. | Heartbeats of the worker renew the lease. The attempt times out at 2026-03-01 12:10:00Z, in 10m0s.`},
		"ResetAndAboutToGoOn": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
			r.report(t, r.take(t, true), failed("no", true))
			r.act(t, id, "h", tasker.ResetForRetry)
			return id
		}, `enqueuing_steps: The task continues after an act of an operator: its steps are about to be enqueued.
h pending: It is scheduled for 2026-03-01 12:00:00Z, in a moment. | It becomes ready automatically at that time.`},
		"Deadline": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "bounded"})
			r.take(t, true)
			r.wait(t, time.Minute)
			return id
		},
			`error: The task has been in error since 2026-03-01 12:01:00Z: max_duration_minutes exceeded. It continues when an operator repairs a step.
a error: It was given up with its task at 2026-03-01 12:01:00Z, after attempt 1 of 4: max_duration_minutes exceeded. | Fix the cause and reset the step; or resolve it, or complete it with a result.`},
		"ErrorAfterADeadlineWasRepaired": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "bounded"})
			r.take(t, true)
			r.wait(t, time.Minute)
			r.act(t, id, "a", tasker.ResetForRetry)
			r.wait(t, time.Second)
			r.report(t, r.take(t, true), failed("no", true))
			return id
		},
			`error: The task has been in error since 2026-03-01 12:01:01Z: 1 step failed permanently, and no other step can run. The task continues when that step is repaired.
a error: It failed permanently after attempt 1 of 4 at 2026-03-01 12:01:01Z: no. The failure was not retryable. | Fix the cause and reset the step; or resolve it, or complete it with a result.`},
		"Cycle": {func(t *testing.T, r *rig) uuid.UUID {
			r.smuggle(t, "circle", []task.StepSpec{{Name: "a", Dependencies: []string{"b"}},
				{Name: "b", Dependencies: []string{"a"}}})
			return r.submit(t, tasker.TaskRequest{Name: "circle"})
		},
			`error: The task has been in error since 2026-03-01 12:00:00Z and cannot continue automatically: steps a, b wait for each other. Resolve or complete one of them, or cancel the task; then correct the template.
a pending: It waits for b (pending). | It cannot become ready automatically: steps a, b wait for each other. Resolve or complete one of them, or cancel the task; then correct the template.
b pending: It waits for a (pending). | It cannot become ready automatically: steps b, a wait for each other. Resolve or complete one of them, or cancel the task; then correct the template.`},
		"BehindACycle": {func(t *testing.T, r *rig) uuid.UUID {
			r.smuggle(t, "behind", []task.StepSpec{{Name: "go"}, {Name: "a", Dependencies: []string{"b"}},
				{Name: "b", Dependencies: []string{"a"}},
				{Name: "c", Dependencies: []string{"go", "a"}}})
			id := r.submit(t, tasker.TaskRequest{Name: "behind"})
			r.take(t, true)
			return id
		}, `steps_in_process: The task is in progress: 0 of 4 steps done, 1 queued or running.
go in_progress: Worker w holds its lease until 2026-03-01 12:01:30Z; attempt 1 of 4 has been running since 2026-03-01 12:00:00Z. | Heartbeats of the worker renew the lease. The attempt times out at 2026-03-01 12:10:00Z, in 10m0s.
a pending: It waits for b (pending). | It cannot become ready automatically: steps a, b wait for each other. Resolve or complete one of them, or cancel the task; then correct the template.
b pending: It waits for a (pending). | It cannot become ready automatically: steps b, a wait for each other. Resolve or complete one of them, or cancel the task; then correct the template.
c pending: It waits for go (in_progress), a (pending). | It cannot become ready automatically: steps a, b wait for each other. Resolve or complete one of them, or cancel the task; then correct the template.`},
		"Cancelled": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			r.cancel(t, id)
			return id
		}, `cancelled: The task was cancelled at 2026-03-01 12:00:00Z by ann: not needed.`},
		"Complete": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
			r.report(t, r.take(t, true), completed(`1`))
			return id
		}, `complete: The task completed at 2026-03-01 12:00:00Z.`},
		"ResolvedManually": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
			r.act(t, id, "h", tasker.ResolveManually)
			return id
		}, `resolved_manually: The task was resolved manually at 2026-03-01 12:00:00Z.`},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryStore(t, func(t *testing.T, r *rig) {
				for _, yaml := range []string{pair, diamond,
					"name: chain\nversion: \"1\"\nsteps:\n  - {name: a, handler: h}\n" +
						"  - {name: b, handler: h, dependencies: [a]}\n  " +
						"- {name: c, handler: h, dependencies: [b]}\n",
					"name: bounded\nversion: \"1\"\nlifecycle: {max_duration_minutes: 1}\nsteps:\n  - {name: a, handler: h}\n"} {
					r.template(t, yaml)
				}
				if got := r.explained(t, test.live(t, r)); got != test.want {
					t.Errorf("the explanation is\n%s\nwant\n%s", got, test.want)
				}
			})
		})
	}
}

func TestUnknownThings(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		ctx, nobody := t.Context(), uuid.New()
		id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
		for name, call := range map[string]func() error{
			"Task":        func() error { _, err := r.Task(ctx, nobody, 0); return err },
			"TaskWaiting": func() error { _, err := r.Task(ctx, nobody, time.Minute); return err },
			"Steps":       func() error { _, err := r.Steps(ctx, nobody); return err },
			"Step":        func() error { _, err := r.Step(ctx, id, nobody); return err },
			"StepOfAnotherTask": func() error {
				other := r.submit(t, tasker.TaskRequest{TaskType: "h"})
				_, err := r.Step(ctx, other, r.step(t, id, "h").StepUUID)
				return err
			},
			"History": func() error { _, err := r.TaskHistory(ctx, nobody); return err },
			"Explain": func() error { _, err := r.ExplainTask(ctx, nobody); return err },
			"Act": func() error {
				_, err := r.ActOnStep(ctx, id, nobody, tasker.StepAction{ActionType: tasker.ResolveManually, ResolvedBy: "ann",
					Reason: "x"})
				return err
			},
			"Template":        func() error { _, err := r.Template(ctx, "", "nothing", ""); return err },
			"TemplateVersion": func() error { _, err := r.Template(ctx, "", "nothing", "9"); return err },
		} {
			if e := refusal(t, call(), tasker.CodeNotFound); e.Message == "" {
				t.Errorf("%s is refused without a word", name)
			}
		}
	})
}

func TestExplainTurn(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		none := 0
		submit := func() uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{TaskType: "h", MaxRetries: &none, OrderingKey: "ann"})
			r.wait(t, 0)
			return id
		}
		first, _, third := submit(), submit(), submit()
		r.report(t, r.take(t, true), failed("broken", true))
		want := `pending: The task has not begun: it waits for its turn under the ordering key "ann", which the task ` +
			first.String() + ` has (error), with 1 task in between; that keeps its turn until it is repaired or cancelled.
h pending: It waits for the turn of its task. | It becomes ready automatically when that comes.`
		if got := r.explained(t, third); got != want {
			t.Errorf("explained as\n%s\nwant\n%s", got, want)
		}
		shown, err := r.Task(t.Context(), third, 0)
		if err != nil || shown.OrderingKey != "ann" || !shown.WaitsForTurn {
			t.Errorf("shown as %+v, %v", shown, err)
		}
	})
}
