package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/internal/store/postgres"
)

// connectSession connects where settings and prepared statements last, not behind a pooler of transactions.
func connectSession(ctx context.Context, dsn string) (*pgx.Conn, error) {
	d, err := postgres.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	if d.PgBouncer {
		return nil, fmt.Errorf("rows are generated over a connection of one's own: leave pgbouncer=true and the pooler out")
	}
	return bench.Connect(ctx, dsn)
}
