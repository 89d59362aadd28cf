package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestMiddleware: the first is the outermost, a handler's are innermost, and each is made once.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := newWorker(f, worker.Options{})
		var mu sync.Mutex
		var seen []string
		var made atomic.Int64
		note := func(text string) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, text)
		}
		named := func(name string) worker.Middleware {
			return func(next worker.Handler) worker.Handler {
				made.Add(1)
				return func(ctx context.Context, job *worker.Job) (any, error) {
					note(name + " " + job.StepName)
					defer note("end " + name)
					return next(ctx, job)
				}
			}
		}
		w.Handle("h", func(context.Context, *worker.Job) (any, error) { note("handler"); return 1, nil },
			worker.WithMiddleware(named("inner")))
		w.Use(named("first"), named("second"))
		r := run(t, w)
		for range 2 {
			f.put(step("h"))
			synctest.Wait()
		}
		once := []string{"first h", "second h", "inner h", "handler", "end inner", "end second", "end first"}
		if want := slices.Concat(once, once); !slices.Equal(seen, want) || made.Load() != 3 {
			t.Errorf("made %d times, order %v, want %v", made.Load(), seen, want)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestMiddlewarePanics: a panic around a step fails the attempt, one while wrapping is an error of Run.
func TestMiddlewarePanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := newWorker(f, worker.Options{})
		w.Use(func(next worker.Handler) worker.Handler {
			return func(ctx context.Context, job *worker.Job) (any, error) {
				if job.Attempt == 2 {
					panic("in the middleware")
				}
				out, err := next(ctx, job)
				if err != nil {
					return nil, fmt.Errorf("translated: %w", err)
				}
				return out, nil
			}
		})
		w.Handle("h", func(context.Context, *worker.Job) (any, error) {
			return nil, worker.NonRetryable(errors.New("no"))
		})
		r := run(t, w)
		second := step("h")
		second.Attempt = 2
		f.put(step("h"), second)
		synctest.Wait()
		var got []string
		for _, res := range f.results() {
			got = append(got, fmt.Sprint(res.Error.Type, ": ", res.Error.Message, " ", res.Error.Retryable != nil))
		}
		slices.Sort(got)
		if want := []string{"error: translated: no true", "panic: in the middleware false"}; !slices.Equal(got, want) {
			t.Errorf("failures %q, want %q", got, want)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	ok := func(context.Context, *worker.Job) (any, error) { return nil, nil }
	for name, tc := range map[string]struct {
		add  func(*worker.Worker)
		text string
	}{
		"Panics":      {func(w *worker.Worker) { w.Use(func(worker.Handler) worker.Handler { panic("oh") }) }, "panicked: oh"},
		"ReturnsNil":  {func(w *worker.Worker) { w.Use(func(worker.Handler) worker.Handler { return nil }) }, "returned nil"},
		"Nil":         {func(w *worker.Worker) { w.Use(nil) }, "middleware is nil"},
		"NilForOne":   {func(w *worker.Worker) { w.Handle("x", ok, worker.WithMiddleware(nil)) }, "WithMiddleware of nil"},
		"NoSlots":     {func(w *worker.Worker) { w.Handle("x", ok, worker.WithConcurrency(0)) }, "at least one slot"},
		"NoTime":      {func(w *worker.Worker) { w.Handle("x", ok, worker.WithTimeout(-1)) }, "must be positive"},
		"NoAttempt":   {func(w *worker.Worker) { w.Handle("x", ok, worker.WithMaxAttempts(0)) }, "at least one attempt"},
		"BackoffDown": {func(w *worker.Worker) { w.Handle("x", ok, worker.WithBackoff(2, 1)) }, "not less"},
	} {
		w := newWorker(newFake(), worker.Options{})
		w.Handle("h", ok)
		tc.add(w)
		if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), tc.text) ||
			tasker.ErrorCode(err) != tasker.CodeInvalid {
			t.Errorf("%s: Run = %v, want CodeInvalid with %q", name, err, tc.text)
		}
	}
}

// TestHandlerConcurrency: a handler with separate slots asks for steps as its slots allow, and waits for no other.
func TestHandlerConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		release := make(chan struct{})
		var slow, most atomic.Int64
		w := newWorker(f, worker.Options{Name: "w", Concurrency: 4})
		w.Handle("slow", func(context.Context, *worker.Job) (any, error) {
			most.Store(max(most.Load(), slow.Add(1)))
			defer slow.Add(-1)
			<-release
			return nil, nil
		}, worker.WithConcurrency(2))
		w.Handle("fast", func(context.Context, *worker.Job) (any, error) { return nil, nil })
		r := run(t, w)
		synctest.Wait()
		for range 7 {
			f.put(step("slow"))
		}
		synctest.Wait()
		if slow.Load() != 2 || len(f.ready) != 5 {
			t.Errorf("%d slow steps run and %d are left to others, want 2 and 5", slow.Load(), len(f.ready))
		}
		for range 20 {
			f.put(step("fast"))
			synctest.Wait()
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if n := len(f.results()); n != 20 {
			t.Errorf("%d fast steps ended beside the slow ones, want 20", n)
		}
		close(release)
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if n := len(f.results()); n != 27 || most.Load() != 2 {
			t.Errorf("%d results, at most %d slow ones at once; want 27 and 2", n, most.Load())
		}
		names := map[string]int{}
		for _, reg := range f.registered {
			names[reg.Name+" "+strings.Join(reg.Handlers, ",")] = reg.Capacity
		}
		if len(names) != 2 || names["w fast"] != 4 || names["w/slow slow"] != 2 {
			t.Errorf("registered %v", names)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if len(f.drains) != 2 {
			t.Errorf("%d deregistrations, want 2", len(f.drains))
		}
	})
}

