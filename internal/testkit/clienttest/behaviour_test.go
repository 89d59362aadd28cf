//go:build unix

package clienttest_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

var scenarios = []struct {
	name string
	run  func(w *world)
}{
	{"Workflow", workflow},
	{"Failures", failures},
	{"Snooze", snooze},
	{"TooLarge", tooLarge},
	{"Timeout", timeout},
	{"Progress", progress},
	{"Slots", slots},
	{"NamespaceOfKey", namespaceOfKey},
	{"UnknownKey", unknownKey},
	{"Kill", kill},
	{"Stall", stall},
	{"Cancel", cancelTask},
	{"Drain", drain},
	{"DrainTooLong", drainTooLong},
	{"DrainByOperator", drainByOperator},
}

// TestWorkers: workers in all languages behave alike.
func TestWorkers(t *testing.T) {
	t.Parallel()
	s := serve(t, leases()...)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.ready(t)
			for _, sc := range scenarios {
				t.Run(sc.name, func(t *testing.T) {
					t.Parallel()
					sc.run(newWorld(t, &l, s))
				})
			}
		})
	}
}

// workflow: results of parents and logs arrive, even from another worker's step.
func workflow(w *world) {
	_, err := w.server.client.RegisterTemplate(w.ctx, tasker.TemplateSource{YAML: "name: two\nversion: '1'\n" +
		"namespace_name: " + w.namespace + "\nsteps:\n  - {name: first, handler: act}\n" +
		"  - {name: second, handler: narrow, dependencies: [first]}\n"})
	if err != nil {
		w.Fatal(err)
	}
	w.work("w", workerOptions{})
	receipt, err := w.server.client.Submit(w.ctx, tasker.NewTask("two", order{Ref: "wf", Log: "Grüße"},
		tasker.WithNamespace(w.namespace)))
	if err != nil {
		w.Fatal(err)
	}
	var out output
	if err := w.server.client.Result(w.ctx, receipt.TaskUUID, "second", &out); err != nil {
		w.Fatal(err)
	}
	if !strings.Contains(string(out.Parents["first"]), `"ref":"wf"`) {
		w.Errorf("the second step got the results %s", out.Parents)
	}
	steps, err := w.server.client.Steps(w.ctx, receipt.TaskUUID)
	if err != nil {
		w.Fatal(err)
	}
	for _, s := range steps {
		logs, err := w.server.client.StepLogs(w.ctx, receipt.TaskUUID, s.StepUUID)
		if err != nil || len(logs) != 1 || logs[0].Text != "Grüße\n" {
			w.Errorf("the logs of step %s are %+v, %v", s.Name, logs, err)
		}
	}
}

// failures: the handler's failure decides, operators see it, and the worker logs the consequence.
func failures(w *world) {
	p := w.work("w", workerOptions{})
	p.says("started")
	final := w.submit("act", order{Ref: "a", Fail: &failing{9, "final", "declined", "card"}})
	retryable := w.submit("act", order{Ref: "b", Fail: &failing{1, "retryable", "busy", "later"}})
	plain := w.submit("act", order{Ref: "c", Fail: &failing{9, "plain", "oops", ""}}, tasker.WithMaxRetries(0))

	f := w.failure(final)
	if f.Message != "declined" || f.Code != "card" || f.Retryable == nil || *f.Retryable || f.Type == "" ||
		string(f.Details) != `{"ref":"a"}` {
		w.Errorf("the final failure is %+v, details %s", f, f.Details)
	}
	w.wantOutcomes(final, "failed")
	if got := w.result(retryable); got.Attempt != 2 {
		w.Errorf("after a retryable failure: %+v", got)
	}
	if f := w.failure(plain); f.Message != "oops" || f.Type == "" || f.Class != tasker.ClassTransient {
		w.Errorf("the plain failure is %+v", f)
	}
	p.says("the step has failed for good")
	p.says("another attempt at 20")
}

