package tasktest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/tasktest"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun: each end of a handler is reported as a worker reports it.
func TestRun(t *testing.T) {
	t.Parallel()
	type handler = func(ctx context.Context, job *worker.Job) (any, error)
	returns := func(err error) handler {
		return func(context.Context, *worker.Job) (any, error) { return "done", err }
	}
	waits := func(ctx context.Context, _ *worker.Job) (any, error) { <-ctx.Done(); return nil, ctx.Err() }
	for name, tc := range map[string]struct {
		run   handler
		step  tasktest.Step
		want  tasktest.Outcome // without the failure
		text  string           // of the failure
		final bool
	}{
		"Completed": {run: returns(nil), want: tasktest.Outcome{Status: protocol.ResultCompleted, Result: []byte(`"done"`)}},
		"Failed":    {run: returns(errors.New("no")), want: tasktest.Outcome{Status: protocol.ResultFailed}, text: "error: no"},
		"Final": {run: returns(worker.NonRetryable(errors.New("no"))), want: tasktest.Outcome{Status: protocol.ResultFailed},
			text: "error: no", final: true},
		"Panic": {run: func(context.Context, *worker.Job) (any, error) { panic("oh") },
			want: tasktest.Outcome{Status: protocol.ResultFailed}, text: "panic: oh"},
		"NoJSON": {run: func(context.Context, *worker.Job) (any, error) { return make(chan int), nil },
			want: tasktest.Outcome{Status: protocol.ResultFailed}, text: "invalid_result: ", final: true},
		"Snoozed": {run: returns(worker.Snooze(time.Minute)),
			want: tasktest.Outcome{Status: protocol.ResultSnoozed, Snoozed: time.Minute}},
		"TimedOut": {run: waits, step: tasktest.Step{Timeout: time.Hour},
			want: tasktest.Outcome{Status: protocol.ResultFailed, Took: time.Hour}, text: "timeout: timed out after 3600 s"},
		"Cancelled": {run: waits, step: tasktest.Step{Interrupt: worker.ErrCancelled, InterruptAfter: time.Minute},
			want: tasktest.Outcome{Took: time.Minute}},
		"LeaseLost": {run: waits, step: tasktest.Step{Interrupt: worker.ErrLeaseLost, InterruptAfter: time.Minute},
			want: tasktest.Outcome{Took: time.Minute}},
		"Drained": {run: waits, step: tasktest.Step{Interrupt: worker.ErrDraining, InterruptAfter: time.Minute},
			want: tasktest.Outcome{Status: protocol.ResultReleased, Took: time.Minute}},
		"Sleeps": {run: func(context.Context, *worker.Job) (any, error) { time.Sleep(300 * time.Hour); return nil, nil },
			want: tasktest.Outcome{Status: protocol.ResultCompleted, Took: 300 * time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got := tasktest.RunHandler(t, tc.run, tc.step)
				if got.Status != tc.want.Status || string(got.Result) != string(tc.want.Result) ||
					got.Snoozed != tc.want.Snoozed || got.Took != tc.want.Took || got.Final() != tc.final {
					t.Errorf("outcome %+v, want %+v", got, tc.want)
				}
				switch {
				case (got.Failure != nil) != (tc.text != ""):
					t.Errorf("failure %+v, want %q", got.Failure, tc.text)
				case got.Failure != nil && !strings.HasPrefix(got.Failure.Type+": "+got.Failure.Message, tc.text):
					t.Errorf("failure %+v, want %q", got.Failure, tc.text)
				}
			})
		})
	}
}

