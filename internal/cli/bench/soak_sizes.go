package bench

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/store/postgres"
)

// sizer measures the relations of a database.
type sizer interface {
	relations(context.Context) ([]SoakRelation, error)
	close() error
}

// Close the sizer.
func openSizer(ctx context.Context, dsn string) (sizer, error) {
	if IsPostgres(dsn) {
		d, err := postgres.ParseDSN(dsn)
		if err != nil {
			return nil, err
		}
		conn, err := Connect(ctx, dsn)
		return postgresSizer{conn, d.Schema}, err
	}
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite:")+"?mode=ro&_pragma=query_only(1)")
	if err != nil {
		return nil, fmt.Errorf("open the file to measure it: %w", err)
	}
	return sqliteSizer{db}, nil
}

type postgresSizer struct {
	conn   *pgx.Conn
	schema string
}

func (s postgresSizer) relations(ctx context.Context) ([]SoakRelation, error) {
	const query = `SELECT c.relname, CASE c.relkind WHEN 'r' THEN pg_table_size(c.oid) ELSE pg_relation_size(c.oid) END,
 coalesce(pg_stat_get_dead_tuples(c.oid), 0) FROM pg_class c
 WHERE c.relnamespace = coalesce(nullif($1, ''), current_schema())::regnamespace AND c.relkind IN ('r', 'i')
 ORDER BY 2 DESC, 1`
	rows, err := s.conn.Query(ctx, query, s.schema)
	if err != nil {
		return nil, fmt.Errorf("ask for sizes: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[SoakRelation])
}

func (s postgresSizer) close() error { return s.conn.Close(context.Background()) }

type sqliteSizer struct{ db *sql.DB }

// relations includes free pages, but not the log, which is bounded.
func (s sqliteSizer) relations(ctx context.Context) ([]SoakRelation, error) {
	const query = `SELECT name, pgsize FROM dbstat WHERE aggregate = TRUE UNION ALL
 SELECT 'free pages', f.freelist_count * p.page_size FROM pragma_freelist_count f, pragma_page_size p ORDER BY 2 DESC`
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("ask for sizes: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var all []SoakRelation
	for rows.Next() {
		var r SoakRelation
		if err := rows.Scan(&r.Name, &r.Bytes); err != nil {
			return nil, fmt.Errorf("ask for sizes: %w", err)
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

func (s sqliteSizer) close() error { return s.db.Close() }

// residentSize is this process's memory, 0 without /proc.
func residentSize() (int64, error) {
	raw, err := os.ReadFile("/proc/self/statm")
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(raw)
	if len(fields) < 2 {
		return 0, fmt.Errorf("read resident size: not as expected: %q", raw)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err
}
