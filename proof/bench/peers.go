package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/proof/bench/asynq"
	"github.com/taskerhq/tasker/proof/bench/compare"
	"github.com/taskerhq/tasker/proof/bench/river"
)

// riverQueue is River in a separate schema, which Close drops.
type riverQueue struct {
	*river.River
	schema *bench.Schema
}

func (q riverQueue) Close() error {
	return errors.Join(q.River.Close(), q.schema.Drop(context.Background()))
}

// openRiver opens all connections of the pool first, so that no phase pays for them.
func openRiver(dsn string, connections int, log *slog.Logger) func(context.Context) (compare.Queue, error) {
	return func(ctx context.Context) (compare.Queue, error) {
		s, err := bench.NewSchema(ctx, dsn, "bench_river")
		if err != nil {
			return nil, err
		}
		d, err := postgres.ParseDSN(dsn)
		if err != nil {
			return nil, errors.Join(err, s.Drop(ctx))
		}
		d.Pool.MaxConns = int32(connections)
		d.Pool.MinConns = int32(connections)
		d.Pool.ConnConfig.RuntimeParams["application_name"] = "river"
		r, err := river.Open(ctx, d.Pool, s.Name, log)
		if err != nil {
			return nil, errors.Join(err, s.Drop(ctx))
		}
		return riverQueue{r, s}, nil
	}
}

// taskerQueue is Tasker in a separate schema, which Close drops.
type taskerQueue struct {
	*bench.Tasker
	schema *bench.Schema
}

func (q taskerQueue) Close() error {
	return errors.Join(q.Tasker.Close(), q.schema.Drop(context.Background()))
}

// Check counts in the database: as many complete tasks as were acknowledged, and no others.
func (q taskerQueue) Check(ctx context.Context) error {
	conn, err := connect(ctx, q.schema.DSN)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var complete, others int64
	err = conn.QueryRow(ctx,
		`SELECT count(*) FILTER (WHERE state = 'complete'), count(*) FILTER (WHERE state <> 'complete')
		FROM tasker_tasks`).Scan(&complete, &others)
	switch {
	case err != nil:
		return fmt.Errorf("count tasks: %w", err)
	case others != 0:
		return fmt.Errorf("%d tasks are not complete", others)
	case complete != q.Settled():
		return fmt.Errorf("%d tasks are complete, %d were acknowledged", complete, q.Settled())
	}
	return nil
}

func openAsynq(url string) func(context.Context) (compare.Queue, error) {
	return func(context.Context) (compare.Queue, error) { return asynq.Open(url) }
}

// openTasker opens Tasker in this process, with its default pool and, with a Redis, its dispatcher.
func openTasker(dsn, redis string) func(context.Context) (compare.Queue, error) {
	return func(ctx context.Context) (compare.Queue, error) {
		s, err := bench.NewSchema(ctx, dsn, "bench_tasker")
		if err != nil {
			return nil, err
		}
		t, err := bench.Open(ctx, bench.Options{DB: s.DSN, Dispatch: bench.OwnPrefix(redis)})
		if err != nil {
			return nil, errors.Join(err, s.Drop(ctx))
		}
		return taskerQueue{t, s}, nil
	}
}
