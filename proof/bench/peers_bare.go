package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/proof/bench/bare"
	"github.com/taskerhq/tasker/proof/bench/compare"
)

// inSchema is a queue in a separate schema, which Close drops.
type inSchema struct {
	compare.Queue
	schema *bench.Schema
}

func (q inSchema) Close() error {
	return errors.Join(q.Queue.Close(), q.schema.Drop(context.Background()))
}

func openBare(dsn string) func(context.Context) (compare.Queue, error) {
	return func(ctx context.Context) (compare.Queue, error) {
		s, err := bench.NewSchema(ctx, dsn, "bench_bare")
		if err != nil {
			return nil, err
		}
		d, err := postgres.ParseDSN(dsn)
		if err != nil {
			return nil, errors.Join(err, s.Drop(ctx))
		}
		d.Pool.ConnConfig.RuntimeParams["search_path"] = s.Name
		q, err := bare.OpenPostgres(ctx, d.Pool)
		if err != nil {
			return nil, errors.Join(err, s.Drop(ctx))
		}
		return inSchema{q, s}, nil
	}
}

// inDirectory is a queue in a separate directory, which Close removes.
type inDirectory struct {
	compare.Queue
	dir string
}

func (q inDirectory) Close() error { return errors.Join(q.Queue.Close(), os.RemoveAll(q.dir)) }

func openBareSQLite(ctx context.Context) (compare.Queue, error) {
	return inTemp(func(dir string) (compare.Queue, error) { return bare.OpenSQLite(ctx, dir) })
}

func openTaskerSQLite(ctx context.Context) (compare.Queue, error) {
	return inTemp(func(dir string) (compare.Queue, error) {
		file := filepath.Join(dir, "tasker.db")
		t, err := bench.Open(ctx, bench.Options{DB: "sqlite:" + file})
		if err != nil {
			return nil, err
		}
		return taskerFile{t, file}, nil
	})
}

func inTemp(open func(dir string) (compare.Queue, error)) (compare.Queue, error) {
	dir, err := os.MkdirTemp("", "tasker-bench-")
	if err != nil {
		return nil, err
	}
	q, err := open(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return inDirectory{q, dir}, nil
}

// taskerFile is Tasker on a file.
type taskerFile struct {
	*bench.Tasker
	file string
}

// Check counts in the file.
func (q taskerFile) Check(ctx context.Context) error {
	db, err := sql.Open("sqlite", "file:"+q.file+"?mode=ro")
	if err != nil {
		return err
	}
	defer db.Close()
	var complete, others int64
	err = db.QueryRowContext(ctx,
		`SELECT coalesce(sum(state = 'complete'), 0), coalesce(sum(state <> 'complete'), 0) FROM tasker_tasks`).
		Scan(&complete, &others)
	switch {
	case err != nil:
		return fmt.Errorf("count tasks: %w", err)
	case others != 0 || complete != q.Settled():
		return fmt.Errorf("%d tasks are complete and %d are not; %d were acknowledged", complete, others, q.Settled())
	}
	return nil
}
