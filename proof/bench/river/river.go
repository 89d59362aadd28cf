// Package river is River (github.com/riverqueue/river) as a bench.System, with the settings of its own benchmark.
package river

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/taskerhq/tasker/internal/cli/bench"
)

// The settings of River's own benchmark. With its defaults (100 ms and 1 s) throughput is ten times the number of
// workers, and latency 50 ms.
const (
	fetchCooldown     = 2 * time.Millisecond
	fetchPollInterval = 20 * time.Millisecond
)

const (
	// eventBuffer holds the events of completed jobs between two reads. A full buffer would lose events, so it is far
	// larger than a batch.
	eventBuffer = 1 << 18
	stopTimeout = time.Minute
)

// River is a queue in a separate schema.
type River struct {
	pool    *pgxpool.Pool
	schema  string
	log     *slog.Logger
	inserts *river.Client[pgx.Tx] // inserts only
	settled atomic.Int64
}

var _ bench.System = (*River)(nil)

// job is a document, stored unchanged.
type job struct{ body json.RawMessage }

func (job) Kind() string { return "bench" }

func (j job) MarshalJSON() ([]byte, error) { return j.body, nil }

func (j *job) UnmarshalJSON(b []byte) error {
	j.body = append(j.body[:0], b...)
	return nil
}

// Open creates River's tables in an existing, empty schema; close the result.
func Open(ctx context.Context, cfg *pgxpool.Config, schema string, log *slog.Logger) (*River, error) {
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	r := &River{pool: pool, schema: schema, log: log}
	if err := r.migrate(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("migrate: %w", err)
	}
	// The cooldown also bounds how often an insert wakes the workers.
	if r.inserts, err = river.NewClient(riverpgxv5.New(pool),
		&river.Config{Schema: schema, Logger: log, FetchCooldown: fetchCooldown}); err != nil {
		pool.Close()
		return nil, err
	}
	return r, nil
}

func (r *River) migrate(ctx context.Context) error {
	m, err := rivermigrate.New(riverpgxv5.New(r.pool), &rivermigrate.Config{Schema: r.schema, Logger: r.log})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// Close lets the connections go. Workers must have been stopped before.
func (r *River) Close() error {
	r.pool.Close()
	return nil
}

// Submit implements bench.System.
func (r *River) Submit(ctx context.Context, _ int, body json.RawMessage) error {
	_, err := r.inserts.Insert(ctx, job{body}, nil)
	return err
}

// SubmitMany implements bench.System by the fastest way: COPY, without jobs in the answer.
func (r *River) SubmitMany(ctx context.Context, n int, body json.RawMessage) error {
	jobs := make([]river.InsertManyParams, n)
	for i := range jobs {
		jobs[i] = river.InsertManyParams{Args: job{body}}
	}
	got, err := r.inserts.InsertManyFast(ctx, jobs)
	if err == nil && got != n {
		err = fmt.Errorf("%d jobs of %d were inserted", got, n)
	}
	return err
}

// Work implements bench.System with River's default completer, which records completions in batches.
func (r *River) Work(ctx context.Context, n int, handle func()) (func() error, error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[job]) error {
		handle()
		return nil
	}))
	client, err := river.NewClient(riverpgxv5.New(r.pool), &river.Config{
		Schema: r.schema, Logger: r.log, Workers: workers,
		FetchCooldown: fetchCooldown, FetchPollInterval: fetchPollInterval,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: n}},
	})
	if err != nil {
		return nil, err
	}
	// Its events follow the recorded completion.
	completed, cancel := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: eventBuffer, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	var counting sync.WaitGroup
	counting.Go(func() {
		for range completed {
			r.settled.Add(1)
		}
	})
	if err := client.Start(ctx); err != nil {
		cancel()
		return nil, err
	}
	return sync.OnceValue(func() error {
		stopping, done := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer done()
		err := client.Stop(stopping)
		cancel()
		counting.Wait()
		return err
	}), nil
}

// Settled implements bench.System.
func (r *River) Settled() int64 { return r.settled.Load() }

// Check compares the counts with the table.
func (r *River) Check(ctx context.Context) error {
	var completed, others int64
	err := r.pool.QueryRow(ctx,
		`SELECT count(*) FILTER (WHERE state = 'completed'), count(*) FILTER (WHERE state <> 'completed')
		FROM `+pgx.Identifier{r.schema, "river_job"}.Sanitize()).Scan(&completed, &others)
	switch {
	case err != nil:
		return fmt.Errorf("count jobs: %w", err)
	case others != 0:
		return fmt.Errorf("%d jobs are not completed", others)
	case completed != r.Settled():
		return errors.New("the events do not agree with the table: some were lost")
	}
	return nil
}
