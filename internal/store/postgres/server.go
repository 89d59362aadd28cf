package postgres

import (
	"context"

	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/store/migration"
)

// Server is the driver of PostgreSQL.
var Server = store.Server{
	Open: func(ctx context.Context, dsn string, o store.ServerOptions) (store.Database, error) {
		s, err := Open(ctx, WithPoolSize(dsn, o.PoolSize), &Options{Migrate: o.Migrate})
		if err != nil {
			return nil, err // a nil *Store in the interface would not be nil
		}
		return s, nil
	},
	Migrator: func(dsn string) (*migration.Migrator, func() error, error) {
		d, err := ParseDSN(dsn)
		if err != nil {
			return nil, nil, err
		}
		return Migrator(d)
	},
}
