package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// launch starts a PostgreSQL for this run, with typical memory and default durability.
func launch() (*pgtest.Server, error) {
	return pgtest.Launch("shared_buffers=1GB", "max_wal_size=8GB", "synchronous_commit=on", "fsync=on",
		"full_page_writes=on")
}

var settings = []string{"server_version", "data_directory", "shared_buffers", "max_wal_size", "fsync",
	"synchronous_commit", "full_page_writes"}

// serverSettings omits settings that the role may not see.
func serverSettings(ctx context.Context, conn *pgx.Conn) (map[string]string, error) {
	rows, err := conn.Query(ctx, `SELECT name, current_setting(name, true) FROM pg_settings WHERE name = ANY($1)`,
		settings)
	if err != nil {
		return nil, fmt.Errorf("read the server's settings: %w", err)
	}
	found := map[string]string{}
	var name, value string
	_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error {
		found[name] = value
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the server's settings: %w", err)
	}
	return found, nil
}

// durable reports the first setting under which an acknowledged task can be lost. An invisible setting counts as on.
func durable(found map[string]string) error {
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if found[name] == "off" {
			return fmt.Errorf("%s is off: what is not durable is not measured", name)
		}
	}
	return nil
}

func connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
	d, err := postgres.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, d.Pool.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", d, err)
	}
	return conn, nil
}
