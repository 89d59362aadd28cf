package worker_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestWorkerPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		release := make(chan struct{})
		var running, most atomic.Int64
		w := newWorker(f, worker.Options{Concurrency: 3})
		w.Handle("hold", func(context.Context, *worker.Job) (any, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-release
			return nil, nil
		})
		r := run(t, w)
		synctest.Wait()
		f.put(step("hold"), step("hold"), step("hold"), step("hold"), step("hold"))
		synctest.Wait()
		if n := f.pollCount(); n != 2 || running.Load() != 3 {
			t.Errorf("%d polls and %d running, want 2 and 3: all slots are taken", n, running.Load())
		}
		release <- struct{}{}
		time.Sleep(2 * time.Millisecond) // the worker waits a moment for the others of the batch
		synctest.Wait()
		if n := f.pollCount(); n != 3 || f.polls[2].Capacity != 1 || running.Load() != 3 {
			t.Errorf("polls %+v and %d running, want a third poll for the free slot", f.polls, running.Load())
		}
		close(release)
		synctest.Wait()
		if n := len(f.results()); n != 5 || most.Load() != 3 {
			t.Errorf("%d results, at most %d at once; want 5 and 3", n, most.Load())
		}
		polls := f.pollCount()
		time.Sleep(19 * time.Second)
		if n := f.pollCount(); n != polls || !slices.Equal(f.waiting(), []int{1, 2}) {
			t.Errorf("%d polls while idle and %v waiting, want the two long polls, for 3", n-polls, f.waiting())
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestWorkerPollsTwice: an idle worker has two waiting polls that share its slots, and another for slots that one of
// them leaves free.
func TestWorkerPollsTwice(t *testing.T) {
	t.Parallel()
	for concurrency, want := range map[int]struct{ idle, oneRuns []int }{
		1:    {[]int{1}, nil},
		2:    {[]int{1, 1}, []int{1}},
		3:    {[]int{1, 2}, []int{1, 1}}, // or [2]: see below
		10:   {[]int{5, 5}, []int{4, 5}},
		5000: {[]int{1000, 1000}, []int{1000, 1000}}, // the answer would be too long
	} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				release := make(chan struct{})
				w := newWorker(f, worker.Options{Concurrency: concurrency})
				w.Handle("hold", func(context.Context, *worker.Job) (any, error) { <-release; return nil, nil })
				r := run(t, w)
				synctest.Wait()
				if got := f.waiting(); !slices.Equal(got, want.idle) {
					t.Errorf("polls for %v wait, want %v", got, want.idle)
				}
				f.put(step("hold"))
				time.Sleep(2 * time.Millisecond) // of few slots, one is a batch
				synctest.Wait()
				// of three slots, the step may have come with the poll for one
				if got := f.waiting(); !slices.Equal(got, want.oneRuns) && (concurrency != 3 || !slices.Equal(got, []int{2})) {
					t.Errorf("polls for %v wait while one step runs, want %v", got, want.oneRuns)
				}
				close(release)
				synctest.Wait()
				if err := r.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestWorkerRetryAfter: both polling loops pause for at least the server's time.
func TestWorkerRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		both := together()
		f.onPoll = func(context.Context, protocol.PollRequest) (*protocol.PollResponse, error) {
			if f.pollCount() <= 2 {
				both()
			}
			return nil, &tasker.Error{Code: tasker.CodeExhausted, Message: "later", RetryAfter: 40 * time.Second}
		}
		r := run(t, noop(f))
		for i := range 3 {
			time.Sleep(39 * time.Second)
			if n := f.pollCount(); n != 2+i {
				t.Errorf("%d polls, want %d within Retry-After", n, 2+i)
			}
			time.Sleep(1 * time.Second)
			synctest.Wait()
			if n := f.pollCount(); n != 3+i {
				t.Errorf("%d polls, want one, the %d., after Retry-After", n, 3+i)
			}
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestWorkerOutage: while polls fail, one at a time tries; after a success both wait at the server again.
func TestWorkerOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		down, back := make(chan struct{}), time.Now().Add(time.Minute)
		var tries, most atomic.Int64
		f.onPoll = func(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
			most.Store(max(most.Load(), int64(len(f.waiting()))))
			select {
			case <-down:
				time.Sleep(10 * time.Millisecond)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if time.Now().Before(back) {
				tries.Add(1)
				return nil, tasker.Errorf(tasker.CodeUnavailable, "away")
			}
			if !sleepUntilDone(ctx, time.Second) {
				return nil, ctx.Err()
			}
			return &protocol.PollResponse{Steps: []protocol.Assignment{step("noop")}}, nil
		}
		r := run(t, noop(f))
		synctest.Wait()
		if n := most.Load(); n != 2 {
			t.Errorf("%d polls wait while all is well, want 2", n)
		}
		close(down)
		time.Sleep(20 * time.Millisecond)
		most.Store(0)
		time.Sleep(59 * time.Second)
		if most.Load() != 1 || tries.Load() > 18 {
			t.Errorf("%d tries in a minute, up to %d at once; want one at a time", tries.Load(), most.Load())
		}
		time.Sleep(25 * time.Second) // the longest pause is over, and the try answered
		synctest.Wait()
		if n := len(f.waiting()); n != 2 {
			t.Errorf("%d polls wait after the outage, want 2", n)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

func sleepUntilDone(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// TestWorkerWaves: short steps that came together, even with two polls, are reported together, and the next polls
// wait for their slots, but not for a long step among them.
func TestWorkerWaves(t *testing.T) {
	t.Parallel()
	const slots = 8
	for name, tc := range map[string]struct {
		steps    []string
		reported []int
		wave     time.Duration
		polls    []int
	}{
		"AllShort": {slices.Repeat([]string{"short"}, slots), []int{slots}, slots * shortStep, []int{4, 4}},
		"OneLong": {append(slices.Repeat([]string{"short"}, slots-1), "long"), []int{slots - 1, 1}, time.Millisecond,
			[]int{3, 4}},
		"AFewAreNone": {[]string{"long"}, []int{1}, 0, []int{3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				w := newWorker(f, worker.Options{Concurrency: slots})
				var turn atomic.Int64
				w.Handle("short", func(context.Context, *worker.Job) (any, error) {
					time.Sleep(time.Duration(turn.Add(1)) * shortStep)
					return nil, nil
				})
				w.Handle("long", func(context.Context, *worker.Job) (any, error) {
					time.Sleep(time.Second)
					return nil, nil
				})
				r := run(t, w)
				synctest.Wait()
				var steps []protocol.Assignment
				for _, handler := range tc.steps {
					steps = append(steps, step(handler))
				}
				f.put(steps...)
				synctest.Wait()
				if tc.wave > 0 {
					time.Sleep(tc.wave - time.Microsecond)
					if n := f.pollCount(); n != 2 {
						t.Errorf("%d polls before the wave is over, want the first two", n)
					}
					time.Sleep(time.Microsecond)
					synctest.Wait()
				}
				if got := f.waiting(); !slices.Equal(got, tc.polls) {
					t.Errorf("polls for %v wait after the wave, want %v", got, tc.polls)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				var sizes []int
				f.mu.Lock()
				for _, batch := range f.settled {
					sizes = append(sizes, len(batch))
				}
				f.mu.Unlock()
				if !slices.Equal(sizes, tc.reported) {
					t.Errorf("reports of %v, want %v", sizes, tc.reported)
				}
				if err := r.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

const shortStep = 50 * time.Microsecond
