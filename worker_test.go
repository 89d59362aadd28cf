package tasker_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker"
)

func TestWorkerRunsSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := worker(f, tasker.WorkerOptions{
			Name: "w", Namespaces: []string{"default"}, Capabilities: []string{"gpu"}, Concurrency: 4,
		})
		type in struct{ A, B int }
		tasker.HandleFunc(w, "add", func(ctx context.Context, in in) (int, error) {
			var before int
			if err := tasker.JobFrom(ctx).ParentResult("first", &before); err != nil {
				return 0, err
			}
			return before + in.A + in.B, nil
		})
		w.Handle("raw", func(context.Context, *tasker.Job) (any, error) {
			return json.RawMessage(`{"kept":"as it is"}`), nil
		})
		w.Handle("none", func(context.Context, *tasker.Job) (any, error) { return nil, nil })
		r := run(t, w)
		synctest.Wait()

		add := step("add")
		add.Parameters = json.RawMessage(`{"A":2,"B":3}`)
		add.ParentResults = map[string]json.RawMessage{"first": json.RawMessage(`10`)}
		f.put(add, step("raw"), step("none"))
		synctest.Wait()

		got := map[string]string{}
		for _, res := range f.results() {
			if res.Status != tasker.ResultCompleted || res.Token != 1 {
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
		first := f.polls[0]
		if !first.Start || first.Capacity != 4 || first.WaitMS != 20_000 {
			t.Errorf("first poll was %+v, want a long one that starts 4 steps", first)
		}
		if len(f.drains) != 1 || !f.drains[0].Final {
			t.Errorf("drains = %+v, want one, final", f.drains)
		}
	})
}

func TestWorkerUnfitToRun(t *testing.T) {
	t.Parallel()
	ok := func(context.Context, *tasker.Job) (any, error) { return nil, nil }
	for name, register := range map[string]func(*tasker.Worker){
		"NoHandlers": func(*tasker.Worker) {},
		"NoName":     func(w *tasker.Worker) { w.Handle("", ok) },
		"Nil":        func(w *tasker.Worker) { w.Handle("a", nil) },
		"NilTyped":   func(w *tasker.Worker) { tasker.HandleFunc[int, int](w, "a", nil) },
		"Twice":      func(w *tasker.Worker) { w.Handle("a", ok); w.Handle("a", ok) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			w := worker(f, tasker.WorkerOptions{})
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
			f.onRegister = func(tasker.WorkerRegistration) error {
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
		f.onRegister = func(tasker.WorkerRegistration) error { return tasker.Errorf(tasker.CodeForbidden, "no") }
		if err := noop(f).Run(t.Context()); tasker.ErrorCode(err) != tasker.CodeForbidden {
			t.Errorf("Run = %v, want CodeForbidden", err)
		}
	})
	t.Run("StoppedWhileWaiting", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.onRegister = func(tasker.WorkerRegistration) error { return tasker.Errorf(tasker.CodeUnavailable, "no") }
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
			f.onPoll = func(ctx context.Context, req tasker.PollRequest) (*tasker.PollResponse, error) {
				if f.pollCount() == 1 {
					return nil, forgotten
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			r := run(t, noop(f))
			synctest.Wait()
			if len(f.registered) != 2 || f.pollCount() != 2 || f.polls[0].WorkerID == f.polls[1].WorkerID {
				t.Errorf("%d registrations, polls %+v; want a second try under a new id at once", len(f.registered), f.polls)
			}
			if err := r.stop(); err != nil {
				t.Error(err)
			}
		})
	})
}

// noop is a worker with one handler, "noop".
func noop(f *fake) *tasker.Worker {
	w := worker(f, tasker.WorkerOptions{})
	w.Handle("noop", func(context.Context, *tasker.Job) (any, error) { return nil, nil })
	return w
}

