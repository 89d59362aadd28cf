package worker_test

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

type largeFake struct {
	*fake
	send  func(context.Context) error
	sends atomic.Int32
}

func newLargeFake(send func(context.Context) error) *largeFake {
	f := &largeFake{fake: newFake(), send: send}
	f.self.MaxResultPayloadBytes, f.self.MaxLargeResultBytes = 100, 1000
	return f
}

func (f *largeFake) SendLargeResult(ctx context.Context, _ uuid.UUID, _ protocol.LeaseRef, _ []byte,
) (*protocol.LargeResultReceipt, error) {
	f.sends.Add(1)
	if err := f.send(ctx); err != nil {
		return nil, err
	}
	return &protocol.LargeResultReceipt{Reference: "here"}, nil
}

func (*largeFake) LargeParentResult(context.Context, uuid.UUID, protocol.LeaseRef, string) (io.ReadCloser, error) {
	return nil, tasker.Errorf(tasker.CodeNotFound, "there is none")
}

func (*largeFake) LargeResult(context.Context, uuid.UUID, uuid.UUID) (io.ReadCloser, error) {
	return nil, tasker.Errorf(tasker.CodeNotFound, "there is none")
}

func large(context.Context, *worker.Job) (any, error) { return strings.Repeat("x", 500), nil }

// TestLargeResultIsSentAgain: until the store works, also after the drain timeout.
func TestLargeResultIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		f := newLargeFake(func(context.Context) error {
			if time.Since(begun) < 5*time.Minute {
				return tasker.Errorf(tasker.CodeUnavailable, "the blob store does not work")
			}
			return nil
		})
		w := worker.New(tasker.NewClient(f), &worker.Options{Logger: quiet()})
		w.Handle("h", large)
		r := run(t, w)
		f.put(step("h"))
		time.Sleep(6 * time.Minute)
		if res := f.results(); len(res) != 1 || res[0].Status != protocol.ResultCompleted || res[0].LargeResult != "here" {
			t.Errorf("reported %+v, want one completed", res)
		}
		if n := f.sends.Load(); n < 5 || n > 60 {
			t.Errorf("sent %d times in 5 minutes", n)
		}
		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// TestLargeResultOfStoppedWorker: a stopping worker returns in time a step whose result nobody takes.
func TestLargeResultOfStoppedWorker(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(context.Context) error{
		"Refused": func(context.Context) error {
			return &tasker.Error{Code: tasker.CodeUnavailable, Message: "the server is stopping", RetryAfter: time.Minute}
		},
		"Hangs": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newLargeFake(send)
				w := worker.New(tasker.NewClient(f), &worker.Options{Logger: quiet(),
					DrainTimeout: 20 * time.Second})
				w.Handle("h", large)
				r := run(t, w)
				f.put(step("h"))
				time.Sleep(10 * time.Minute)
				begun := time.Now()
				if err := r.stop(); err != nil {
					t.Errorf("Run: %v", err)
				}
				if took := time.Since(begun); took > 25*time.Second {
					t.Errorf("Run took %v to stop", took)
				}
				if res := f.results(); len(res) != 1 || res[0].Status != protocol.ResultReleased {
					t.Errorf("reported %+v, want one released", res)
				}
			})
		})
	}
}
