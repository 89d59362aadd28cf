package redisqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/redislist"
	"github.com/taskerhq/tasker/internal/kit/coalesce"
)

const (
	// bounds of one call of Redis for jobs
	takeAtOnce = 500
	takeBytes  = 8 << 20
	// waitAtOnce bounds a blocking wait in Redis. It is below the shortest lease, so that no job moves for a consumer
	// that counts as gone.
	waitAtOnce  = 500 * time.Millisecond
	callTimeout = 2 * time.Second
	// troublePause is the time between two tries while Redis does not answer.
	troublePause = 200 * time.Millisecond
)

// Job is a job that a Consumer took.
type Job struct {
	Payload []byte // as in the queue; must not be changed
	Queue   string
	Attempt int // in this process, from 1
}

// ConsumerOptions are the settings of a Consumer.
type ConsumerOptions struct {
	// Client reaches the server; it stays the caller's. Required. One that retries commands automatically is fine.
	Client rueidis.Client
	// Queue is the list. Required; at most 255 bytes.
	Queue string
	// HeadRight: the next job is at the right end, as with LPUSH. Otherwise it is at the left end.
	HeadRight bool
	// Handler runs one job. It should be idempotent: a job runs again after a crash. A panic is an error. Its context
	// ends when the consumer stops and DrainTimeout is over. Required.
	Handler func(ctx context.Context, job Job) (any, error)
	// HandlerOptions configure retries and dead letters. Letters is required.
	HandlerOptions
	// Concurrency bounds the running jobs. 1 to 10000. Defaults to 16. As many more are taken ahead.
	Concurrency int
	// MaxWaiting bounds the jobs that wait for another attempt; with more, no job is taken. 1 to 100000. Defaults to
	// 1000.
	MaxWaiting int
	// Lease is how long the consumer may be silent until others take its jobs over. 3s to 1h. Defaults to 30s.
	Lease time.Duration
	// DrainTimeout bounds running jobs when the consumer stops. 0 to 1h. Defaults to 30s; negative: none.
	DrainTimeout time.Duration
	// OnResult is called after each job is settled. Calls are concurrent, and each blocks its job. May be nil.
	OnResult func(Job, Result)
	// Logger gets a message when Redis does not answer, when it does again, and for each takeover. Defaults to silence.
	Logger *slog.Logger
}

func (o *ConsumerOptions) setDefaults() error {
	if o.Client == nil || o.Handler == nil {
		return errors.New("ConsumerOptions needs Client and Handler")
	}
	if o.Concurrency == 0 {
		o.Concurrency = 16
	}
	if o.MaxWaiting == 0 {
		o.MaxWaiting = 1000
	}
	if o.Lease == 0 {
		o.Lease = redislist.DefaultLease
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 30 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.Concurrency < 1 || o.Concurrency > 10_000:
		return fmt.Errorf("ConsumerOptions.Concurrency must be 1 to 10000, not %d", o.Concurrency)
	case o.MaxWaiting < 1 || o.MaxWaiting > 100_000:
		return fmt.Errorf("ConsumerOptions.MaxWaiting must be 1 to 100000, not %d", o.MaxWaiting)
	case o.Lease < 3*time.Second || o.Lease > time.Hour:
		return fmt.Errorf("ConsumerOptions.Lease must be 3s to 1h, not %v", o.Lease)
	case o.DrainTimeout > time.Hour:
		return fmt.Errorf("ConsumerOptions.DrainTimeout must be 1h at most, not %v", o.DrainTimeout)
	}
	return o.HandlerOptions.setDefaults()
}

// Consumer runs a function for each job of a queue. Any number of consumers, of any process, may share a queue.
type Consumer struct {
	o       ConsumerOptions
	handler *Handler
	list    *redislist.List
	acks    *coalesce.Group[*held, error]
	slots   chan struct{} // one for each job that may run

	mu      sync.Mutex
	holding *holding
	inHand  int           // taken and not settled
	waiting int           // of them, for another attempt or for a place for their dead letter
	queued  int           // of them, for a slot
	changed chan struct{} // closed when there may be room again
	asleep  bool          // take waits for that

	stop chan struct{} // closed when the consumer stops
	jobs sync.WaitGroup

	succeeded, failed, released, takenOver atomic.Int64
}

// NewConsumer returns a Consumer. It connects to nothing.
func NewConsumer(o ConsumerOptions) (*Consumer, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	list, err := redislist.New(o.Client, o.Queue, redislist.Options{HeadRight: o.HeadRight, Lease: o.Lease})
	if err != nil {
		return nil, fmt.Errorf("ConsumerOptions.Queue: %w", err)
	}
	handler, err := NewHandler(o.HandlerOptions)
	if err != nil {
		return nil, err
	}
	c := &Consumer{o: o, handler: handler, list: list, slots: make(chan struct{}, o.Concurrency)}
	c.acks = coalesce.New(takeAtOnce, 1, c.ackSome)
	return c, nil
}

var errRunning = errors.New("a Consumer runs once")

// Run takes and runs jobs until ctx ends. Then it takes no more, gives back jobs that have not begun or wait for
// another attempt, and lets running jobs end for DrainTimeout; after that their contexts end, and they are given back
// too. If Redis does not answer then, other consumers take the jobs over after the lease.
//
// Run returns nil once all of this is done. It waits for handlers that ignore their contexts. While Redis does not
// answer it retries without end; it returns an error only for a second call.
func (c *Consumer) Run(ctx context.Context) error {
	c.mu.Lock()
	if c.holding != nil {
		c.mu.Unlock()
		return errRunning
	}
	c.stop, c.changed = make(chan struct{}), make(chan struct{})
	c.holding = c.newHolding()
	c.mu.Unlock()

	// Running jobs, and heartbeats while they end, outlive ctx.
	work, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	var beside sync.WaitGroup
	beating, silence := context.WithCancel(work)
	beside.Go(func() { c.beat(beating) })
	beside.Go(func() { _ = c.o.Letters.Run(beating) })

	// The failures of the earlier process come first: its jobs must not run again.
	if _, err := c.o.Letters.Drain(ctx); err != nil && ctx.Err() == nil {
		c.o.Logger.Warn("dead letters wait in the spool", "error", err)
	}
	sure := c.take(ctx, work)

	close(c.stop)
	drained := make(chan struct{})
	beside.Go(func() {
		if c.o.DrainTimeout < 0 || c.o.Clock.Sleep(beating, c.o.DrainTimeout) == nil {
			abort()
		}
	})
	go func() { c.jobs.Wait(); close(drained) }()
	<-drained
	silence()
	beside.Wait()
	c.leave(sure)
	return nil
}

// ConsumerStats counts jobs since Run began.
type ConsumerStats struct {
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`   // for good: they are dead letters
	Released  int64 `json:"released"` // given back to the queue
	TakenOver int64 `json:"taken_over"`
	Held      int   `json:"held"`    // taken and not settled
	Waiting   int   `json:"waiting"` // of them, for another attempt
}

// Stats counts jobs since Run began. TakenOver counts jobs of silent consumers that this one gave back to the queue.
func (c *Consumer) Stats() ConsumerStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ConsumerStats{c.succeeded.Load(), c.failed.Load(), c.released.Load(), c.takenOver.Load(), c.inHand, c.waiting}
}