// snooze: a snoozed step is not charged, and keeps its checkpoint.
func snooze(w *world) {
	w.work("w", workerOptions{})
	id := w.submit("act", order{Ref: "z", Snooze: 0.1, Checkpoint: []byte(`{"slept":true}`)})
	if got := w.result(id); got.Attempt != 1 || string(got.Checkpoint) != `{"slept":true}` {
		w.Errorf("after the snooze: %+v", got)
	}
	w.wantOutcomes(id, "snoozed", "completed")
}

// tooLarge: a result beyond the limit fails the step for good, and the worker continues.
func tooLarge(w *world) {
	w.work("w", workerOptions{})
	if f := w.failure(w.submit("act", order{Ref: "big", Bytes: 2 << 20})); f.Type != "result_too_large" ||
		f.Retryable == nil || *f.Retryable {
		w.Errorf("the failure is %+v", f)
	}
	w.works("w")
}

// timeout: a handler learns of its time-out, and the failure names it.
func timeout(w *world) {
	p := w.work("w", workerOptions{})
	shut, _ := w.gate("shut")
	id := w.submit("short", order{Ref: "slow", Gate: shut}, tasker.WithMaxRetries(0))
	p.says("told slow timeout")
	if f := w.failure(id); f.Type != "timeout" || f.Class != tasker.ClassResource {
		w.Errorf("the failure is %+v", f)
	}
	w.works("w")
}

// progress: operators see progress and checkpoint while the step runs.
func progress(w *world) {
	w.work("w", workerOptions{})
	gate, open := w.gate("gate")
	id := w.submit("act", order{Ref: "p", Progress: 40, Checkpoint: []byte(`{"row":5}`), Gate: gate})
	step := w.until(id, "at its checkpoint", func(s *tasker.Step) bool { return s.Checkpoint != nil })
	if step.ProgressPercent == nil || *step.ProgressPercent != 40 || step.StatusMessage != "under way" ||
		string(step.Checkpoint.Value) != `{"row":5}` || step.State != tasker.StepInProgress {
		w.Errorf("the step is %+v", step)
	}
	open()
	w.result(id)
}

// slots: a handler with its own slot has one, and takes none of the others'.
func slots(w *world) {
	p := w.work("w", workerOptions{Concurrency: 1})
	first, open := w.gate("first")
	one := w.submit("narrow", order{Ref: "one", Gate: first})
	p.says("begin one 1")
	two := w.submit("narrow", order{Ref: "two"})
	w.works("w")
	p.silent("begin two 1")
	open()
	w.result(one)
	w.result(two)
}

// namespaceOfKey: the key limits the worker to its namespace.
func namespaceOfKey(w *world) {
	w.namespace = "shop-" + w.language.name
	w.workAs("w", shopKey+w.language.name, workerOptions{Namespaces: []string{}})
	receipt, err := w.server.client.Submit(w.ctx, tasker.NewHandlerTask("act", order{Ref: "foreign"},
		tasker.WithNamespace("foreign-"+w.language.name)))
	if err != nil {
		w.Fatal(err)
	}
	w.works("w")
	if got := w.outcomes(receipt.TaskUUID); len(got) > 0 {
		w.Errorf("the step of the foreign namespace was attempted: %v", got)
	}
}

// unknownKey: a refused worker ends with an error.
func unknownKey(w *world) {
	p := w.workAs("w", "unknown", workerOptions{})
	select {
	case <-p.ended:
	case <-w.ctx.Done():
		w.Fatal("the worker does not end")
	}
	if p.cmd.ProcessState.ExitCode() == 0 {
		w.Error("the worker ended well")
	}
	p.silent("ended")
}

// kill: another worker gets a killed worker's step, with its checkpoint.
func kill(w *world) {
	a := w.work("a", workerOptions{})
	gate, open := w.gate("gate")
	id := w.submit("act", order{Ref: "k", Checkpoint: []byte(`{"row":7}`), Gate: gate})
	w.until(id, "at its checkpoint", func(s *tasker.Step) bool { return s.Checkpoint != nil })
	a.signal(syscall.SIGKILL)
	b := w.work("b", workerOptions{})
	b.says("begin k 1") // a lease that ends with its worker is not charged
	open()
	if got := w.result(id); got.Worker != "b" || got.Attempt != 1 || string(got.Checkpoint) != `{"row":7}` {
		w.Errorf("the result is %+v", got)
	}
	w.wantOutcomes(id, "lease_expired", "completed")
}

