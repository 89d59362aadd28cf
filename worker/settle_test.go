package worker_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestSettleTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		inFlight := make(chan struct{})
		var calls atomic.Int64
		f.onSettle = func(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
			if calls.Add(1) == 1 {
				<-inFlight
			}
			return nil, nil
		}
		w := newWorker(f, worker.Options{Concurrency: 20})
		w.Handle("noop", func(context.Context, *worker.Job) (any, error) { return nil, nil })
		r := run(t, w)
		f.put(step("noop"))
		synctest.Wait()
		for range 7 { // these finish while the first report is on its way
			f.put(step("noop"))
			synctest.Wait()
		}
		close(inFlight)
		synctest.Wait()
		if len(f.settled) != 2 || len(f.settled[0]) != 1 || len(f.settled[1]) != 7 {
			t.Errorf("reported in %d batches %v, want 1 and 7 together", len(f.settled), f.settled)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestSettleRetries(t *testing.T) {
	t.Parallel()
	away, refused := errAway, tasker.Errorf(tasker.CodeForbidden, "no")

	t.Run("UntilTheServerIsBack", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			back := time.Now().Add(40 * time.Second)
			var calls atomic.Int64
			f.onSettle = func(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
				if calls.Add(1); time.Now().Before(back) {
					return nil, away
				}
				return nil, nil
			}
			r := run(t, noop(f))
			f.put(step("noop"))
			time.Sleep(70 * time.Second)
			synctest.Wait()
			if n := len(f.results()); n != 1 || calls.Load() > 15 {
				t.Errorf("%d results after %d tries, want 1 after a few", n, calls.Load())
			}
			if err := r.stop(); err != nil {
				t.Error(err)
			}
		})
	})

	t.Run("NotPastTheLease", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			var calls atomic.Int64
			f.onSettle = func(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
				calls.Add(1)
				return nil, refused
			}
			f.onHeartbeat = func(protocol.Heartbeat) (*protocol.HeartbeatResponse, error) { return nil, refused }
			r := run(t, noop(f))
			f.put(step("noop"))
			time.Sleep(150 * time.Second) // the lease ended after 60 s; another 60 s are grace
			synctest.Wait()
			before := calls.Load()
			time.Sleep(time.Hour)
			if calls.Load() != before || before < 5 {
				t.Errorf("%d tries, then %d more; want some, then none", before, calls.Load()-before)
			}
			if err := r.stop(); err != nil {
				t.Errorf("Run = %v; what was lost long before the end is in the log", err)
			}
		})
	})

	t.Run("OneItem", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			bad, good := step("noop"), step("noop")
			f.onSettle = answerItems(f, map[uuid.UUID]*tasker.Error{bad.StepUUID: away}, 1)
			r := run(t, noop(f))
			f.put(bad, good)
			time.Sleep(time.Second)
			synctest.Wait()
			if n := len(f.results()); n != 2 {
				t.Errorf("%d results taken, want both in the end", n)
			}
			if err := r.stop(); err != nil {
				t.Error(err)
			}
		})
	})
}

func answerItems(f *fake, bad map[uuid.UUID]*tasker.Error,
	n int,
) func(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	refused := map[uuid.UUID]int{}
	return func(_ context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
		answers := make([]protocol.SettleAnswer, len(req.Results))
		var taken []protocol.StepResult
		for i, r := range req.Results {
			answers[i].StepUUID = r.StepUUID
			if bad[r.StepUUID] != nil && refused[r.StepUUID] < n {
				refused[r.StepUUID]++
				answers[i].Error = bad[r.StepUUID]
				continue
			}
			taken = append(taken, r)
		}
		f.mu.Lock()
		f.settled = append(f.settled, taken)
		f.mu.Unlock()
		return answers, nil
	}
}

// TestSettleRefused: a result that the server will never take becomes a failure that says so, and leaves the others.
func TestSettleRefused(t *testing.T) {
	t.Parallel()
	const steps = 9
	tooLarge := tasker.Errorf(tasker.CodeTooLarge, "over the limit")
	isBad := func(r protocol.StepResult) bool { return string(r.Result) == "4" }

	for name, refuse := range map[string]func(*fake) func(context.Context,
		protocol.SettleRequest) ([]protocol.SettleAnswer,
		error){
		"Whole": func(*fake) func(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
			return func(_ context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
				for _, r := range req.Results {
					if isBad(r) {
						return nil, tooLarge
					}
				}
				return nil, nil
			}
		},
		"Item": func(f *fake) func(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
			return func(ctx context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
				bad := map[uuid.UUID]*tasker.Error{}
				for _, r := range req.Results {
					if isBad(r) {
						bad[r.StepUUID] = tooLarge
					}
				}
				return answerItems(f, bad, 1)(ctx, req)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.onSettle = refuse(f)
				w := newWorker(f, worker.Options{})
				w.Handle("number", func(_ context.Context, job *worker.Job) (any, error) { return job.Parameters, nil })
				r := run(t, w)
				synctest.Wait()
				var all []protocol.Assignment
				for i := range steps {
					s := step("number")
					s.Parameters = []byte(strconv.Itoa(i))
					all = append(all, s)
				}
				f.put(all...)
				synctest.Wait()
				completed, failed := 0, 0
				for _, res := range f.results() {
					switch res.Status {
					case protocol.ResultCompleted:
						completed++
					case protocol.ResultFailed:
						failed++
						if res.StepUUID != all[4].StepUUID || res.Token != "1" || res.Error.Type != "result_refused" {
							t.Errorf("failed: %+v, want the refused step", res)
						}
					}
				}
				if completed != steps-1 || failed != 1 {
					t.Errorf("%d completed, %d failed; want %d and 1", completed, failed, steps-1)
				}
				if err := r.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestSettleStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		stale := step("noop")
		var calls atomic.Int64
		inner := answerItems(f, map[uuid.UUID]*tasker.Error{stale.StepUUID: tasker.Errorf(tasker.CodeStaleToken, "stale")},
			99)
		f.onSettle = func(ctx context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
			calls.Add(1)
			return inner(ctx, req)
		}
		r := run(t, noop(f))
		f.put(stale, step("noop"))
		time.Sleep(time.Minute)
		if calls.Load() > 2 || len(f.results()) != 1 {
			t.Errorf("%d tries and %d results, want no retry of the stale one", calls.Load(), len(f.results()))
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestSettleBackPressure: while results are not taken, the intake stops.
func TestSettleBackPressure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		blocked := make(chan struct{})
		f.onSettle = func(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
			<-blocked
			return nil, nil
		}
		w := newWorker(f, worker.Options{Concurrency: 4})
		w.Handle("noop", func(context.Context, *worker.Job) (any, error) { return nil, nil })
		for range 100 {
			f.put(step("noop"))
		}
		r := run(t, w)
		synctest.Wait()
		f.mu.Lock()
		left := len(f.ready)
		f.mu.Unlock()
		if left < 100-12 {
			t.Errorf("%d steps taken while none was reported, want at most three times the slots", 100-left)
		}
		close(blocked)
		synctest.Wait()
		if n := len(f.results()); n != 100 {
			t.Errorf("%d results, want 100", n)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}
