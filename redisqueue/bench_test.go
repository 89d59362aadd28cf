package redisqueue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/taskerhq/tasker/redisqueue"
)

// BenchmarkConsumer runs jobs of 150 bytes from a full queue: taken, run by the retry handler, acknowledged. A share
// fails for good, and becomes dead letters.
func BenchmarkConsumer(b *testing.B) {
	for _, failing := range []int{0, 10, 100} {
		b.Run(fmt.Sprintf("failing=%d%%", failing), func(b *testing.B) {
			s := shared(b)
			fill := strings.Repeat("x", 120)
			words := []string{"RPUSH", s.queue}
			for i := range b.N {
				words = append(words, fmt.Sprintf(`{"id":%d,"file":"%s"}`, i, fill))
				if len(words) > 1000 || i == b.N-1 {
					s.do(words...)
					words = words[:2]
				}
			}
			var n atomic.Int64
			done := make(chan struct{})
			c, err := redisqueue.NewConsumer(redisqueue.ConsumerOptions{
				Client: s.client, Queue: s.queue, Concurrency: 1000,
				HandlerOptions: redisqueue.HandlerOptions{Letters: s.deadLetters(redisqueue.DeadLetterOptions{})},
				Handler: func(context.Context, redisqueue.Job) (any, error) {
					if n.Load()%100 < int64(failing) {
						return nil, redisqueue.Permanent(errors.New("no"))
					}
					return nil, nil
				},
				OnResult: func(redisqueue.Job, redisqueue.Result) {
					if n.Add(1) == int64(b.N) {
						close(done)
					}
				},
			})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			stopped := make(chan error)
			b.ResetTimer()
			go func() { stopped <- c.Run(ctx) }()
			<-done
			b.StopTimer()
			cancel()
			if err := <-stopped; err != nil || !s.idle() {
				b.Errorf("it stopped: %v", err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}
