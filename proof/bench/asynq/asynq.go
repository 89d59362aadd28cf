// Package asynq is Asynq (github.com/hibiken/asynq) as a bench.System, with the
// settings under which it is fastest.
package asynq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"

	"github.com/taskerhq/tasker/internal/cli/bench"
)

const (
	kind  = "bench"
	queue = "default"
	// checkInterval is the sleep of idle workers; the default of a second would dominate latency.
	checkInterval = time.Millisecond
	stopTimeout   = time.Minute
)

// Asynq is a queue in a Redis without other content.
type Asynq struct {
	redis   asynq.RedisConnOpt
	client  *asynq.Client
	handled atomic.Int64
}

var _ bench.System = (*Asynq)(nil)

// Open connects; close the result.
func Open(url string) (*Asynq, error) {
	at, err := asynq.ParseRedisURI(url)
	if err != nil {
		return nil, errors.New("asynq: the URL of Redis is not one that it understands")
	}
	return &Asynq{redis: at, client: asynq.NewClient(at)}, nil
}

// Close deletes the queue. Workers must have been stopped before.
func (a *Asynq) Close() error {
	inspector := asynq.NewInspector(a.redis)
	err := inspector.DeleteQueue(queue, true)
	if errors.Is(err, asynq.ErrQueueNotFound) {
		err = nil
	}
	return errors.Join(err, inspector.Close(), a.client.Close())
}

// Submit implements bench.System.
func (a *Asynq) Submit(ctx context.Context, _ int, body json.RawMessage) error {
	_, err := a.client.EnqueueContext(ctx, asynq.NewTask(kind, body))
	return err
}

// SubmitMany submits one by one: there is no bulk call.
func (a *Asynq) SubmitMany(ctx context.Context, n int, body json.RawMessage) error {
	for range n {
		if err := a.Submit(ctx, 0, body); err != nil {
			return err
		}
	}
	return nil
}

// Work implements bench.System.
func (a *Asynq) Work(_ context.Context, n int, handle func()) (func() error, error) {
	server := asynq.NewServer(a.redis, asynq.Config{Concurrency: n, TaskCheckInterval: checkInterval,
		LogLevel: asynq.FatalLevel, ShutdownTimeout: stopTimeout})
	err := server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		handle()
		a.handled.Add(1)
		return nil
	}))
	if err != nil {
		return nil, err
	}
	return sync.OnceValue(func() error {
		server.Shutdown()
		return nil
	}), nil
}

// Settled counts returned handlers, a little in favour of Asynq: nothing reports the recorded completion.
func (a *Asynq) Settled() int64 { return a.handled.Load() }

// Check reports remaining tasks in a queue that should be empty.
func (a *Asynq) Check(context.Context) error {
	inspector := asynq.NewInspector(a.redis)
	info, err := inspector.GetQueueInfo(queue)
	if err = errors.Join(err, inspector.Close()); err != nil {
		return fmt.Errorf("look at the queue: %w", err)
	}
	if left := info.Size - info.Completed; left != 0 || info.ProcessedTotal < int(a.Settled()) {
		return fmt.Errorf("%d tasks are left; %d were processed of %d that were handled", left, info.ProcessedTotal,
			a.Settled())
	}
	return nil
}
