package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

type commits struct {
	mu   sync.Mutex
	verb string
	left int
	call func()
}

func (c *commits) after(verb string, n int, call func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.verb, c.left, c.call = verb, n, call
}

func (c *commits) Committed(of *engine.Commit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of.Verb == c.verb {
		if c.left--; c.left == 0 {
			c.call()
		}
	}
}

func (*commits) Failed(string, time.Duration, error)               {}
func (*commits) Detected(engine.Detection)                         {}
func (*commits) Probed(int, int)                                   {}
func (*commits) WorkerFailed(string)                               {}
func (*commits) Refused(engine.Refusal, int)                       {}
func (*commits) Analyzed(*engine.Analysis)                         {}
func (*commits) AttemptTrace(string, task.ID, int64) (none string) { return none }

// A new worker each time, because failed steps open the breaker of the old one.
func (r *rig) worker() uuid.UUID {
	r.t.Helper()
	w, err := protocol.Of(r.client).RegisterWorker(r.t.Context(), protocol.WorkerRegistration{Name: uuid.NewString(),
		Namespaces: []string{protocol.AllNamespaces}, Capacity: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	return w.WorkerID
}

// settle ends all ready steps alike, and returns their number.
func (r *rig) settle(status string) int {
	r.t.Helper()
	w := r.worker()
	polled, err := protocol.Of(r.client).Poll(r.t.Context(),
		protocol.PollRequest{WorkerID: w, Capacity: 1000, Start: true})
	if err != nil {
		r.t.Fatal(err)
	}
	var results []protocol.StepResult
	for _, s := range polled.Steps {
		res := protocol.StepResult{StepUUID: s.StepUUID, Token: s.Token, Status: status}
		if status == protocol.ResultFailed {
			res.Error = &tasker.Failure{Type: "Timeout", Message: "Timeout of order 7", Retryable: new(bool)}
		}
		results = append(results, res)
	}
	if len(results) > 0 {
		if _, err := protocol.Of(r.client).Settle(r.t.Context(),
			protocol.SettleRequest{WorkerID: w, Results: results}); err != nil {
			r.t.Fatal(err)
		}
	}
	return len(results)
}

func (r *rig) failTasks(n int) []uuid.UUID {
	r.t.Helper()
	none := 0
	var ids []uuid.UUID
	for range n {
		got, err := r.client.Submit(r.t.Context(), tasker.TaskRequest{TaskType: "ship", MaxRetries: &none,
			Context: json.RawMessage(`{"order":1}`)})
		if err != nil {
			r.t.Fatal(err)
		}
		ids = append(ids, got.TaskUUID)
	}
	r.want("failed", r.settle(protocol.ResultFailed), n)
	return ids
}

func (r *rig) cases(op model.Operation, plan deadletter.Plan, edit *deadletter.Edit) *deadletter.Redrive {
	r.t.Helper()
	made, err := r.CreateRedrive(r.t.Context(), redrive.Request{By: inbox.By{Actor: "ann", Reason: "fixed"},
		Operation: op, Plan: plan, Edit: edit, Start: true,
		Selection: deadletter.Selection{Namespace: "default", Kind: model.KindCase}})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

// A process ends after acts on some cases: no task is cancelled or edited twice, or wrongly reported as skipped.
func TestCrashOnCases(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]struct {
		op    model.Operation
		edit  *deadletter.Edit
		after func(model.ItemCounts) int
	}{
		"edit_context": {model.OpRedrive, &deadletter.Edit{Patch: []byte(`{"order":2}`)},
			func(c model.ItemCounts) int { return c.Sent }},
		"replay": {model.OpRedrive, nil, func(c model.ItemCounts) int { return c.Sent }},
		"cancel": {model.OpDiscard, nil, func(c model.ItemCounts) int { return c.Completed }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEveryDatabase(t, func(t *testing.T, r *rig) {
				r.failTasks(5)
				made := r.cases(script.op, deadletter.Plan{Observe: time.Hour}, script.edit)
				ctx, cancel := context.WithCancel(t.Context())
				r.commits.after(name, 3, cancel)
				if _, _, err := r.Advance(ctx); err == nil {
					t.Fatal("the process has not ended")
				}
				r.want("decided before the end", script.after(r.found(made.ID).Counts), 3)
				r.pass(time.Second)
				counts := r.found(made.ID).Counts
				r.want("decided", []int{script.after(counts), counts.Skipped, counts.Failed}, []int{5, 0, 0})
			})
		})
	}
}

// After the end of a redrive its items show the ends of tasks, and cases of completed tasks are resolved.
func TestWatchAfterEnd(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		ids := r.failTasks(3)
		made := r.cases(model.OpRedrive, deadletter.Plan{Canary: 3, Observe: time.Second}, nil)
		r.pass(time.Second)
		r.pass(time.Minute)
		r.want("state", r.found(made.ID).State, model.RedriveDone)
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Sent: 3})
		r.want("worked", r.settle(protocol.ResultCompleted), 3)
		r.pass(time.Second)
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Completed: 3})
		for _, id := range ids {
			c, err := operate.Of(r.client).CaseOfTask(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			r.want("case", c.ResolutionStatus, "manually_resolved")
		}
	})
}

