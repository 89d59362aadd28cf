package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/taskerhq/tasker/bench/compare"
	"github.com/taskerhq/tasker/bench/river"
	"github.com/taskerhq/tasker/internal/bench"
	"github.com/taskerhq/tasker/internal/store/postgres"
)

// schema is a schema that exists for one round of one peer.
type schema struct{ dsn, name string }

func newSchema(ctx context.Context, dsn, peer string) (schema, error) {
	s := schema{dsn, "bench_" + peer + "_" + strings.ToLower(rand.Text()[:8])}
	return s, execute(ctx, dsn, "CREATE SCHEMA "+s.name)
}

// drop is done even when the run was interrupted.
func (s schema) drop() error {
	return execute(context.Background(), s.dsn, "DROP SCHEMA "+s.name+" CASCADE")
}

// riverQueue is River in a schema that goes with it.
type riverQueue struct {
	*river.River
	schema schema
}

func (q riverQueue) Close() error { return errors.Join(q.River.Close(), q.schema.drop()) }

// openRiver returns a way to open River with a pool of a size.
func openRiver(dsn string, connections int, log *slog.Logger) func(context.Context) (compare.Queue, error) {
	return func(ctx context.Context) (compare.Queue, error) {
		s, err := newSchema(ctx, dsn, "river")
		if err != nil {
			return nil, err
		}
		d, err := postgres.ParseDSN(dsn)
		if err != nil {
			return nil, errors.Join(err, s.drop())
		}
		d.Pool.MaxConns = int32(connections)
		d.Pool.MinConns = int32(connections)
		d.Pool.ConnConfig.RuntimeParams["application_name"] = "river"
		r, err := river.Open(ctx, d.Pool, s.name, log)
		if err != nil {
			return nil, errors.Join(err, s.drop())
		}
		return riverQueue{r, s}, nil
	}
}

// taskerQueue is Tasker in a schema that goes with it.
type taskerQueue struct {
	*bench.Tasker
	schema schema
}

func (q taskerQueue) Close() error { return errors.Join(q.Tasker.Close(), q.schema.drop()) }

// Check implements compare.Queue.
func (q taskerQueue) Check(ctx context.Context) error {
	conn, err := connect(ctx, q.schema.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var complete, others int64
	err = conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state = 'complete'), count(*) FILTER (WHERE state <> 'complete')
		FROM `+q.schema.name+`.tasker_tasks`).Scan(&complete, &others)
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

// openTasker returns a way to open Tasker in this process, with a pool of the size
// that it has by itself.
func openTasker(dsn string) func(context.Context) (compare.Queue, error) {
	return func(ctx context.Context) (compare.Queue, error) {
		s, err := newSchema(ctx, dsn, "tasker")
		if err != nil {
			return nil, err
		}
		t, err := bench.Open(ctx, bench.Options{DB: withSchema(dsn, s.name)})
		if err != nil {
			return nil, errors.Join(err, s.drop())
		}
		return taskerQueue{t, s}, nil
	}
}

func withSchema(dsn, name string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn // newSchema has connected, so it is none of this form, which Tasker will say
	}
	q := u.Query()
	q.Set("schema", name)
	u.RawQuery = q.Encode()
	return u.String()
}
