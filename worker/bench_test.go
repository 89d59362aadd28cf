package worker_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// BenchmarkWorker measures the cost of the worker per step, on a Backend that costs nothing.
func BenchmarkWorker(b *testing.B) {
	for _, concurrency := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(concurrency), func(b *testing.B) {
			b.ReportAllocs()
			f := newFake()
			one := step("noop")
			var left, done atomic.Int64
			left.Store(int64(b.N))
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			f.onPoll = func(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
				n := min(int64(req.Capacity), left.Load())
				if n <= 0 {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				rest := left.Add(-n)
				steps := make([]protocol.Assignment, n)
				for i := range steps {
					steps[i] = one
					binary.BigEndian.PutUint64(steps[i].StepUUID[:], uint64(rest)+uint64(i))
				}
				return &protocol.PollResponse{Steps: steps}, nil
			}
			calls := 0
			f.onSettle = func(_ context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
				calls++
				if done.Add(int64(len(req.Results))) >= int64(b.N) {
					cancel()
				}
				return make([]protocol.SettleAnswer, len(req.Results)), nil
			}
			w := newWorker(f, worker.Options{Concurrency: concurrency})
			w.Handle("noop", func(context.Context, *worker.Job) (any, error) { return nil, nil })
			b.ResetTimer()
			if err := w.Run(ctx); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/float64(max(calls, 1)), "steps/settle")
		})
	}
}
