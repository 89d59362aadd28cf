package redisqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"
)

// Health is how full a queue is.
type Health string

// The healths of a queue, from the best.
const (
	Healthy  Health = "healthy"
	Warning  Health = "warning"  // BackpressureThreshold is reached
	Critical Health = "critical" // it is full
)

// QueueStatus is the state of a queue.
type QueueStatus struct {
	Name   string `json:"name"`
	Health Health `json:"status"`
	// Depth counts the waiting jobs, of MaxSize, without those that consumers hold.
	Depth   int64 `json:"depth"`
	MaxSize int64 `json:"max_size"`
	// DLQDepth counts dead letters that no server has captured, OverflowDepth jobs that were moved because the queue
	// was full.
	DLQDepth      int64 `json:"dlq_depth"`
	OverflowDepth int64 `json:"overflow_depth"`
}

// Status asks Redis for the state of the queue. It blocks for at most QueueOptions.Timeout. The error is that of Redis
// or of ctx: a silent server is no empty queue.
func (q *Queue) Status(ctx context.Context) (QueueStatus, error) {
	d, err := depthsOf(ctx, q.o.Client, q.o.Name, q.o.Timeout)
	if err != nil {
		return QueueStatus{}, err
	}
	s := QueueStatus{Name: q.o.Name, Health: Healthy, Depth: d.queue, MaxSize: q.o.MaxSize, DLQDepth: d.letters,
		OverflowDepth: d.overflow}
	switch {
	case s.Depth >= s.MaxSize:
		s.Health = Critical
	case float64(s.Depth) >= q.o.BackpressureThreshold*float64(s.MaxSize):
		s.Health = Warning
	}
	return s, nil
}

type depths struct{ queue, letters, overflow int64 }

func depthsOf(ctx context.Context, client rueidis.Client, queue string, timeout time.Duration) (depths, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var n [3]int64
	for i, key := range []string{queue, DLQName(queue), DLQOverflowName(queue)} {
		var err error
		if n[i], err = client.Do(ctx, client.B().Llen().Key(key).Build()).AsInt64(); err != nil {
			return depths{}, fmt.Errorf("ask for the length of %s: %w", key, err)
		}
	}
	return depths{n[0], n[1], n[2]}, nil
}
