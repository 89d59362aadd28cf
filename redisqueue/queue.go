package redisqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/redislist"
)

// OverflowPolicy decides about a push to a full queue.
type OverflowPolicy string

// The policies.
const (
	// OverflowReject adds nothing: the push fails with ErrQueueFull.
	OverflowReject OverflowPolicy = "reject"
	// OverflowDLQ moves the oldest jobs to the list DLQOverflowName, each wrapped with its reason, and adds the new ones.
	OverflowDLQ OverflowPolicy = "dlq"
	// OverflowDropOldest removes the oldest jobs for good, and adds the new ones.
	OverflowDropOldest OverflowPolicy = "drop_oldest"
)

var (
	// ErrQueueFull means: nothing was added, because the queue is full, or the push exceeds its limit.
	ErrQueueFull = errors.New("the queue is full")
	// ErrOverflowFull means: nothing was added, because the queue and its overflow list are full.
	ErrOverflowFull = errors.New("the queue is full, and the list of its overflow is full")
)

const (
	maxPush      = 1000
	maxPushBytes = 64 << 20
)

// QueueOptions are the settings of a Queue.
type QueueOptions struct {
	// Client reaches the server; it stays the caller's. Required.
	Client rueidis.Client
	// Name is the list. Required.
	Name string
	// MaxSize bounds the waiting jobs. 1 to 10 million. Defaults to 10000.
	MaxSize int64
	// Policy applies beyond MaxSize. Defaults to OverflowDLQ.
	Policy OverflowPolicy
	// MaxOverflow bounds the jobs in the overflow list, for OverflowDLQ; a push that would exceed it is rejected. 0: no
	// limit.
	MaxOverflow int64
	// BackpressureThreshold is the share of MaxSize from which a push warns. Above 0 to 1. Defaults to 0.8.
	BackpressureThreshold float64
	// HeadRight: consumers take from the right end, so that a push adds at the left end.
	HeadRight bool
	// Timeout bounds a push. 10ms to 1m. Defaults to 2s.
	Timeout time.Duration
	// Logger gets the warnings. Defaults to silence.
	Logger *slog.Logger
}

func (o *QueueOptions) setDefaults() error {
	if o.Client == nil {
		return errors.New("QueueOptions needs Client")
	}
	if err := redislist.CheckKeys(o.Client, o.Name); err != nil {
		return fmt.Errorf("QueueOptions.Name: %w", err)
	}
	if o.MaxSize == 0 {
		o.MaxSize = 10_000
	}
	if o.Policy == "" {
		o.Policy = OverflowDLQ
	}
	if o.BackpressureThreshold == 0 {
		o.BackpressureThreshold = 0.8
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.MaxSize < 1 || o.MaxSize > 10_000_000:
		return fmt.Errorf("QueueOptions.MaxSize must be 1 to 10000000, not %d", o.MaxSize)
	case o.Policy != OverflowReject && o.Policy != OverflowDLQ && o.Policy != OverflowDropOldest:
		return fmt.Errorf("QueueOptions.Policy must be reject, dlq or drop_oldest, not %q", o.Policy)
	case o.MaxOverflow < 0:
		return errors.New("QueueOptions.MaxOverflow must not be negative")
	case !(o.BackpressureThreshold > 0 && o.BackpressureThreshold <= 1):
		return fmt.Errorf("QueueOptions.BackpressureThreshold must be above 0, and 1 at most, not %v",
			o.BackpressureThreshold)
	case o.Timeout < 10*time.Millisecond || o.Timeout > time.Minute:
		return fmt.Errorf("QueueOptions.Timeout must be 10ms to 1m, not %v", o.Timeout)
	}
	return nil
}

// Queue pushes jobs to a list of limited length. It is safe for concurrent use.
type Queue struct {
	o      QueueOptions
	script *rueidis.Lua

	overflows, moved, dropped, rejected, rejectedJobs atomic.Int64
}

// NewQueue returns a Queue. It connects to nothing.
func NewQueue(o QueueOptions) (*Queue, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	script, err := loadScript("push")
	if err != nil {
		return nil, err
	}
	return &Queue{o: o, script: script}, nil
}

