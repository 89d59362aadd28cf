package scenario_test

import (
	"context"
	"slices"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
)

// kind is a kind of store. open opens an empty one, which is closed when t ends;
// reopen is what a server does that starts again on the same data.
type kind struct {
	name string
	open func(t *testing.T) (s engine.Database, reopen func() engine.Database)
}

// stores is what everything here runs on: the stores alone, the first of which is
// the reference model, and some with a dispatcher beside them.
var stores = append(bare, throughDispatcher(once), throughDispatcher(bare[1]))

// once is the reference model, where every transaction runs once and so takes the
// same IDs as elsewhere.
var once = kind{"memstore", func(*testing.T) (engine.Database, func() engine.Database) {
	s := memstore.New(&memstore.Options{Seed: seedOfIDs})
	return s, func() engine.Database { return s }
}}

var bare = []kind{
	{"memstore", func(*testing.T) (engine.Database, func() engine.Database) {
		// rehearsed: whatever the engine does in a transaction, it must be able to do again
		s := memstore.New(&memstore.Options{Seed: seedOfIDs, Rehearse: true})
		return s, func() engine.Database { return s }
	}},
	{"sqlite", func(t *testing.T) (engine.Database, func() engine.Database) {
		path := sqlitetest.File(t)
		return durable(t, func() (engine.Database, error) {
			return sqlite.Open(t.Context(), path, &sqlite.Options{Seed: seedOfIDs, Readers: 1})
		})
	}},
	{"postgres", func(t *testing.T) (engine.Database, func() engine.Database) {
		dsn, ids := postgrestest.DSN(t), task.NewSource(seedOfIDs, 0)
		return durable(t, func() (engine.Database, error) {
			s, err := postgres.Open(t.Context(), dsn, nil)
			return sameIDs{s, ids}, err
		})
	}},
}

// throughDispatcher is a kind of store with a dispatcher beside it, which outlives
// a crash of the process as the store does. Everything has to be as it is without.
func throughDispatcher(k kind) kind {
	return kind{k.name + "+dispatcher", func(t *testing.T) (engine.Database, func() engine.Database) {
		s, reopen := k.open(t)
		server := inMemory{memory.NewServer()}
		return dispatched{s, server}, func() engine.Database { return dispatched{reopen(), server} }
	}}
}

// dispatched is a store whose engine dispatches through a server.
type dispatched struct {
	engine.Database
	server interface{ Open() engine.Dispatcher }
}

// inMemory is the reference of all servers.
type inMemory struct{ *memory.Server }

func (s inMemory) Open() engine.Dispatcher { return s.Server.Open() }

// counting is a dispatcher whose tokens are counted from 1, as those of a store.
type counting struct {
	engine.Dispatcher
	store engine.Database
}

func (c counting) Claim(ctx context.Context, claims []engine.Claim, now task.Instant) ([][]engine.Hold, error) {
	claims = slices.Clone(claims)
	for i := range claims {
		claims[i].Token = 0
	}
	return c.Dispatcher.Claim(ctx, claims, now)
}

// Offer offers steps under the tokens of the store. The engine gives back a step under the token of the hold that it
// ends, which no worker knows: that of a step that a limit of an operator did not let pass.
func (c counting) Offer(ctx context.Context, steps []engine.Offered) error {
	steps = slices.Clone(steps)
	ids := make([]task.ID, len(steps))
	for i, s := range steps {
		ids[i] = s.Step
	}
	err := c.store.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Work(ctx, ids)
		for i, w := range works {
			if w.Step != nil && w.Step.OnRoute() {
				steps[i].Token = w.Step.Token
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Dispatcher.Offer(ctx, steps)
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
func durable(t *testing.T, open func() (engine.Database, error)) (engine.Database, func() engine.Database) {
	t.Helper()
	again := func() engine.Database {
		s, err := open()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := again()
	t.Cleanup(func() { closeStore(t, s) })
	return s, func() engine.Database {
		closeStore(t, s)
		s = again()
		return s
	}
}

// closeStore closes a store. Closing it twice is harmless.
func closeStore(t *testing.T, s engine.Database) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close the store: %v", err)
	}
}
