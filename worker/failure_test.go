package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func outcome(t *testing.T, h worker.Handler) (res protocol.StepResult) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.self.MaxResultPayloadBytes = 1000
		w := newWorker(f, worker.Options{})
		w.Handle("h", h)
		r := run(t, w)
		synctest.Wait()
		s := step("h")
		s.Parameters = json.RawMessage(`{"n":"not a number"}`)
		f.put(s)
		synctest.Wait()
		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		all := f.results()
		if len(all) != 1 {
			t.Fatalf("%d results, want 1", len(all))
		}
		res = all[0]
	})
	return res
}

func fails(err error) worker.Handler {
	return func(context.Context, *worker.Job) (any, error) { return nil, err }
}

func TestFailures(t *testing.T) {
	t.Parallel()
	gateway := &tasker.Failure{
		Type: "GatewayError", Message: "declined", Code: "card_declined", HTTPStatus: 402,
		ResponseBody: "try another card", Details: json.RawMessage(`{"card":"x"}`),
	}
	for name, tc := range map[string]struct {
		handler worker.Handler
		want    tasker.Failure
		final   bool
	}{
		"Plain": {fails(errors.New("no")), tasker.Failure{Type: "error", Message: "no"}, false},
		"Wrapped": {fails(fmt.Errorf("a: %w", &url.Error{Op: "Get", URL: "u", Err: errors.New("b")})),
			tasker.Failure{Type: "*url.Error", Message: `a: Get "u": b`}, false},
		"OfOurs": {fails(tasker.Errorf(tasker.CodeNotFound, "no task")),
			tasker.Failure{Type: "*tasker.Error", Message: "no task", Code: "not_found"}, false},
		"Failure": {fails(gateway), *gateway, false},
		"FailureWrapped": {fails(fmt.Errorf("charge: %w", gateway)), tasker.Failure{
			Type: "GatewayError", Message: "charge: declined", Code: "card_declined", HTTPStatus: 402,
			ResponseBody: "try another card", Details: json.RawMessage(`{"card":"x"}`)}, false},
		"NonRetryable": {fails(worker.NonRetryable(errors.New("bad"))), tasker.Failure{Type: "error", Message: "bad"},
			true},
		"RetryAfter": {fails(worker.RetryAfter(90*time.Second, errors.New("busy"))),
			tasker.Failure{Type: "error", Message: "busy", RetryAfterSeconds: 90}, false},
		"Class": {fails(worker.WithClass(tasker.ClassResource, errors.New("full"))),
			tasker.Failure{Type: "error", Message: "full", Class: tasker.ClassResource}, false},
		"ClassOfFailure": {fails(&tasker.Failure{Type: "t", Message: "m", Class: tasker.ClassLogic}),
			tasker.Failure{Type: "t", Message: "m", Class: tasker.ClassLogic}, false},
		"ClassOverClass": {
			fails(worker.WithClass(tasker.ClassWorker, &tasker.Failure{Type: "t", Message: "m", Class: tasker.ClassLogic})),
			tasker.Failure{Type: "t", Message: "m", Class: tasker.ClassWorker}, false},
		"UnknownClass": {fails(worker.WithClass("postage", errors.New("x"))), tasker.Failure{Type: "error", Message: "x"},
			false},
		"Both": {fails(worker.RetryAfter(time.Second, worker.NonRetryable(errors.New("x")))),
			tasker.Failure{Type: "error", Message: "x", RetryAfterSeconds: 1}, true},
		"BrokenDetails": {fails(&tasker.Failure{Type: "t", Message: "m", Details: json.RawMessage(`{`)}),
			tasker.Failure{Type: "t", Message: "m", Details: json.RawMessage(`"{"`)}, false},
		"BrokenText": {fails(errors.New("a\xffb")), tasker.Failure{Type: "error", Message: "a\uFFFDb"}, false},
		"ResultNotJSON": {func(context.Context, *worker.Job) (any, error) {
			return json.RawMessage("{"), nil
		}, tasker.Failure{Type: "invalid_result", Message: "the handler's result is not JSON"}, true},
		"ResultNoValue": {func(context.Context, *worker.Job) (any, error) {
			return math.NaN(), nil
		}, tasker.Failure{Type: "invalid_result", Message: "marshal result: json: unsupported value: NaN"}, true},
		"ResultTooLarge": {func(context.Context, *worker.Job) (any, error) {
			return strings.Repeat("x", 999), nil
		}, tasker.Failure{Type: "result_too_large", Message: "the result of step h has 1001 bytes, the server takes 1000"},
			true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := outcome(t, tc.handler)
			if res.Status != protocol.ResultFailed || res.Error == nil {
				t.Fatalf("reported %+v, want a failure", res)
			}
			if final := res.Error.Retryable != nil && !*res.Error.Retryable; final != tc.final {
				t.Errorf("final = %v, want %v", final, tc.final)
			}
			got := *res.Error
			got.Retryable = nil
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tc.want) {
				t.Errorf("failure\n got %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

func TestFailureTooLong(t *testing.T) {
	t.Parallel()
	res := outcome(t, fails(&tasker.Failure{
		Type: strings.Repeat("t", 1000), Message: strings.Repeat("m", 10_000), Stack: strings.Repeat("s", 40_000),
	}))
	f := res.Error
	if len(f.Type) != 255 || len(f.Message) != 8<<10 || len(f.Stack) != 32<<10 {
		t.Errorf("lengths %d, %d, %d are over the limits", len(f.Type), len(f.Message), len(f.Stack))
	}
}

func TestNilErrorsStayNil(t *testing.T) {
	t.Parallel()
	if worker.NonRetryable(nil) != nil || worker.RetryAfter(time.Second, nil) != nil ||
		worker.WithClass(tasker.ClassLogic, nil) != nil {
		t.Error("a wrapper made an error of nil")
	}
}

func TestSnooze(t *testing.T) {
	t.Parallel()
	res := outcome(t, fails(fmt.Errorf("not open yet: %w", worker.Snooze(90*time.Second))))
	if res.Status != protocol.ResultSnoozed || res.SnoozeSeconds != 90 || res.Error != nil {
		t.Errorf("reported %+v, want snoozed for 90 s", res)
	}
}

type badMarshaller struct{}

func (badMarshaller) MarshalJSON() ([]byte, error) { panic("in the marshaller") }

func TestPanics(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		handler worker.Handler
		message string
	}{
		"Value":      {func(context.Context, *worker.Job) (any, error) { panic("boom") }, "boom"},
		"Error":      {func(context.Context, *worker.Job) (any, error) { panic(errors.New("bad")) }, "bad"},
		"Marshaller": {func(context.Context, *worker.Job) (any, error) { return badMarshaller{}, nil }, "in the marshaller"},
		"Goexit": {func(context.Context, *worker.Job) (any, error) { runtime.Goexit(); return nil, nil },
			"the handler ended its goroutine with runtime.Goexit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := outcome(t, tc.handler).Error
			if f == nil || f.Type != "panic" || f.Message != tc.message || !strings.Contains(f.Stack, "worker/step.go") {
				t.Errorf("failure %+v, want a panic %q with its stack", f, tc.message)
			}
			if f != nil && f.Retryable != nil {
				t.Error("a panic decides on retries; the template should")
			}
		})
	}
}

func TestTypedHandlerBadInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := newWorker(f, worker.Options{})
		worker.Handle(w, "typed", func(context.Context, struct{ N int }) (string, error) {
			t.Error("called with input that does not fit")
			return "", nil
		})
		r := run(t, w)
		s := step("typed")
		s.Parameters = json.RawMessage(`{"n":"one"}`)
		f.put(s)
		synctest.Wait()
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		res := f.results()[0]
		if res.Status != protocol.ResultFailed || res.Error.Type != "invalid_input" ||
			res.Error.Retryable == nil || *res.Error.Retryable {
			t.Errorf("reported %+v, want invalid_input for good", res.Error)
		}
	})
}

func TestUnknownHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := run(t, noop(f))
		f.put(step("other"))
		synctest.Wait()
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if res := f.results()[0]; res.Status != protocol.ResultFailed || res.Error.Type != "unknown_handler" {
			t.Errorf("reported %+v, want unknown_handler", res)
		}
	})
}

func TestJob(t *testing.T) {
	t.Parallel()
	if worker.JobFrom(t.Context()) != nil {
		t.Error("a job outside of a handler")
	}
	job := &worker.Job{Assignment: protocol.Assignment{StepName: "s", ParentResults: map[string]json.RawMessage{
		"p": json.RawMessage(`[1,2]`), "skipped": nil,
	}}}
	in := 7
	if err := job.Decode(&in); err != nil || in != 7 {
		t.Errorf("Decode without parameters: %v, in = %d", err, in)
	}
	var list []int
	if err := job.ParentResult("p", &list); err != nil || len(list) != 2 {
		t.Errorf("ParentResult = %v, %v", list, err)
	}
	for _, name := range []string{"skipped", "other"} {
		if err := job.ParentResult(name, &list); tasker.ErrorCode(err) != tasker.CodeNotFound {
			t.Errorf("ParentResult(%s) = %v, want CodeNotFound", name, err)
		}
	}
	var wrong string
	if err := job.ParentResult("p", &wrong); err == nil {
		t.Error("ParentResult decoded a list into a string")
	}
	if err := job.Progress(50, "half"); err != nil {
		t.Errorf("Progress of a job made by hand: %v", err)
	}
}
