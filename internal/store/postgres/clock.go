package postgres

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/task"
)

// clockInterval is the interval between two readings of the database's clock. The clock of a machine drifts by about a
// millisecond in that time; jumps are noticed without a reading (sureOfTheTime).
const clockInterval = 10 * time.Second

// Now implements engine.Cluster.
// It is the database's time, computed from the last reading; it does not block.
func (s *Store) Now() time.Time { return s.clock.Now() }

// ClockOffset implements engine.Cluster. It is positive if the wall clock of this machine is ahead of the database's.
func (s *Store) ClockOffset() time.Duration { return s.clock.Offset() }

// readClock reads the database's clock three times. The reading with the shortest round trip is
// the most exact, and the clock keeps it.
func (s *Store) readClock(ctx context.Context) error {
	for range 3 {
		_, err := s.clock.Measure(func() (time.Time, error) {
			var theirs task.Instant
			err := s.Query(ctx, `SELECT `+now, nil, func(r store.Row) error { return r.Scan(&theirs) })
			return theirs.Time(), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// followClock reads the database's clock at clockInterval. It also checks whether the database
// is still the same one; see checkPool.
func (s *Store) followClock(ctx context.Context) {
	tick := time.NewTicker(clockInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			// an unreachable database is reported elsewhere; the last reading stays valid
			if s.readClock(ctx) == nil {
				_ = s.checkPool(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

// sureOfTheTime reads the database's clock if this process cannot trust its last reading: its
// own wall clock was stepped, the machine slept, or the reading is old. Without an answer it
// returns an error, and no operation that depends on the time may run: with a wrong time, two
// processes could have the same turn.
func (s *Store) sureOfTheTime(ctx context.Context) error {
	if s.clock.Sure() {
		return nil
	}
	if err := s.readClock(ctx); err != nil {
		return err
	}
	if !s.clock.Sure() {
		return task.Errorf(task.Unavailable, "the clock of this machine is being stepped: the time is not certain")
	}
	return nil
}