// TestWorkerNeverSpins bounds the polls of a minute against servers that answer
// every poll at once and with nothing to do.
func TestWorkerNeverSpins(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		resp *tasker.PollResponse
		err  error
		most int
	}{
		"Unavailable":      {nil, tasker.Errorf(tasker.CodeUnavailable, "no"), 20},
		"NotFoundForEver":  {nil, tasker.Errorf(tasker.CodeNotFound, "no"), 20},
		"Unauthenticated":  {nil, tasker.Errorf(tasker.CodeUnauthenticated, "no"), 20},
		"NotOurError":      {nil, errors.New("odd"), 20},
		"EmptyImmediately": {&tasker.PollResponse{}, nil, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.onPoll = func(context.Context, tasker.PollRequest) (*tasker.PollResponse, error) { return tc.resp, tc.err }
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

// TestWorkerRetryAfter: the pause is at least what the server asks for.
func TestWorkerRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onPoll = func(context.Context, tasker.PollRequest) (*tasker.PollResponse, error) {
			return nil, &tasker.Error{Code: tasker.CodeExhausted, Message: "later", RetryAfter: 40 * time.Second}
		}
		r := run(t, noop(f))
		time.Sleep(39 * time.Second)
		if n := f.pollCount(); n != 1 {
			t.Errorf("%d polls, want 1 within Retry-After", n)
		}
		time.Sleep(2 * time.Second)
		if n := f.pollCount(); n != 2 {
			t.Errorf("%d polls, want the second after Retry-After", n)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestWorkerPolls: how much is asked for, and when.
func TestWorkerPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		release := make(chan struct{})
		var running, most atomic.Int64
		w := worker(f, tasker.WorkerOptions{Concurrency: 3})
		w.Handle("hold", func(context.Context, *tasker.Job) (any, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-release
			return nil, nil
		})
		r := run(t, w)
		synctest.Wait()
		f.put(step("hold"), step("hold"), step("hold"), step("hold"), step("hold"))
		synctest.Wait()
		if n := f.pollCount(); n != 1 || running.Load() != 3 {
			t.Errorf("%d polls and %d running, want 1 and 3: all slots are taken", n, running.Load())
		}
		release <- struct{}{}
		time.Sleep(2 * time.Millisecond) // for a moment the worker waits for the others of the wave
		synctest.Wait()
		if n := f.pollCount(); n != 2 || f.polls[1].Capacity != 1 || running.Load() != 3 {
			t.Errorf("polls %+v and %d running, want a second poll for the free slot", f.polls, running.Load())
		}
		close(release)
		synctest.Wait()
		if n := len(f.results()); n != 5 || most.Load() != 3 {
			t.Errorf("%d results, at most %d at once; want 5 and 3", n, most.Load())
		}
		polls := f.pollCount()
		time.Sleep(19 * time.Second)
		if n := f.pollCount(); n != polls {
			t.Errorf("%d polls while idle, want the one long poll", n-polls)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestWorkerWaves: short steps that came together are reported together, and
// the next poll waits for their slots; but not for a long one among them.
func TestWorkerWaves(t *testing.T) {
	t.Parallel()
	const slots = 8
	for name, tc := range map[string]struct {
		steps    []string
		reported []int         // sizes of the reports
		capacity int           // of the second poll
		within   time.Duration // of the first report
	}{
		"AllShort":    {slices.Repeat([]string{"short"}, slots), []int{slots}, slots, 500 * time.Microsecond},
		"OneLong":     {append(slices.Repeat([]string{"short"}, slots-1), "long"), []int{slots - 1, 1}, slots - 1, 2 * time.Millisecond},
		"AFewAreNone": {[]string{"long"}, []int{1}, slots - 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				begun := time.Now()
				var first time.Duration
				var second int
				f.onPoll = func(ctx context.Context, req tasker.PollRequest) (*tasker.PollResponse, error) {
					if f.pollCount() == 1 {
						var steps []tasker.Assignment
						for _, handler := range tc.steps {
							steps = append(steps, step(handler))
						}
						return &tasker.PollResponse{Steps: steps}, nil
					}
					if f.pollCount() == 2 {
						second, first = req.Capacity, time.Since(begun)
					}
					<-ctx.Done()
					return nil, ctx.Err()
				}
				w := worker(f, tasker.WorkerOptions{Concurrency: slots})
				var turn atomic.Int64
				w.Handle("short", func(context.Context, *tasker.Job) (any, error) {
					time.Sleep(time.Duration(turn.Add(1)) * 50 * time.Microsecond)
					return nil, nil
				})
				w.Handle("long", func(context.Context, *tasker.Job) (any, error) {
					time.Sleep(time.Second)
					return nil, nil
				})
				r := run(t, w)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				var sizes []int
				f.mu.Lock()
				for _, batch := range f.settled {
					sizes = append(sizes, len(batch))
				}
				f.mu.Unlock()
				if !slices.Equal(sizes, tc.reported) || second != tc.capacity || first > tc.within {
					t.Errorf("reports of %v, second poll for %d after %v; want %v, %d, at most %v",
						sizes, second, first, tc.reported, tc.capacity, tc.within)
				}
				if err := r.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