// stall: a stalled worker has lost its step; it notices, and its result does not count.
func stall(w *world) {
	a := w.work("a", workerOptions{Concurrency: 1}) // so that no poll at the server could get the step
	gate, open := w.gate("gate")
	id := w.submit("act", order{Ref: "s", Gate: gate})
	a.says("begin s 1")
	a.signal(syscall.SIGSTOP)
	b := w.work("b", workerOptions{})
	b.says("begin s 1")
	a.signal(syscall.SIGCONT)
	a.says("told s lost")
	open()
	if got := w.result(id); got.Worker != "b" || got.Attempt != 1 {
		w.Errorf("the result is %+v", got)
	}
	b.stop()
	w.works("a")
	a.silent("end s")
	w.wantOutcomes(id, "lease_expired", "completed")
}

// cancelTask: a handler learns that its task was cancelled.
func cancelTask(w *world) {
	p := w.work("w", workerOptions{})
	gate, _ := w.gate("gate")
	id := w.submit("act", order{Ref: "c", Gate: gate})
	p.says("begin c 1")
	w.cancel(id)
	p.says("told c cancelled")
	if step := w.step(id); step.State != tasker.StepCancelled {
		w.Errorf("the step is %s", step.State)
	}
	w.works("w")
	p.silent("end c")
}

func (w *world) cancel(id uuid.UUID) {
	w.Helper()
	receipts, err := w.server.client.CancelTasks(w.ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{id}})
	if err != nil || receipts[0].Error != nil {
		w.Fatalf("cancel: %+v, %v", receipts, err)
	}
}

// drain: after SIGTERM a worker finishes its steps, takes none, and ends without an error.
func drain(w *world) {
	p := w.work("w", workerOptions{Concurrency: 2})
	gate, open := w.gate("gate")
	running := w.submit("act", order{Ref: "running", Gate: gate})
	p.says("begin running 1")
	p.signal(syscall.SIGTERM)
	p.says("stopping")
	next := w.submit("act", order{Ref: "next"})
	open()
	p.ends()
	p.says("ended")
	p.silent("begin next 1")
	if got := w.result(running); got.Attempt != 1 {
		w.Errorf("the result is %+v", got)
	}
	w.work("x", workerOptions{})
	if got := w.result(next); got.Attempt != 1 || got.Worker != "x" {
		w.Errorf("the next one's result is %+v", got)
	}
}

// drainTooLong: a slow handler saves a checkpoint; its step is released without a charge.
func drainTooLong(w *world) {
	p := w.work("w", workerOptions{ShutdownSeconds: 0.3})
	gate, open := w.gate("gate")
	id := w.submit("act", order{Ref: "d", Gate: gate})
	p.says("begin d 1")
	p.signal(syscall.SIGTERM)
	p.says("told d draining")
	p.ends()
	if step := w.step(id); step.State != tasker.StepEnqueued || step.Attempts != 0 {
		w.Errorf("the step is %s after %d attempts", step.State, step.Attempts)
	}
	open()
	w.work("x", workerOptions{})
	if got := w.result(id); got.Attempt != 1 || string(got.Checkpoint) != `{"saved":"while draining"}` {
		w.Errorf("the result is %+v", got)
	}
	w.wantOutcomes(id, "released", "completed")
}

// drainByOperator: a worker that an operator drains ends without an error.
func drainByOperator(w *world) {
	p := w.work("drained-"+w.language.name, workerOptions{})
	gate, open := w.gate("gate")
	id := w.submit("act", order{Ref: "d", Gate: gate})
	p.says("begin d 1")
	workers, err := protocol.Of(w.server.client).Workers(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	for _, info := range workers {
		if strings.HasPrefix(info.Name, p.name) {
			if _, err := protocol.Of(w.server.client).Drain(w.ctx,
				protocol.WorkerAct{WorkerID: info.WorkerID, Reason: "test"}); err != nil {
				w.Fatal(err)
			}
		}
	}
	open()
	w.result(id)
	p.ends()
	p.says("ended")
}
