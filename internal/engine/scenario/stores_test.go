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

// kind is a kind of store. open opens an empty one that t closes; reopen opens the same data as a restarted server
// does.
type kind struct {
	name string
	open func(t *testing.T) (s engine.Database, reopen func() engine.Database)
}

var stores = append(bare, throughDispatcher(once), throughDispatcher(bare[1]))

// once is the reference model where every transaction runs once, so that its IDs agree with other stores.
var once = kind{"memstore", func(*testing.T) (engine.Database, func() engine.Database) {
	s := memstore.New(&memstore.Options{Seed: seedOfIDs})
	return s, func() engine.Database { return s }
}}

var bare = []kind{
	{"memstore", func(*testing.T) (engine.Database, func() engine.Database) {
		// rehearsed: transactions must be repeatable
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

// throughDispatcher adds a dispatcher, which outlives a crash of the process. All results are the same with it.
func throughDispatcher(k kind) kind {
	return kind{k.name + "+dispatcher", func(t *testing.T) (engine.Database, func() engine.Database) {
		s, reopen := k.open(t)
		server := inMemory{memory.NewServer()}
		return dispatched{s, server}, func() engine.Database { return dispatched{reopen(), server} }
	}}
}

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

// Offer uses the tokens of the store. When an operator's limit refuses a step, the engine returns it under the token
// of the ended hold, which no worker has.
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

// sameIDs is PostgreSQL with the repeatable IDs of the other stores, from the clock of the test.
type sameIDs struct {
	*postgres.Store
	ids *task.Source
}

func (s sameIDs) IDs() *task.Source { return s.ids }

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

// closeStore may run twice.
func closeStore(t *testing.T, s engine.Database) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close the store: %v", err)
	}
}