// A failure in the last moment of the observation still stops the redrive.
func TestWaveOfCases(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.failTasks(4)
		made, err := r.CreateRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive, Start: true,
			Plan: deadletter.Plan{Canary: 2, Observe: time.Minute}, Stop: deadletter.StopRule{ReturnedShare: 0.1},
			Selection: deadletter.Selection{Namespace: "default", Kind: model.KindCase}})
		if err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second)
		r.pass(time.Second) // the timers of the replayed steps
		r.want("failed again", r.settle(protocol.ResultFailed), 2)
		r.pass(time.Minute)
		r.want("state", r.found(made.ID).State, model.RedriveHalted)
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Pending: 2, Returned: 2})
	})
}

// More redrives than are read at a time all have their turn.
func TestManyRedrives(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		const many = 26
		for n := range many + 1 {
			r.die(dead(n, "Timeout"))
			if n < many {
				r.begin(deadletter.Plan{Canary: 1, Observe: time.Hour}, nil) // this leaves all but the first letter
			}
		}
		last := r.begin(deadletter.Plan{Canary: many + 1, Observe: time.Hour}, nil)
		r.advance()
		r.want("state", r.found(last.ID).State, model.RedriveObserving)
	})
}

// A redrive with the filters of a task list takes its tasks once each, the oldest first.
func TestRedriveOfFailedTasks(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		ids := r.failTasks(4)
		backend := operate.Of(r.client)
		if _, err := backend.ReplayTask(t.Context(), ids[3], operate.ReplayRequest{Reason: "try"}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second)
		r.want("failed again", r.settle(protocol.ResultFailed), 1)
		page, err := backend.FailedTasks(t.Context(), operate.FailedTaskFilter{Namespace: "default"})
		if err != nil {
			t.Fatal(err)
		}
		r.want("listed", page.TotalCount, 4)
		failed := page.Tasks[0]
		sel := deadletter.Selection{Namespace: "default", Kind: model.KindCase, TaskState: task.Errored,
			Template: failed.TaskType, Type: failed.Fingerprint, Reason: task.CaseReason(failed.FailureReason),
			Retryable: &failed.Retryable, FirstAfter: task.FromTime(r.now).Add(-time.Hour)}
		frozen := func(sel deadletter.Selection, plan deadletter.Plan) (*deadletter.Redrive, []string) {
			t.Helper()
			made, err := r.CreateRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive, Selection: sel,
				Plan: plan})
			if err != nil {
				t.Fatal(err)
			}
			items, err := r.RedriveItems(t.Context(), made.ID, "", 0, 10)
			if err != nil {
				t.Fatal(err)
			}
			var cases []string
			for _, i := range items {
				cases = append(cases, i.ID.String())
			}
			return made, cases
		}
		var listed []string
		for i := range page.Tasks { // the newest first
			listed = append([]string{page.Tasks[i].CaseID.String()}, listed...)
		}
		_, all := frozen(sel, deadletter.Plan{})
		r.want("cases", strings.Join(all, " "), strings.Join(listed, " "))
		sel.Replayed = new(bool)
		made, some := frozen(sel, deadletter.Plan{Limit: 2, KeepAttempts: true, Priority: "high"})
		r.want("the two oldest that were never replayed", strings.Join(some, " "), strings.Join(listed[:2], " "))

		if _, err := r.ActOnRedrive(t.Context(), made.ID, model.StartRedrive, inbox.By{Actor: "ann"}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second)
		r.pass(time.Second) // the timers of the replayed steps
		r.want("replayed", r.settle(protocol.ResultCompleted), 2)
		r.pass(time.Minute)
		r.want("state", r.found(made.ID).State, model.RedriveDone)
		r.want("counts", r.found(made.ID).Counts, model.ItemCounts{Completed: 2})
		got, err := r.client.Task(t.Context(), ids[0], 0)
		if err != nil {
			t.Fatal(err)
		}
		r.want("priority", got.Priority, tasker.Priority("high"))
	})
}

func TestReplaysRefused(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.failTasks(1)
		cases := deadletter.Selection{Namespace: "default", Kind: model.KindCase}
		for want, req := range map[string]redrive.Request{
			"/plan/priority": {Operation: model.OpRedrive, Selection: cases,
				Plan: deadletter.Plan{Priority: "urgentest"}},
			"/plan/limit": {Operation: model.OpRedrive, Selection: cases, Plan: deadletter.Plan{Limit: -1}},
			"/plan":       {Operation: model.OpDiscard, Selection: cases, Plan: deadletter.Plan{KeepAttempts: true}},
			"/plan ": {Operation: model.OpRedrive, Selection: deadletter.Selection{Namespace: "default"},
				Plan: deadletter.Plan{Priority: "high"}},
			"/plan  ": {Operation: model.OpRedrive, Selection: cases, Plan: deadletter.Plan{Priority: "high"},
				Edit: &deadletter.Edit{Patch: []byte(`{"a":1}`)}},
		} {
			_, err := r.CreateRedrive(t.Context(), req)
			var e *task.Error
			if !errors.As(err, &e) || len(e.Problems) != 1 || e.Problems[0].Location != strings.TrimSpace(want) {
				t.Errorf("%q: %v", want, err)
			}
		}
	})
}
