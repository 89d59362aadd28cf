package scenario_test

import (
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/pgtest"
	"github.com/taskerhq/tasker/internal/store/memstore"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/task"
)

// kind is a kind of store. open opens an empty one, which is closed when t ends;
// reopen is what a server does that starts again on the same data.
type kind struct {
	name string
	open func(t *testing.T) (s engine.Store, reopen func() engine.Store)
}

// stores are the stores that everything here runs on. The first is the reference
// model.
var stores = []kind{
	{"memstore", func(*testing.T) (engine.Store, func() engine.Store) {
		// rehearsed: whatever the engine does in a transaction, it must be able to do again
		s := memstore.New(&memstore.Options{Seed: seedOfIDs, Rehearse: true})
		return s, func() engine.Store { return s }
	}},
	{"sqlite", func(t *testing.T) (engine.Store, func() engine.Store) {
		path := filepath.Join(t.TempDir(), "tasker.db")
		return durable(t, func() (engine.Store, error) {
			return sqlite.Open(t.Context(), path, &sqlite.Options{Seed: seedOfIDs, Readers: 1})
		})
	}},
	{"postgres", func(t *testing.T) (engine.Store, func() engine.Store) {
		dsn, ids := pgtest.DSN(t), task.NewSource(seedOfIDs, 0)
		return durable(t, func() (engine.Store, error) {
			s, err := postgres.Open(t.Context(), dsn, nil)
			return sameIDs{s, ids}, err
		})
	}},
}

const seedOfIDs = 1

// sameIDs is PostgreSQL with the IDs of the other stores, which begin with the
// clock of the test. Its own are those of a process that nobody else may repeat.
type sameIDs struct {
	*postgres.Store
	ids *task.Source
}

func (s sameIDs) IDs() *task.Source { return s.ids }

// durable opens a store that outlives its process.
func durable(t *testing.T, open func() (engine.Store, error)) (engine.Store, func() engine.Store) {
	t.Helper()
	again := func() engine.Store {
		s, err := open()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := again()
	t.Cleanup(func() { closeStore(t, s) })
	return s, func() engine.Store {
		closeStore(t, s)
		s = again()
		return s
	}
}

// closeStore closes a store. Closing it twice is harmless.
func closeStore(t *testing.T, s engine.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close the store: %v", err)
	}
}
