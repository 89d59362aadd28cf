package bench

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/store/postgres"
)

// connect opens a connection of our own to the PostgreSQL of a DSN, past Tasker.
func connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
	d, err := postgres.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	d.Pool.ConnConfig.RuntimeParams["application_name"] = "tasker bench"
	conn, err := pgx.ConnectConfig(ctx, d.Pool.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", d, err)
	}
	return conn, nil
}

// connectSession is connect where settings and prepared statements have to last.
func connectSession(ctx context.Context, dsn string) (*pgx.Conn, error) {
	d, err := postgres.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	if d.PgBouncer {
		return nil, fmt.Errorf("rows are generated over a connection of one's own: leave pgbouncer=true and the pooler out")
	}
	return connect(ctx, dsn)
}
