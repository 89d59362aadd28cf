package bare

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/taskerhq/tasker/proof/bench/compare"
)

// postgresTable keeps completed jobs, like the queues it is compared with.
type postgresTable struct{ pool *pgxpool.Pool }

// OpenPostgres makes the table in the schema of the connections, which must be empty.
func OpenPostgres(ctx context.Context, cfg *pgxpool.Config) (compare.Queue, error) {
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if _, err := pool.Exec(ctx, `CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
 state int NOT NULL DEFAULT 0, body json NOT NULL) WITH (fillfactor = 70);
 CREATE INDEX ON jobs (id) WHERE state = 0`); err != nil {
		pool.Close()
		return nil, err
	}
	return newQueue(postgresTable{pool}), nil
}

func (p postgresTable) insert(ctx context.Context, bodies [][]byte) error {
	texts := make([]string, len(bodies))
	for i, b := range bodies {
		texts[i] = string(b)
	}
	_, err := p.pool.Exec(ctx, `INSERT INTO jobs (body) SELECT b::json FROM unnest($1::text[]) AS b`, texts)
	return err
}

func (p postgresTable) turn(ctx context.Context, done []int64, n int) (claimed []int64, err error) {
	b := &pgx.Batch{}
	if len(done) > 0 {
		b.Queue(`UPDATE jobs SET state = 2 WHERE id = ANY ($1)`, done)
	}
	if n > 0 {
		b.Queue(`UPDATE jobs j SET state = 1 FROM (SELECT id FROM jobs WHERE state = 0 ORDER BY id LIMIT $1
 FOR UPDATE SKIP LOCKED) AS f WHERE j.id = f.id RETURNING j.id, j.body::text`, n)
	}
	answers := p.pool.SendBatch(ctx, b)
	defer func() { err = errors.Join(err, answers.Close()) }()
	if len(done) > 0 {
		if _, err := answers.Exec(); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, nil
	}
	rows, err := answers.Query()
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (id int64, err error) {
		var body string
		return id, r.Scan(&id, &body)
	})
}

func (p postgresTable) count(ctx context.Context) (done, others int64, err error) {
	err = p.pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state = 2), count(*) FILTER (WHERE state <> 2) FROM jobs`).
		Scan(&done, &others)
	return done, others, err
}

func (p postgresTable) close() error {
	p.pool.Close()
	return nil
}
