package bench

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/store/postgres"
)

// Connect connects to the PostgreSQL of a DSN directly.
func Connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
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
