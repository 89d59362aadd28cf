package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/cli/bench"
)

// databaseCost is a load's cost in PostgreSQL, per task or step.
type databaseCost struct {
	Statements *float64 `json:"statements,omitempty"` // nil: not counted, see CostReport.Missing
	WALBytes   float64  `json:"wal_bytes"`            // with images of whole pages
	// From the write-ahead log; nil: not counted.
	Commits *float64 `json:"commits,omitempty"`
	Table   *float64 `json:"table_writes,omitempty"`
	Index   *float64 `json:"index_writes,omitempty"`
}

// database reads counters of PostgreSQL on a separate connection. It is nil on SQLite.
type database struct {
	conn            *pgx.Conn
	statements, wal bool     // can be counted
	made            []string // extensions, to be dropped again
}

// count is a reading of the counters.
type count struct {
	at         string // in the write-ahead log
	statements int64
}

// watchDatabase connects to the PostgreSQL of a DSN, and creates the counting extensions if the role may; missing says
// which it may not.
func watchDatabase(ctx context.Context, dsn string) (d *database, missing string, err error) {
	if !bench.IsPostgres(dsn) {
		return nil, "", nil
	}
	conn, err := bench.Connect(ctx, dsn)
	if err != nil {
		return nil, "", err
	}
	d = &database{conn: conn}
	for name, works := range map[string]*bool{"pg_stat_statements": &d.statements, "pg_walinspect": &d.wal} {
		if err := d.bring(ctx, name); err != nil {
			missing += fmt.Sprintf("%s is not available (%v): what it counts is left out\n", name, err)
			continue
		}
		*works = true
	}
	return d, missing, nil
}

func (d *database) bring(ctx context.Context, name string) error {
	var there bool
	err := d.conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = $1)`, name).Scan(&there)
	if err == nil && !there {
		_, err = d.conn.Exec(ctx, `CREATE EXTENSION `+name+` SCHEMA public`)
		d.made = append(d.made, name)
	}
	if err == nil && name == "pg_stat_statements" { // it does not answer unless the server was started with it
		_, err = d.conn.Exec(ctx, `SELECT count(*) FROM public.pg_stat_statements`)
	}
	return err
}

func (d *database) close(ctx context.Context) error {
	if d == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	for _, name := range d.made {
		if _, err := d.conn.Exec(ctx, `DROP EXTENSION IF EXISTS `+name); err != nil {
			return errors.Join(err, d.conn.Close(ctx))
		}
	}
	return d.conn.Close(ctx)
}

func (d *database) counts(ctx context.Context) (c count, err error) {
	if d == nil {
		return c, nil
	}
	if d.statements {
		err = d.conn.QueryRow(ctx, `SELECT coalesce(sum(calls), 0) FROM public.pg_stat_statements`).Scan(&c.statements)
	}
	if err == nil {
		err = d.conn.QueryRow(ctx, `SELECT pg_current_wal_flush_lsn()::text`).Scan(&c.at)
	}
	return c, err
}

func (d *database) since(ctx context.Context, from count, per func(float64) float64) (*databaseCost, error) {
	if d == nil {
		return nil, nil
	}
	to, err := d.counts(ctx)
	if err != nil {
		return nil, err
	}
	cost := &databaseCost{}
	if d.statements {
		n := per(float64(to.statements - from.statements))
		cost.Statements = &n
	}
	var bytes float64
	if err := d.conn.QueryRow(ctx, `SELECT pg_wal_lsn_diff($1::text::pg_lsn, $2::text::pg_lsn)::float8`, to.at,
		from.at).Scan(&bytes); err != nil {
		return nil, err
	}
	cost.WALBytes = per(bytes)
	if !d.wal {
		return cost, nil
	}
	var commits, table, index float64
	err = d.conn.QueryRow(ctx, `SELECT coalesce(sum(count) FILTER (WHERE kind = 'Transaction'), 0)::float8,
  coalesce(sum(count) FILTER (WHERE kind IN ('Heap', 'Heap2')), 0)::float8,
  coalesce(sum(count) FILTER (WHERE kind = 'Btree'), 0)::float8
FROM public.pg_get_wal_stats($1::text::pg_lsn, $2::text::pg_lsn) AS w(kind, count, a, b, c, d, e, f, g)`, from.at, to.at).
		Scan(&commits, &table, &index)
	if err != nil {
		return nil, fmt.Errorf("read the write-ahead log: %w", err)
	}
	commits, table, index = per(commits), per(table), per(index)
	cost.Commits, cost.Table, cost.Index = &commits, &table, &index
	return cost, nil
}
