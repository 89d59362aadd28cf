package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/task"
)

// clock is the database's time, as this process knows it: its own clock, put
// right by the difference that was measured last.
type clock struct {
	offset atomic.Int64 // nanoseconds to add
	told   atomic.Int64 // the latest time given out; it never goes back
}

// clockInterval is how often the difference is measured.
const clockInterval = 10 * time.Second

// Now implements engine.Cluster. The time never goes back.
func (s *Store) Now() time.Time {
	now := time.Now().Add(time.Duration(s.clock.offset.Load())).UnixNano() //nolint:forbidigo // where the clock comes in
	for {
		last := s.clock.told.Load()
		if now <= last {
			return time.Unix(0, last)
		}
		if s.clock.told.CompareAndSwap(last, now) {
			return time.Unix(0, now)
		}
	}
}

// goodEnough is how long an answer may take that corrects the clock once it is
// known: half of it is the error. A database that stalls must not set it wrong.
const goodEnough = 20 * time.Millisecond

// synchronise measures how far this machine's clock is from the database's. What
// the way there and back took is split in half.
func (s *Store) synchronise(ctx context.Context) error {
	var best time.Duration
	var offset int64
	for i := range 3 { // the quickest answer knows best
		var theirs int64
		asked := time.Now() //nolint:forbidigo // where the clock comes in
		err := s.Query(ctx, `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`, nil, func(r store.Row) error { return r.Scan(&theirs) })
		if err != nil {
			return err
		}
		took := time.Since(asked) //nolint:forbidigo // where the clock comes in
		if i == 0 || took < best {
			best, offset = took, int64(task.Instant(theirs).Time().Sub(asked.Add(took/2)))
		}
	}
	if best <= goodEnough || s.clock.told.Load() == 0 {
		s.clock.offset.Store(offset)
	}
	return nil
}

// followClock measures the difference again and again.
func (s *Store) followClock(ctx context.Context) {
	tick := time.NewTicker(clockInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = s.synchronise(ctx) // a database that is away is somebody else's news; the old difference holds
		case <-ctx.Done():
			return
		}
	}
}