// PushResult is the result of a push.
type PushResult struct {
	Success bool `json:"success"`
	// QueueLength is the length of the queue after the push.
	QueueLength int64 `json:"queue_length"`
	// DroppedCount counts jobs removed for good, MovedToDLQCount those moved to the overflow.
	DroppedCount    int64 `json:"dropped_count"`
	MovedToDLQCount int64 `json:"moved_to_dlq_count"`
	// Error says why nothing was added; "" after a success.
	Error string `json:"error,omitempty"`
	// Warning: the queue is nearly full, or jobs had to go; "" for neither.
	Warning string `json:"warning,omitempty"`
	// HadBackpressure: the queue was full, or reached BackpressureThreshold. Producers should slow down.
	HadBackpressure bool `json:"had_backpressure"`
}

// Push adds jobs in order, all or none: at most 1000, and 64 MiB together. It is one step in Redis, so that concurrent
// producers never exceed the limit, and a crash loses no job. It blocks for at most Timeout.
//
// The error is ErrQueueFull, ErrOverflowFull, that of ctx, or one of Redis: after a lost connection the jobs may have
// been added.
func (q *Queue) Push(ctx context.Context, jobs ...[]byte) (PushResult, error) {
	args := []string{string(q.o.Policy), strconv.FormatInt(q.o.MaxSize, 10), strconv.FormatInt(q.o.MaxOverflow, 10),
		q.o.Name, "RIGHT"}
	if q.o.HeadRight {
		args[4] = "LEFT"
	}
	size := 0
	for _, job := range jobs {
		args = append(args, rueidis.BinaryString(job))
		size += len(job)
	}
	if len(jobs) == 0 || len(jobs) > maxPush || size > maxPushBytes {
		return failed(fmt.Errorf("a push has 1 to %d jobs with %d bytes at most, not %d with %d bytes",
			maxPush, maxPushBytes, len(jobs), size))
	}
	ctx, cancel := context.WithTimeout(ctx, q.o.Timeout)
	defer cancel()
	keys := []string{q.o.Name, DLQOverflowName(q.o.Name)}
	n, err := q.script.Exec(ctx, q.o.Client, keys, args).AsIntSlice()
	if err == nil && len(n) != 4 {
		err = fmt.Errorf("%d numbers in the answer", len(n))
	}
	if err != nil {
		return failed(fmt.Errorf("push to %s: %w", q.o.Name, err))
	}
	return q.result(int64(len(jobs)), n[0], n[1], n[2], n[3])
}

func failed(err error) (PushResult, error) { return PushResult{Error: err.Error()}, err }

func (q *Queue) result(jobs, before, after, moved, dropped int64) (PushResult, error) {
	if after < 0 {
		q.overflows.Add(1)
		q.rejected.Add(1)
		q.rejectedJobs.Add(jobs)
		err := ErrQueueFull
		if after == -2 {
			err = ErrOverflowFull
		}
		err = fmt.Errorf("%w: %s has %d of %d jobs", err, q.o.Name, before, q.o.MaxSize)
		return PushResult{QueueLength: before, Error: err.Error(), HadBackpressure: true}, err
	}
	r := PushResult{Success: true, QueueLength: after, MovedToDLQCount: moved, DroppedCount: dropped}
	switch fill := float64(after) / float64(q.o.MaxSize); {
	case moved > 0:
		r.Warning = fmt.Sprintf("queue %s is full: %d oldest jobs were moved to %s", q.o.Name, moved,
			DLQOverflowName(q.o.Name))
	case dropped > 0:
		r.Warning = fmt.Sprintf("queue %s is full: %d oldest jobs were dropped", q.o.Name, dropped)
	case fill >= q.o.BackpressureThreshold:
		r.Warning = fmt.Sprintf("queue %s has %d of %d jobs", q.o.Name, after, q.o.MaxSize)
	}
	if moved+dropped > 0 {
		q.overflows.Add(1)
		q.moved.Add(moved)
		q.dropped.Add(dropped)
	}
	if r.HadBackpressure = r.Warning != ""; r.HadBackpressure {
		q.o.Logger.Warn("a queue is nearly full", "queue", q.o.Name, "length", after, "limit", q.o.MaxSize,
			"policy", string(q.o.Policy), "moved", moved, "dropped", dropped)
	}
	return r, nil
}

// QueueStats counts results of this process's pushes, for metrics.
type QueueStats struct {
	Overflows    int64 // pushes to a full queue
	Moved        int64 // jobs to the overflow
	Dropped      int64 // jobs removed for good
	Rejected     int64 // pushes
	RejectedJobs int64 // jobs of these pushes
}

// Stats returns the counts since the Queue was made.
func (q *Queue) Stats() QueueStats {
	return QueueStats{q.overflows.Load(), q.moved.Load(), q.dropped.Load(), q.rejected.Load(), q.rejectedJobs.Load()}
}
