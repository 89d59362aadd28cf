package worker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// untilEnded continues until its context ends, and notes the cause.
type untilEnded struct {
	mu     sync.Mutex
	causes []error
}

func (u *untilEnded) handle(ctx context.Context, _ *worker.Job) (any, error) {
	<-ctx.Done()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.causes = append(u.causes, context.Cause(ctx))
	return nil, ctx.Err()
}

func (u *untilEnded) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.causes)
}

func (u *untilEnded) only(t *testing.T, want error) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.causes) != 1 || !errors.Is(u.causes[0], want) {
		t.Errorf("contexts ended for %v, want one for %v", u.causes, want)
	}
}

func TestTimeOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var slow untilEnded
		w := newWorker(f, worker.Options{})
		w.Handle("slow", slow.handle)
		w.Handle("deadline", func(ctx context.Context, _ *worker.Job) (any, error) {
			at, ok := ctx.Deadline()
			return ok && time.Until(at) == time.Hour, nil
		})
		r := run(t, w)
		synctest.Wait()
		// The later deadline comes first, so that the timer must be moved forward.
		later, sooner := step("deadline"), step("slow")
		later.TimeoutSeconds, sooner.TimeoutSeconds = 3600, 45
		f.put(later)
		synctest.Wait()
		f.put(sooner)
		time.Sleep(44 * time.Second)
		synctest.Wait()
		if n := len(f.results()); n != 1 {
			t.Fatalf("%d results before the time-out, want 1", n)
		}
		if got := string(f.results()[0].Result); got != "true" {
			t.Error("the handler did not see its deadline")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		slow.only(t, worker.ErrTimedOut)
		res := f.results()[1]
		if res.Status != protocol.ResultFailed || res.Error.Type != "timeout" ||
			!strings.HasPrefix(res.Error.Message, "timed out after 45 s") {
			t.Errorf("reported %+v, want a time-out", res.Error)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestTimeOutOverruled: a handler that still succeeds has succeeded.
func TestTimeOutOverruled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := newWorker(f, worker.Options{})
		w.Handle("stubborn", func(ctx context.Context, _ *worker.Job) (any, error) { <-ctx.Done(); return 1, nil })
		r := run(t, w)
		s := step("stubborn")
		s.TimeoutSeconds = 5
		f.put(s)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if res := f.results()[0]; res.Status != protocol.ResultCompleted {
			t.Errorf("reported %+v, want completed", res)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestHeartbeatRenewsLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.self.HeartbeatIntervalMS = 50_000 // longer than a third of the lease of 60 s
		var slow untilEnded
		w := newWorker(f, worker.Options{})
		w.Handle("slow", slow.handle)
		r := run(t, w)
		synctest.Wait()
		time.Sleep(21 * time.Second)
		if beats := f.allBeats(); len(beats) != 1 || beats[0].Steps == nil || len(beats[0].Steps) != 0 {
			t.Errorf("beats of an idle worker: %+v, want one that names no lease", beats)
		}
		s := step("slow")
		s.TimeoutSeconds = 600
		f.put(s)
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		if slow.count() != 0 {
			t.Error("the step was stopped though its lease was renewed")
		}
		beats := f.allBeats()
		if n := len(beats); n < 27 || n > 29 {
			t.Errorf("%d beats in 9:21 min, want one each 20 s", n)
		}
		last := beats[len(beats)-1]
		if len(last.Steps) != 1 || last.Steps[0].StepUUID != s.StepUUID || last.CurrentLoad != 1 || last.Status != "active" {
			t.Errorf("beat %+v, want it to name the one step", last)
		}
		time.Sleep(2 * time.Minute)
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestHeartbeatAnswers(t *testing.T) {
	t.Parallel()
	for status, cause := range map[string]error{
		protocol.LeaseLost:      worker.ErrLeaseLost,
		protocol.LeaseCancelled: worker.ErrCancelled,
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.onHeartbeat = func(b protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
					return &protocol.HeartbeatResponse{Acknowledged: true, Leases: answer(b.Steps, status)}, nil
				}
				var slow untilEnded
				w := newWorker(f, worker.Options{})
				w.Handle("slow", slow.handle)
				r := run(t, w)
				f.put(step("slow"))
				time.Sleep(11 * time.Second)
				synctest.Wait()
				slow.only(t, cause)
				if n := len(f.results()); n != 0 {
					t.Errorf("%d results reported of a step that is not ours any more", n)
				}
				f.put(step("slow"))
				synctest.Wait()
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if n := slow.count(); n != 2 {
					t.Errorf("%d steps ran, want 2", n)
				}
				if err := r.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestHeartbeatOvertakesSettlement: the server has taken the result, and with it the lease, but the answer is still
// on its way. That is no loss, and an unanswered report is repeated.
func TestHeartbeatOvertakesSettlement(t *testing.T) {
	t.Parallel()
	for _, status := range []string{protocol.LeaseLost, protocol.LeaseCancelled} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				taken := make(chan struct{})
				calls := 0
				f.onSettle = func(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
					if calls++; calls == 1 {
						<-taken
						return nil, tasker.Errorf(tasker.CodeUnavailable, "the answer was lost")
					}
					return nil, nil
				}
				f.onHeartbeat = func(b protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
					return &protocol.HeartbeatResponse{Acknowledged: true, Leases: answer(b.Steps, status)}, nil
				}
				var log bytes.Buffer
				w := worker.New(tasker.NewClient(f), &worker.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				w.Handle("noop", func(context.Context, *worker.Job) (any, error) { return nil, nil })
				r := run(t, w)
				f.put(step("noop"))
				time.Sleep(11 * time.Second)
				synctest.Wait()
				if beats := f.allBeats(); len(beats) != 1 || len(beats[0].Steps) != 1 {
					t.Fatalf("beats %+v, want one that names the step", beats)
				}
				close(taken)
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := len(f.results()); n != 1 {
					t.Errorf("%d results in the end, want 1", n)
				}
				if err := r.stop(); err != nil {
					t.Error(err)
				}
				if strings.Contains(log.String(), "lease was lost") {
					t.Errorf("logged as a loss:\n%s", log.String())
				}
			})
		})
	}
}

// TestLeaseRunsOut: a step continues until its lease ends if a server answers heartbeats without renewing it.
func TestLeaseRunsOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onHeartbeat = func(protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
			return nil, tasker.Errorf(tasker.CodeForbidden, "no")
		}
		var slow untilEnded
		w := newWorker(f, worker.Options{})
		w.Handle("slow", slow.handle)
		r := run(t, w)
		synctest.Wait()
		f.put(step("slow"))
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if slow.count() != 0 {
			t.Fatal("stopped before the lease ended")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		slow.only(t, worker.ErrLeaseLost)
		if n := len(f.results()); n != 0 {
			t.Errorf("%d results reported under a lease that ran out", n)
		}
		if n := len(f.allBeats()); n > 40 {
			t.Errorf("%d heartbeats in a minute are too many", n)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestStepHandedOutAgain: a new token for the same step replaces the old lease; only the new one is reported.
func TestStepHandedOutAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var slow untilEnded
		first := true
		w := newWorker(f, worker.Options{})
		w.Handle("h", func(ctx context.Context, job *worker.Job) (any, error) {
			if first {
				first = false
				return slow.handle(ctx, job)
			}
			return "second", nil
		})
		r := run(t, w)
		s := step("h")
		f.put(s)
		synctest.Wait()
		s.Token = "2"
		f.put(s)
		synctest.Wait()
		slow.only(t, worker.ErrLeaseLost)
		if res := f.results(); len(res) != 1 || res[0].Token != "2" || string(res[0].Result) != `"second"` {
			t.Errorf("reported %+v, want only the second", res)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.self.HeartbeatIntervalMS = 3_600_000
		f.onHeartbeat = func(protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
			return nil, tasker.Errorf(tasker.CodeUnavailable, "no")
		}
		var reports []protocol.ProgressReport
		status := protocol.LeaseHeld
		f.onProgress = func(p protocol.ProgressReport) (*protocol.LeaseAnswer, error) {
			reports = append(reports, p)
			return &protocol.LeaseAnswer{StepUUID: p.StepUUID, Status: status}, nil
		}
		var last error
		w := newWorker(f, worker.Options{})
		w.Handle("h", func(ctx context.Context, job *worker.Job) (any, error) {
			for i := range 4 {
				time.Sleep(40 * time.Second) // longer than a lease in all: progress must renew it
				if i == 3 {
					status = protocol.LeaseCancelled
				}
				if last = job.Progress(i*50, strings.Repeat("x", 2000)); last != nil {
					return nil, last
				}
			}
			return nil, nil
		})
		r := run(t, w)
		f.put(step("h"))
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if !errors.Is(last, worker.ErrCancelled) {
			t.Errorf("last Progress = %v, want ErrCancelled", last)
		}
		if len(reports) != 4 || reports[3].ProgressPercent != 100 || len(reports[0].StatusMessage) != 1024 {
			t.Errorf("reports %d, want 4 within their bounds", len(reports))
		}
		if n := len(f.results()); n != 0 {
			t.Errorf("%d results of a cancelled step", n)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}