// TestRunStep: the handler sees what the step has, with the middleware and the options of its worker.
func TestRunStep(t *testing.T) {
	t.Parallel()
	register := func(w *worker.Worker) {
		w.Use(func(next worker.Handler) worker.Handler {
			return func(ctx context.Context, job *worker.Job) (any, error) {
				_ = job.Progress(1, "middleware")
				return next(ctx, job)
			}
		})
		w.Handle("other", func(context.Context, *worker.Job) (any, error) { panic("the wrong one") })
		w.Handle("ship", func(_ context.Context, job *worker.Job) (any, error) {
			paid, err := worker.ParentResult[int](job, "pay")
			if err != nil {
				return nil, err
			}
			order, err := worker.Context[struct{ ID int }](job)
			if err != nil {
				return nil, err
			}
			_ = job.Progress(250, "packed") // cut to 100
			if job.Attempt < 3 || job.StepName != "post" || job.Initialization["to"] != "Bonn" {
				return nil, errors.New("not yet")
			}
			return paid + order.ID, nil
		}, worker.WithConcurrency(1), worker.WithMaxAttempts(2))
	}
	step := tasktest.Step{Handler: "ship", Name: "post", Context: map[string]int{"ID": 7},
		ParentResults: map[string]any{"pay": 35}, Initialization: map[string]any{"to": "Bonn"}, Attempt: 3}
	out := tasktest.Run(t, register, step)
	var sum int
	if err := out.Decode(&sum); err != nil || sum != 42 {
		t.Errorf("result %d, %v", sum, err)
	}
	if want := []tasktest.Progress{{1, "middleware"}, {100, "packed"}}; !slices.Equal(out.Progress, want) {
		t.Errorf("progress %+v, want %+v", out.Progress, want)
	}
	step.Attempt = 2
	if out = tasktest.Run(t, register, step); !out.Final() || out.Decode(&sum) == nil {
		t.Errorf("the last attempt: %+v", out)
	}
	step.ParentResults = nil
	if out = tasktest.Run(t, register, step); !out.Final() || out.Failure.Code != string(tasker.CodeNotFound) {
		t.Errorf("without the parent's result: %+v", out)
	}
}

// TestClient: what a handler submits is there to look at.
func TestClient(t *testing.T) {
	t.Parallel()
	c := tasktest.NewClient()
	submit := func(task tasker.TaskRequest) (tasker.TaskReceipt, error) { return c.Submit(t.Context(), task) }
	first, err := submit(tasker.NewTask("order", 1, tasker.WithIdempotencyKey("k")))
	again, err2 := submit(tasker.NewTask("order", 2, tasker.WithIdempotencyKey("k"), tasker.WithNamespace("default")))
	if err != nil || err2 != nil || !first.Created || again.Created || first.TaskUUID != again.TaskUUID {
		t.Errorf("receipts %+v, %v and %+v, %v", first, err, again, err2)
	}
	if _, err := submit(tasker.TaskRequest{}); tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("nothing to run: %v", err)
	}
	if _, err := submit(tasker.NewTask("order", make(chan int))); tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("an input without a JSON form: %v", err)
	}
	c.Refuse(tasker.Errorf(tasker.CodeExhausted, "full"))
	if _, err := submit(tasker.NewTask("order", 3)); tasker.ErrorCode(err) != tasker.CodeExhausted {
		t.Errorf("refused: %v", err)
	}
	c.Refuse(nil)
	if _, err := submit(tasker.NewHandlerTask("ship", 4)); err != nil {
		t.Error(err)
	}
	if got := c.Submitted(); len(got) != 2 || string(got[0].Context) != "1" || got[1].TaskType != "ship" {
		t.Errorf("submitted %+v", got)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// fatal records failures instead of failing.
type fatal struct {
	testing.TB
	text string
}

func (f *fatal) Helper() {}
func (f *fatal) Fatalf(format string, _ ...any) {
	f.text = format
	panic(f)
}

// TestRunMisused: what a test did wrong fails the test.
func TestRunMisused(t *testing.T) {
	t.Parallel()
	ok := func(context.Context, *worker.Job) (any, error) { return nil, nil }
	for name, run := range map[string]func(testing.TB){
		"no handler": func(f testing.TB) {
			tasktest.Run(f, func(w *worker.Worker) { w.Handle("a", ok) }, tasktest.Step{Handler: "b"})
		},
		"encode the input": func(f testing.TB) { tasktest.RunHandler(f, ok, tasktest.Step{Context: make(chan int)}) },
		"run a worker":     func(f testing.TB) { tasktest.RunHandler(f, ok, tasktest.Step{}, worker.WithTimeout(-1)) },
	} {
		f := &fatal{TB: t}
		func() {
			defer func() { _ = recover() }()
			run(f)
		}()
		if !strings.Contains(f.text, name) {
			t.Errorf("%s: failed with %q", name, f.text)
		}
	}
}
