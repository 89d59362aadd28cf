package store

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/audit"
	"github.com/taskerhq/tasker/internal/kit/linked"
	"github.com/taskerhq/tasker/internal/store/migration"
)

// Postgres is the driver of PostgreSQL.
const Postgres = "postgres"

// Servers are the linked drivers of databases that are servers.
var Servers linked.Set[Server]

// Server opens a database of one kind.
type Server struct {
	Open func(ctx context.Context, dsn string, o ServerOptions) (Database, error)
	// Migrator returns a migrator for the database of a DSN, and a function that closes its connections. It does not
	// connect yet.
	Migrator func(dsn string) (*migration.Migrator, func() error, error)
}

// ServerOptions configures Server.Open.
type ServerOptions struct {
	Migrate migration.Mode
	// PoolSize bounds the connections, unless the DSN does; 0 is the default of the driver.
	PoolSize int
}

// Database is a database with an audit trail.
type Database interface {
	engine.Database
	audit.Database
}
