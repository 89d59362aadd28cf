package redisqueue

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

const (
	// snapshotAge bounds the age of depths in the context of a dead letter.
	snapshotAge = time.Second
	// snapshotTimeout bounds a failure's wait for them.
	snapshotTimeout = 100 * time.Millisecond
)

type snapshot struct {
	o HandlerOptions

	mu     sync.Mutex
	at     time.Time
	depths map[string]int64
}

func newSnapshot(o HandlerOptions) *snapshot { return &snapshot{o: o} }

// take returns the context of a dead letter. It never fails: unknown values are left out.
func (s *snapshot) take() json.RawMessage {
	members := map[string]any{"dlq_circuit_breaker_state": s.o.Letters.breaker.Status().State}
	for name, depth := range s.known() {
		members[name] = depth
	}
	out, err := json.Marshal(members)
	if err != nil { // names and numbers can always be written
		return nil
	}
	return out
}

// known returns the depths of the queues, at most snapshotAge old.
func (s *snapshot) known() map[string]int64 {
	if len(s.o.ContextQueues) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.o.Clock.Now(); s.at.IsZero() || now.Sub(s.at).Abs() >= snapshotAge {
		s.at, s.depths = now, s.look()
	}
	return s.depths
}

func (s *snapshot) look() map[string]int64 {
	// A server that takes no dead letters is not asked for more.
	if s.o.Letters.breaker.Status().State != BreakerClosed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), snapshotTimeout)
	defer cancel()
	depths := make(map[string]int64, len(s.o.ContextQueues))
	client := s.o.Letters.o.Client
	for _, q := range s.o.ContextQueues {
		n, err := client.Do(ctx, client.B().Llen().Key(q).Build()).AsInt64()
		if err == nil {
			depths[q+"_depth"] = n
		}
	}
	return depths
}