// TestHandlerConcurrencyEnds: a drain of one registration leaves the other, and a refusal of one ends both.
func TestHandlerConcurrencyEnds(t *testing.T) {
	t.Parallel()
	ok := func(context.Context, *worker.Job) (any, error) { return nil, nil }
	both := func(f *fake) *worker.Worker {
		w := newWorker(f, worker.Options{Name: "w"})
		w.Handle("slow", ok, worker.WithConcurrency(1))
		w.Handle("fast", ok)
		return w
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onPoll = func(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
			if req.Capacity == 1 {
				return &protocol.PollResponse{ShouldDrain: true}, nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		r := run(t, both(f))
		synctest.Wait()
		if len(f.drains) != 1 || len(f.waiting()) != 2 {
			t.Errorf("%d have left and %v polls wait, want one and two", len(f.drains), f.waiting())
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onRegister = func(reg protocol.WorkerRegistration) error {
			if reg.Name == "w/slow" {
				return tasker.Errorf(tasker.CodeForbidden, "no")
			}
			return nil
		}
		if err := both(f).Run(t.Context()); tasker.ErrorCode(err) != tasker.CodeForbidden {
			t.Errorf("Run = %v, want the refusal", err)
		}
	})
}

// TestHandlerTimeout: the earlier of the two timeouts ends the attempt.
func TestHandlerTimeout(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		own  time.Duration
		step int
		want time.Duration
		text string
	}{
		"Shorter":      {1500 * time.Millisecond, 10, 1500 * time.Millisecond, "timed out after 1.5s"},
		"Longer":       {time.Minute, 10, 10 * time.Second, "timed out after 10 s"},
		"StepWithout":  {2 * time.Second, 0, 2 * time.Second, "timed out after 2 s"},
		"NeitherShort": {0, 3, 3 * time.Second, "timed out after 3 s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				w := newWorker(f, worker.Options{})
				var opts []worker.HandlerOption
				if tc.own > 0 {
					opts = append(opts, worker.WithTimeout(tc.own))
				}
				begun := time.Now()
				w.Handle("h", func(ctx context.Context, _ *worker.Job) (any, error) {
					due, _ := ctx.Deadline()
					<-ctx.Done()
					if !errors.Is(context.Cause(ctx), worker.ErrTimedOut) || time.Since(begun) != tc.want ||
						!due.Equal(time.Now()) {
						t.Errorf("ended after %v by %v, due %v", time.Since(begun), context.Cause(ctx), due)
					}
					return nil, ctx.Err()
				}, opts...)
				r := run(t, w)
				s := step("h")
				s.TimeoutSeconds = tc.step
				f.put(s)
				synctest.Wait()
				time.Sleep(tc.want + 10*time.Millisecond)
				synctest.Wait()
				res := f.results()
				if len(res) != 1 || res[0].Error == nil || res[0].Error.Type != "timeout" ||
					!strings.HasPrefix(res[0].Error.Message, tc.text) || res[0].Error.Class != tasker.ClassResource {
					t.Errorf("reported %+v", res)
				}
				if err := r.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestHandlerRetries(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		err     error
		attempt int
		final   bool
		class   tasker.FailureClass
		pause   float64
	}{
		"First":        {boom, 1, false, "", 2},
		"Third":        {boom, 3, false, "", 8},
		"AtTheLimit":   {boom, 4, false, "", 10},
		"Last":         {boom, 5, true, tasker.ClassTransient, 0},
		"AfterTheLast": {boom, 9, true, tasker.ClassTransient, 0},
		"OwnDelay":     {worker.RetryAfter(time.Minute, boom), 1, false, "", 60},
		"OwnClass":     {worker.WithClass(tasker.ClassWorker, boom), 5, true, tasker.ClassWorker, 0},
		"FinalBefore":  {worker.NonRetryable(boom), 1, true, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				w := newWorker(f, worker.Options{})
				w.Handle("h", func(context.Context, *worker.Job) (any, error) { return nil, tc.err },
					worker.WithMaxAttempts(5), worker.WithBackoff(2*time.Second, 10*time.Second))
				r := run(t, w)
				s := step("h")
				s.Attempt = tc.attempt
				f.put(s)
				synctest.Wait()
				got := f.results()[0].Error
				if (got.Retryable != nil && !*got.Retryable) != tc.final || got.Class != tc.class ||
					got.RetryAfterSeconds != tc.pause {
					t.Errorf("reported %+v", got)
				}
				if err := r.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
