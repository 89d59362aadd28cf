package worker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestDrain(t *testing.T) {
	t.Parallel()

	t.Run("HandlersFinish", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			w := newWorker(f, worker.Options{DrainTimeout: 30 * time.Second})
			w.Handle("h", func(ctx context.Context, _ *worker.Job) (any, error) {
				time.Sleep(20 * time.Second)
				return nil, ctx.Err()
			})
			r := run(t, w)
			f.put(step("h"))
			synctest.Wait()
			begun := time.Now()
			if err := r.stop(); err != nil {
				t.Errorf("Run: %v", err)
			}
			if took := time.Since(begun); took != 20*time.Second {
				t.Errorf("Run took %v to stop, want the handler's 20 s", took)
			}
			if res := f.results(); len(res) != 1 || res[0].Status != protocol.ResultCompleted {
				t.Errorf("reported %+v, want one completed", res)
			}
			if last := f.beats[len(f.beats)-1]; last.Status != "draining" || len(last.Steps) != 1 {
				t.Errorf("beat while draining: %+v, want it to keep the lease", last)
			}
		})
	})

	t.Run("HandlersAreReleased", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			var slow untilEnded
			w := newWorker(f, worker.Options{DrainTimeout: 30 * time.Second})
			w.Handle("slow", slow.handle)
			w.Handle("panics", func(ctx context.Context, _ *worker.Job) (any, error) { <-ctx.Done(); panic("at the end") })
			r := run(t, w)
			f.put(step("slow"))
			synctest.Wait()
			begun := time.Now()
			if err := r.stop(); err != nil {
				t.Errorf("Run: %v", err)
			}
			slow.only(t, worker.ErrDraining)
			if took := time.Since(begun); took != 30*time.Second {
				t.Errorf("Run took %v to stop, want DrainTimeout", took)
			}
			if res := f.results(); len(res) != 1 || res[0].Status != protocol.ResultReleased || res[0].Error != nil {
				t.Errorf("reported %+v, want one released", res)
			}
			if len(f.drains) != 1 || !f.drains[0].Final {
				t.Errorf("drains %+v, want one, final", f.drains)
			}
		})
	})

	t.Run("PanicIsNoRelease", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			w := newWorker(f, worker.Options{DrainTimeout: -1})
			w.Handle("panics", func(ctx context.Context, _ *worker.Job) (any, error) { <-ctx.Done(); panic("at the end") })
			r := run(t, w)
			f.put(step("panics"))
			synctest.Wait()
			if err := r.stop(); err != nil {
				t.Errorf("Run: %v", err)
			}
			if res := f.results(); len(res) != 1 || res[0].Status != protocol.ResultFailed || res[0].Error.Type != "panic" {
				t.Errorf("reported %+v, want the panic", res)
			}
		})
	})

	t.Run("HandlersAreLeftBehind", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			w := newWorker(f, worker.Options{DrainTimeout: time.Second})
			w.Handle("deaf", func(context.Context, *worker.Job) (any, error) { time.Sleep(time.Hour); return nil, nil })
			r := run(t, w)
			f.put(step("deaf"))
			synctest.Wait()
			begun := time.Now()
			if err := r.stop(); err == nil {
				t.Error("Run = nil though a handler still runs")
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("Run took %v to stop", took)
			}
			if len(f.drains) != 1 || !f.drains[0].Final {
				t.Errorf("drains %+v, want a final one that gives the step back", f.drains)
			}
			time.Sleep(2 * time.Hour)
			if n := len(f.results()); n != 0 {
				t.Errorf("%d results of a step that was left behind", n)
			}
		})
	})

	t.Run("ServerIsAway", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.onSettle = func(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
				return nil, tasker.Errorf(tasker.CodeUnavailable, "away")
			}
			r := run(t, noop(f))
			f.put(step("noop"))
			synctest.Wait()
			begun := time.Now()
			if err := r.stop(); err == nil {
				t.Error("Run = nil though a result was lost")
			}
			if took := time.Since(begun); took != 30*time.Second {
				t.Errorf("Run took %v to stop, want DrainTimeout", took)
			}
		})
	})
}

// TestDrainReleasesStrays: steps assigned while the poll was ending are returned, not run.
func TestDrainReleasesStrays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onPoll = func(ctx context.Context, _ protocol.PollRequest) (*protocol.PollResponse, error) {
			<-ctx.Done()
			return &protocol.PollResponse{Steps: []protocol.Assignment{step("h"), step("h")}}, nil
		}
		w := newWorker(f, worker.Options{})
		w.Handle("h", func(context.Context, *worker.Job) (any, error) {
			return nil, errors.New("ran all the same")
		})
		r := run(t, w)
		synctest.Wait()
		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		res := f.results()
		if len(res) != 4 {
			t.Errorf("%d results, want two for each of two polls", len(res))
		}
		for _, r := range res {
			if r.Status != protocol.ResultReleased {
				t.Errorf("reported %+v, want it released", r)
			}
		}
	})
}

func TestServerAsksToDrain(t *testing.T) {
	t.Parallel()
	t.Run("InPoll", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			both := together()
			var first atomic.Bool
			f.onPoll = func(ctx context.Context, _ protocol.PollRequest) (*protocol.PollResponse, error) {
				both()
				if first.CompareAndSwap(false, true) {
					return &protocol.PollResponse{Steps: []protocol.Assignment{step("noop")}, ShouldDrain: true}, nil
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			begun := time.Now()
			if err := noop(f).Run(t.Context()); err != nil {
				t.Errorf("Run: %v", err)
			}
			if took := time.Since(begun); took != 0 || f.pollCount() != 2 {
				t.Errorf("Run ended after %v and %d polls, want it at once: the other poll must not be waited for", took,
					f.pollCount())
			}
			if res := f.results(); len(res) != 1 || res[0].Status != protocol.ResultCompleted {
				t.Errorf("reported %+v, want what it had completed", res)
			}
		})
	})
	t.Run("InHeartbeat", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.onHeartbeat = func(protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
				return &protocol.HeartbeatResponse{Acknowledged: true, ShouldDrain: true}, nil
			}
			begun := time.Now()
			if err := noop(f).Run(t.Context()); err != nil {
				t.Errorf("Run: %v", err)
			}
			if took := time.Since(begun); took != 10*time.Second {
				t.Errorf("Run ended after %v, want the first heartbeat's 10 s", took)
			}
		})
	})
}

// TestAbort: closing the channel ends the time of handlers, and their steps are released.
func TestAbort(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"Before": true, "While": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, abort := newFake(), make(chan struct{})
				var slow untilEnded
				w := newWorker(f, worker.Options{DrainTimeout: time.Hour, Abort: abort})
				w.Handle("slow", slow.handle)
				r := run(t, w)
				f.put(step("slow"))
				synctest.Wait()
				if before {
					close(abort)
					synctest.Wait()
					if n := len(f.results()); n != 0 {
						t.Errorf("%d results before the worker stops", n)
					}
				} else {
					time.AfterFunc(time.Minute, func() { close(abort) })
				}
				begun, want := time.Now(), time.Minute
				if before {
					want = 0
				}
				if err := r.stop(); err != nil {
					t.Errorf("Run: %v", err)
				}
				if took := time.Since(begun); took != want {
					t.Errorf("Run took %v to stop, want %v", took, want)
				}
				slow.only(t, worker.ErrDraining)
				if res := f.results(); len(res) != 1 || res[0].Status != protocol.ResultReleased {
					t.Errorf("reported %+v, want one released", res)
				}
			})
		})
	}
}
