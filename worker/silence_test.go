package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// reach says whether a server answers calls about leases.
type reach struct {
	down  atomic.Bool
	tries atomic.Int64
	lost  atomic.Pointer[uuid.UUID] // a step that is in other hands
}

// outage lets a server of f fail: err answers every heartbeat and report. Polls still work, as without a database.
func outage(f *fake, err error) *reach {
	r := &reach{}
	f.onHeartbeat = func(b protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
		if r.down.Load() {
			return nil, err
		}
		answers := answer(b.Steps, protocol.LeaseHeld)
		for i := range answers {
			if lost := r.lost.Load(); lost != nil && answers[i].StepUUID == *lost {
				answers[i].Status = protocol.LeaseLost
			}
		}
		return &protocol.HeartbeatResponse{Acknowledged: true, Leases: answers}, nil
	}
	f.onSettle = func(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
		if r.down.Load() {
			r.tries.Add(1)
			return nil, err
		}
		return nil, nil
	}
	return r
}

func lasting(handler string, timeout time.Duration) protocol.Assignment {
	s := step(handler)
	s.TimeoutSeconds = int(timeout / time.Second)
	return s
}

var errAway = tasker.Errorf(tasker.CodeUnavailable, "away")

// TestOutageLongerThanLeases: no server answers for ten leases, then one answers that still has them. The handler
// continues, ended steps are reported, and nothing is lost.
func TestOutageLongerThanLeases(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"Unavailable": errAway,
		"TimeOut":     context.DeadlineExceeded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				server := outage(f, err)
				w := newWorker(f, worker.Options{})
				var slow untilEnded
				w.Handle("slow", slow.handle)
				w.Handle("ends", func(ctx context.Context, job *worker.Job) (any, error) {
					select {
					case <-time.After(time.Duration(job.Parameters[0]-'0') * 5 * time.Minute):
						return "done", nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				})
				r := run(t, w)
				during, after := lasting("ends", time.Hour), lasting("ends", time.Hour)
				during.Parameters, after.Parameters = []byte("1"), []byte("3")
				f.put(lasting("slow", time.Hour), during, after)
				time.Sleep(35 * time.Second)
				server.down.Store(true)
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if n := len(f.results()); n != 0 || server.tries.Load() == 0 {
					t.Fatalf("%d results taken after %d tries during the outage", n, server.tries.Load())
				}
				server.down.Store(false)
				time.Sleep(25 * time.Second)
				synctest.Wait()
				if res := f.results(); len(res) != 1 || res[0].StepUUID != during.StepUUID ||
					res[0].Status != protocol.ResultCompleted {
					t.Fatalf("reported %+v, want what ended during the outage", res)
				}
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if res := f.results(); len(res) != 2 || res[1].Status != protocol.ResultCompleted {
					t.Errorf("reported %+v, want what ended after the outage too", res)
				}
				if slow.count() != 0 {
					t.Errorf("the context of a handler ended for %v", slow.causes)
				}
				if err := r.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestOutageEndsInLoss: only this worker was cut off. The first answer says so, and the step ends immediately.
func TestOutageEndsInLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		server := outage(f, errAway)
		w := newWorker(f, worker.Options{})
		var slow untilEnded
		w.Handle("slow", slow.handle)
		r := run(t, w)
		s := lasting("slow", time.Hour)
		f.put(s)
		time.Sleep(15 * time.Second)
		server.down.Store(true)
		server.lost.Store(&s.StepUUID)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if slow.count() != 0 {
			t.Fatal("the step was stopped while nobody said that its lease is lost")
		}
		server.down.Store(false)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		slow.only(t, worker.ErrLeaseLost)
		if n := len(f.results()); n != 0 {
			t.Errorf("%d results reported under a lost lease", n)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestOutageIsBounded: handlers and results end although the server never comes back.
func TestOutageIsBounded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		timeout time.Duration
		cause   error
		ends    time.Duration
		reports time.Duration
	}{
		"TimeOut":           {10 * time.Minute, worker.ErrTimedOut, 10 * time.Minute, 12 * time.Minute},
		"NoTimeOut":         {0, worker.ErrLeaseLost, 24*time.Hour + time.Minute, 24*time.Hour + 2*time.Minute},
		"ShorterThanALease": {45 * time.Second, worker.ErrTimedOut, 45 * time.Second, 165 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				server := outage(f, errAway)
				w := newWorker(f, worker.Options{})
				var slow untilEnded
				w.Handle("slow", slow.handle)
				w.Handle("noop", func(context.Context, *worker.Job) (any, error) { return nil, nil })
				r := run(t, w)
				synctest.Wait()
				server.down.Store(true)
				f.put(lasting("slow", tc.timeout), lasting("noop", tc.timeout))
				time.Sleep(tc.ends - time.Second)
				synctest.Wait()
				if slow.count() != 0 {
					t.Fatalf("the handler's context ended before %v", tc.ends)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				slow.only(t, tc.cause)
				before := server.tries.Load()
				time.Sleep(tc.reports - tc.ends + 30*time.Second)
				after := server.tries.Load()
				time.Sleep(30 * time.Hour)
				if n := server.tries.Load(); n != after || before == 0 || after == before {
					t.Errorf("%d reports until the attempt ended, %d until %v, %d in all; want some, more, and no more",
						before, after, tc.reports, n)
				}
				if err := r.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestOutageOfHeartbeats: leases run out while a server answers reports but no heartbeat.
func TestOutageOfHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.onHeartbeat = func(protocol.Heartbeat) (*protocol.HeartbeatResponse, error) { return nil, errAway }
		w := newWorker(f, worker.Options{})
		var slow untilEnded
		w.Handle("slow", slow.handle)
		w.Handle("noop", func(context.Context, *worker.Job) (any, error) { return nil, nil })
		r := run(t, w)
		f.put(lasting("slow", time.Hour))
		for range 61 {
			f.put(step("noop"))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		slow.only(t, worker.ErrLeaseLost)
		if n := len(f.allBeats()); n > 20 {
			t.Errorf("%d heartbeats in a minute are too many", n)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestStopDuringAnOutage: until its drain timeout, a stopping worker reports often enough to meet a server that comes
// back.
func TestStopDuringAnOutage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		back  time.Duration
		taken int
	}{
		"BackInTime": {28 * time.Second, 1},
		"TooLate":    {time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.self.HeartbeatIntervalMS, f.self.LeaseSeconds = 300_000, 900 // no beat helps
				server := outage(f, errAway)
				r := run(t, noop(f))
				synctest.Wait()
				server.down.Store(true)
				f.put(lasting("noop", 2*time.Hour))
				time.Sleep(20 * time.Minute)
				synctest.Wait()
				begun := time.Now()
				time.AfterFunc(tc.back, func() { server.down.Store(false) })
				err := r.stop()
				took := time.Since(begun)
				if n := len(f.results()); n != tc.taken || (err == nil) != (n == 1) || took > 31*time.Second {
					t.Errorf("%d results taken, want %d; Run = %v after %v", n, tc.taken, err, took)
				}
				if tc.taken == 0 && took < 30*time.Second {
					t.Errorf("results were given up after %v, before the drain time-out", took)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}
