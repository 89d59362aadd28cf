package siege

import (
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
)

// setbackKind is one way to replace a database.
type setbackKind struct {
	name        string
	replication cluster.Replication
	goesBack    bool // the last acknowledged writes are lost
	// strike returns when the new database was there.
	strike func(ctx context.Context, s *setback) (time.Time, error)
	// limit bounds the time until every node has carried out a task.
	limit time.Duration
}

var setbackKinds = []setbackKind{
	{"failover, synchronous standby", cluster.Sync, false, failOver, 20 * time.Second},
	{"failover, asynchronous standby", cluster.Async, true, failBack, 20 * time.Second},
	{"backup restored under the nodes", cluster.Alone, true, restore, 20 * time.Second},
	{"hanging primary, synchronous", cluster.Sync, false, hang, 25 * time.Second},
}

// failOver kills the primary and promotes a complete standby.
func failOver(_ context.Context, s *setback) (time.Time, error) {
	err := errors.Join(s.Postgres.Kill(), s.Standby.Promote())
	return time.Now(), err
}

// failBack promotes a standby that was down for a while before the primary was killed.
func failBack(ctx context.Context, s *setback) (time.Time, error) {
	since := s.journal.Now()
	// Acknowledged writes are on their way to the standby, which takes them before it stops.
	if err := caughtUp(ctx, s); err != nil {
		return time.Time{}, err
	}
	if err := s.Standby.Stop(pgtest.Fast); err != nil {
		return time.Time{}, err
	}
	if err := clock.Sleep(ctx, calmLoad); err != nil {
		return time.Time{}, err
	}
	if err := s.Postgres.Kill(); err != nil {
		return time.Time{}, err
	}
	s.wentBack(since) // before the standby can answer
	err := errors.Join(s.Standby.Restart(), s.Standby.Promote())
	return time.Now(), err
}

// caughtUp waits until the standby has replayed the primary's present log.
func caughtUp(ctx context.Context, s *setback) error {
	written, err := s.Postgres.Ask("SELECT pg_current_wal_flush_lsn()::text")
	if err != nil {
		return err
	}
	for {
		there, err := s.Standby.Ask("SELECT (pg_last_wal_replay_lsn() >= '" + written + "')::text")
		if err != nil || there == "true" {
			return err
		}
		if err := clock.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// restore swaps in a backup that is some seconds old.
func restore(ctx context.Context, s *setback) (time.Time, error) {
	if err := errors.Join(s.Postgres.Stop(pgtest.Fast), s.Postgres.Save()); err != nil {
		return time.Time{}, err
	}
	since := s.journal.Now() // later acknowledgements are impossible
	if err := s.Postgres.Restart(); err != nil {
		return time.Time{}, err
	}
	if err := clock.Sleep(ctx, 2*calmLoad); err != nil {
		return time.Time{}, err
	}
	if err := errors.Join(s.Postgres.Stop(pgtest.Fast), s.Postgres.SwapIn()); err != nil {
		return time.Time{}, err
	}
	s.wentBack(since)
	err := s.Postgres.Restart()
	return time.Now(), err
}

// hang freezes the primary with all its connections open, and promotes the standby. The primary never continues, as if
// fenced.
func hang(_ context.Context, s *setback) (time.Time, error) {
	err := errors.Join(s.Postgres.Freeze(), s.Standby.Promote())
	return time.Now(), err
}
