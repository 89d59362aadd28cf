package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli/bench"
)

const (
	// historySpan is the time over which finished tasks are spread, well within the retention.
	historySpan = 24 * time.Hour
	// historyBatch bounds the rows of one statement.
	historyBatch = 250_000
	// historyStep is a whole number of sequences, so that IDs and times of creation do not drift apart.
	historyStep = 125 * time.Microsecond
	// perMS is the number of sequences in a millisecond, which order IDs of version 7.
	perMS = 4096
)

// history makes n finished tasks: one is executed, and the server copies its rows with earlier times. Submitting
// hundreds of millions would take days.
func (r *run) history(ctx context.Context, n int) error {
	model, err := r.finishOne(ctx)
	if err != nil {
		return fmt.Errorf("make the first: %w", err)
	}
	conn, err := connectSession(ctx, r.opts.DB)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	// One statement copies 250,000 rows, which may exceed the database's default time-out.
	if _, err := conn.Exec(ctx, `SET statement_timeout = 0`); err != nil {
		return err
	}
	copies, err := newCopier(ctx, conn, model, n)
	if err != nil {
		return err
	}
	for from := 1; from < n; from += historyBatch {
		if err := copies.run(ctx, from, min(from+historyBatch, n)-1); err != nil {
			return err
		}
	}
	// As if they had come one by one, with autovacuum behind.
	if _, err := conn.Exec(ctx, `VACUUM (ANALYZE) tasker_tasks, tasker_workflow_steps`); err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	return nil
}

func (r *run) finishOne(ctx context.Context) (uuid.UUID, error) {
	receipt, err := r.client().Submit(ctx, tasker.TaskRequest{TaskType: bench.Handler,
		Context: bench.Payload(r.opts.PayloadBytes)})
	if err != nil {
		return uuid.Nil, err
	}
	stop := r.tasker.WorkOn(ctx, bench.Handler, 1, func() {})
	err = bench.Complete(ctx, r.client(), receipt.TaskUUID)
	return receipt.TaskUUID, errors.Join(err, stop())
}

// copier copies a task's rows. It reads columns from the catalogue, so a migration needs no change here.
type copier struct {
	conn  *pgx.Conn
	model uuid.UUID
	// The arguments are the model's ID and the first and the last number.
	tasks, steps string
}

// newCopier puts the copies a gap apart, so that n of them fill historySpan.
func newCopier(ctx context.Context, conn *pgx.Conn, model uuid.UUID, n int) (*copier, error) {
	taskColumns, err := columns(ctx, conn, "tasker_tasks")
	if err != nil {
		return nil, err
	}
	stepColumns, err := columns(ctx, conn, "tasker_workflow_steps")
	if err != nil {
		return nil, err
	}
	gap := (historySpan / time.Duration(n)).Truncate(historyStep)
	id := copyOf(model, gap, 0)
	return &copier{conn: conn, model: model,
		tasks: copyStatement("tasker_tasks", "id", taskColumns, gap, map[string]string{"id": id}),
		steps: copyStatement("tasker_workflow_steps", "task_id", stepColumns, gap,
			map[string]string{"task_id": id, "id": copyOf(model, gap, 1)})}, nil
}

// run makes the copies from and to, both included, and checks their number.
func (c *copier) run(ctx context.Context, from, to int) error {
	for _, sql := range []string{c.tasks, c.steps} {
		tag, err := c.conn.Exec(ctx, sql, c.model, from, to)
		if err != nil {
			return fmt.Errorf("copy rows: %w", err)
		}
		if tag.RowsAffected() != int64(to-from+1) {
			return fmt.Errorf("copy rows: %d instead of %d", tag.RowsAffected(), to-from+1)
		}
	}
	return nil
}

// columns returns the writable columns of a table, in order.
func columns(ctx context.Context, conn *pgx.Conn, table string) ([]string, error) {
	rows, err := conn.Query(ctx, `SELECT attname::text FROM pg_attribute
		WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`, table)
	if err != nil {
		return nil, fmt.Errorf("read columns of %s: %w", table, err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read columns of %s: %w", table, err)
	}
	return names, nil
}

// copyStatement copies the row with the key $1 once for each number from $2 to $3. Columns have the values given; set
// times are a gap earlier from number to number.
func copyStatement(table, key string, columns []string, gap time.Duration, values map[string]string) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		switch value, ok := values[c]; {
		case ok:
			out[i] = value
		case strings.HasSuffix(c, "_at"):
			out[i] = fmt.Sprintf("CASE WHEN m.%[1]s > 0 THEN m.%[1]s - n * %[2]d ELSE 0 END", c, gap.Microseconds())
		default:
			out[i] = "m." + c
		}
	}
	// From the last to the first: in the order of their IDs.
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s m, generate_series($3::bigint, $2::bigint, -1) n WHERE "+
		"m.%s = $1",
		table, strings.Join(columns, ", "), strings.Join(out, ", "), table, key)
}

// copyOf is SQL for the ID of copy n of a task with IDs of version 7, or, with step counted from 1, of its step: n gaps
// earlier than the model's.
func copyOf(model uuid.UUID, gap time.Duration, step int) string {
	high := binary.BigEndian.Uint64(model[:8])
	base := high>>16*perMS | high&(perMS-1)
	sequence := fmt.Sprintf("(%d - n * %d)", base+uint64(step), gap.Microseconds()*perMS/1000)
	high7 := fmt.Sprintf("((%s >> 12 << 16) | %d | (%s & %d))", sequence, 7<<12, sequence, perMS-1)
	// The low half only has to differ.
	return fmt.Sprintf("(lpad(to_hex(%s), 16, '0') || '8' || substr(md5(n::text), 2, 15))::uuid", high7)
}
