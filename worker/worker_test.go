package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestWorkerRunsSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := newWorker(f, worker.Options{
			Name: "w", Namespaces: []string{"default"}, Capabilities: []string{"gpu"}, Concurrency: 4,
		})
		type in struct{ A, B int }
		worker.Handle(w, "add", func(ctx context.Context, in in) (int, error) {
			var before int
			if err := worker.JobFrom(ctx).ParentResult("first", &before); err != nil {
				return 0, err
			}
			return before + in.A + in.B, nil
		})
		w.Handle("raw", func(context.Context, *worker.Job) (any, error) {
			return json.RawMessage(`{"kept":"as it is"}`), nil
		})
		w.Handle("none", func(context.Context, *worker.Job) (any, error) { return nil, nil })
		r := run(t, w)
		synctest.Wait()

		add := step("add")
		add.Parameters = json.RawMessage(`{"A":2,"B":3}`)
		add.ParentResults = map[string]json.RawMessage{"first": json.RawMessage(`10`)}
		f.put(add, step("raw"), step("none"))
		synctest.Wait()

		got := map[string]string{}
		for _, res := range f.results() {
			if res.Status != protocol.ResultCompleted || res.Token != "1" {
				t.Errorf("result %+v, want completed under token 1", res)
			}
			got[string(res.Result)] = "seen"
		}
		for _, want := range []string{"15", `{"kept":"as it is"}`, ""} {
			if got[want] == "" {
				t.Errorf("no result %q among %v", want, got)
			}
		}
		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		reg := f.registered[0]
		if reg.Name != "w" || reg.Capacity != 4 || strings.Join(reg.Handlers, " ") != "add none raw" ||
			reg.Namespaces[0] != "default" || reg.Capabilities[0] != "gpu" {
			t.Errorf("registered as %+v", reg)
		}
		for _, first := range f.polls[:2] {
			if !first.Start || first.Capacity != 2 || first.WaitMS != 20_000 {
				t.Errorf("one of the first polls was %+v, want a long one that starts 2 steps of 4", first)
			}
		}
		if len(f.drains) != 1 || !f.drains[0].Final {
			t.Errorf("drains = %+v, want one, final", f.drains)
		}
	})
}

func TestWorkerUnfitToRun(t *testing.T) {
	t.Parallel()
	ok := func(context.Context, *worker.Job) (any, error) { return nil, nil }
	for name, register := range map[string]func(*worker.Worker){
		"NoHandlers": func(*worker.Worker) {},
		"NoName":     func(w *worker.Worker) { w.Handle("", ok) },
		"Nil":        func(w *worker.Worker) { w.Handle("a", nil) },
		"NilTyped":   func(w *worker.Worker) { worker.Handle[int, int](w, "a", nil) },
		"Twice":      func(w *worker.Worker) { w.Handle("a", ok); w.Handle("a", ok) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			w := newWorker(f, worker.Options{})
			register(w)
			if err := w.Run(t.Context()); tasker.ErrorCode(err) != tasker.CodeInvalid {
				t.Errorf("Run = %v, want CodeInvalid", err)
			}
			if len(f.registered) != 0 {
				t.Error("the worker was registered all the same")
			}
		})
	}
}

func TestWorkerRegistration(t *testing.T) {
	t.Parallel()
	t.Run("WaitsForTheServer", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.onRegister = func(protocol.WorkerRegistration) error {
				if len(f.registered) < 5 {
					return tasker.Errorf(tasker.CodeUnavailable, "not yet")
				}
				return nil
			}
			r := run(t, noop(f))
			time.Sleep(time.Minute)
			synctest.Wait()
			if len(f.registered) != 5 || f.pollCount() == 0 {
				t.Errorf("%d registrations and %d polls in a minute, want 5 and some", len(f.registered), f.pollCount())
			}
			if err := r.stop(); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("Refused", func(t *testing.T) {
		t.Parallel()
		f := newFake()
		f.onRegister = func(protocol.WorkerRegistration) error { return tasker.Errorf(tasker.CodeForbidden, "no") }
		if err := noop(f).Run(t.Context()); tasker.ErrorCode(err) != tasker.CodeForbidden {
			t.Errorf("Run = %v, want CodeForbidden", err)
		}
	})
	t.Run("StoppedWhileWaiting", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.onRegister = func(protocol.WorkerRegistration) error { return tasker.Errorf(tasker.CodeUnavailable, "no") }
			r := run(t, noop(f))
			synctest.Wait()
			if err := r.stop(); err != nil {
				t.Errorf("Run = %v, want nil: it was told to stop", err)
			}
		})
	})
	t.Run("AgainWhenForgotten", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			forgotten := tasker.Errorf(tasker.CodeNotFound, "no such worker")
			both := together()
			f.onPoll = func(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
				if f.pollCount() <= 2 {
					both()
					return nil, forgotten
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			r := run(t, noop(f))
			synctest.Wait()
			if len(f.registered) != 2 {
				t.Errorf("%d registrations, want one more for both polls", len(f.registered))
			}
			if f.pollCount() != 3 || f.polls[0].WorkerID != f.polls[1].WorkerID || f.polls[1].WorkerID == f.polls[2].WorkerID {
				t.Errorf("polls %+v; want one more try under the new id, at once", f.polls)
			}
			if err := r.stop(); err != nil {
				t.Error(err)
			}
		})
	})
}

func noop(f *fake) *worker.Worker {
	w := newWorker(f, worker.Options{})
	w.Handle("noop", func(context.Context, *worker.Job) (any, error) { return nil, nil })
	return w
}

// TestWorkerNeverSpins bounds the polls of a minute against servers that answer every poll immediately with nothing.
// The loops share their pauses, so the bound is that of one loop.
func TestWorkerNeverSpins(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		resp *protocol.PollResponse
		err  error
		most int
	}{
		"Unavailable":      {nil, tasker.Errorf(tasker.CodeUnavailable, "no"), 18},
		"NotFoundForEver":  {nil, tasker.Errorf(tasker.CodeNotFound, "no"), 18},
		"Unauthenticated":  {nil, tasker.Errorf(tasker.CodeUnauthenticated, "no"), 18},
		"NotOurError":      {nil, errors.New("odd"), 18},
		"EmptyImmediately": {&protocol.PollResponse{}, nil, 120},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.onPoll = func(context.Context, protocol.PollRequest) (*protocol.PollResponse, error) { return tc.resp, tc.err }
				r := run(t, noop(f))
				time.Sleep(time.Minute)
				if n := f.pollCount(); n > tc.most || n < 3 {
					t.Errorf("%d polls in a minute, want 3 to %d", n, tc.most)
				}
				if err := r.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
