package postgres_test

import (
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/storetest"
)

func open(t *testing.T, dsn string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	notWhenShort(t)
	storetest.Run(t, func(t *testing.T) engine.Database { return open(t, postgrestest.DSN(t)) })
}

// notWhenShort skips a suite that takes minutes with the race detector, and has only one goroutine.
func notWhenShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the suite runs on PostgreSQL without -short")
	}
}

func TestConformancePgBouncer(t *testing.T) {
	t.Parallel()
	notWhenShort(t)
	pooled := pgtest.PgBouncer(t, pgtest.Shared(t))
	storetest.Run(t, func(t *testing.T) engine.Database { return open(t, postgrestest.Through(t, pooled)) })
}

func TestInbox(t *testing.T) {
	t.Parallel()
	notWhenShort(t)
	storetest.RunInbox(t, func(t *testing.T) storetest.InboxStore { return open(t, postgrestest.DSN(t)) })
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	notWhenShort(t)
	storetest.RunSchedules(t, func(t *testing.T) storetest.ScheduleStore { return open(t, postgrestest.DSN(t)) })
}

func TestInboxPgBouncer(t *testing.T) {
	t.Parallel()
	notWhenShort(t)
	pooled := pgtest.PgBouncer(t, pgtest.Shared(t))
	storetest.RunInbox(t, func(t *testing.T) storetest.InboxStore { return open(t, postgrestest.Through(t, pooled)) })
}

func TestDurability(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	dsns := map[string]string{} // a schema for each directory
	storetest.RunDurable(t, func(t *testing.T, dir string) engine.Database {
		mu.Lock()
		defer mu.Unlock()
		if dsns[dir] == "" {
			dsns[dir] = postgrestest.DSN(t)
		}
		return open(t, dsns[dir])
	})
}
