package store

import (
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

const operatorLimitColumns = `kind, namespace, name, capabilities, permits, rate_count, rate_per_us, rate_burst, actor,
 reason, set_at, changed_at, ended_at, ended_by, end_reason, bucket`

var (
	deletePermitRows = bulkOf(`DELETE FROM tasker_limit_permits WHERE (gate, step_id) IN (SELECT v.column1, v.column2
 FROM (`, "ni", `) AS v)`)
	adoptPermits = bulkOf(`INSERT INTO tasker_limit_permits (gate, step_id) SELECT v.column1, s.id FROM (`, "nn", `) AS v
 JOIN tasker_workflow_steps s ON s.queue = -2 AND s.route_id = v.column2 WHERE true ON CONFLICT DO NOTHING`)
)

// OperatorLimitStore implements engine.Database.
func (s SQL) OperatorLimitStore() engine.OperatorLimitStore { return s }

// SaveLimit implements engine.OperatorLimitStore.
func (SQL) SaveLimit(ctx context.Context, tx engine.Tx, l *task.OperatorLimit) error {
	return In(tx).Send(ctx, `INSERT INTO tasker_operator_limits (no, `+operatorLimitColumns+`)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) ON CONFLICT (no)
 DO UPDATE SET permits = excluded.permits, rate_count = excluded.rate_count, rate_per_us = excluded.rate_per_us,
  rate_burst = excluded.rate_burst, actor = excluded.actor, reason = excluded.reason, set_at = excluded.set_at,
  changed_at = excluded.changed_at, ended_at = excluded.ended_at, ended_by = excluded.ended_by,
  end_reason = excluded.end_reason, bucket = excluded.bucket`,
		l.LimitNo(), string(l.Kind), l.Namespace, l.Name, l.Capabilities, int64(l.Permits), int64(l.Rate.Count),
		l.Rate.Per.Microseconds(), int64(l.Rate.Burst), l.Actor, l.Reason, int64(l.At), int64(l.ChangedAt), int64(l.EndedAt),
		l.EndedBy, l.EndReason, int64(l.Bucket))
}

// LockLimits implements engine.OperatorLimitStore.
func (SQL) LockLimits(ctx context.Context, tx engine.Tx, nos []int64) ([]task.OperatorLimit, error) {
	return In(tx).limitsByNo(ctx, nos, In(tx).Lock)
}

// FindLimits implements engine.OperatorLimitStore.
func (s SQL) FindLimits(ctx context.Context, nos []int64) ([]task.OperatorLimit, error) {
	return s.limitsByNo(ctx, nos, "")
}

func (s SQL) limitsByNo(ctx context.Context, nos []int64, lock string) ([]task.OperatorLimit, error) {
	nos = slices.Clone(nos)
	slices.Sort(nos)
	var all []task.OperatorLimit
	for _, no := range slices.Compact(nos) { // few, and most of them one
		some, err := collect(ctx, s, scanOperatorLimit, `SELECT `+operatorLimitColumns+` FROM tasker_operator_limits
 WHERE no = $1`+lock, no)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// DropLimits implements engine.OperatorLimitStore. The earliest ends go first.
func (SQL) DropLimits(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error) {
	n, err := In(tx).Exec(ctx, `DELETE FROM tasker_operator_limits WHERE no IN (SELECT no FROM tasker_operator_limits
 WHERE ended_at > 0 AND ended_at < $1 ORDER BY ended_at LIMIT $2)`, int64(before), limit)
	return int(n), err
}

// OperatorLimits implements engine.OperatorLimitStore.
func (s SQL) OperatorLimits(ctx context.Context, limit int) ([]task.OperatorLimit, error) {
	return collect(ctx, s, scanOperatorLimit, `SELECT `+operatorLimitColumns+` FROM tasker_operator_limits
 ORDER BY CASE WHEN ended_at = 0 THEN 0 ELSE 1 END, namespace, kind, name, capabilities LIMIT $1`, limit)
}

// AdoptPermits implements engine.OperatorLimitStore.
func (SQL) AdoptPermits(ctx context.Context, tx engine.Tx, no int64, routes []int64) error {
	rows := make([][]any, len(routes))
	for i, r := range routes {
		rows[i] = []any{no, r}
	}
	return adoptPermits.send(ctx, In(tx), rows)
}

// DropPermits implements engine.OperatorLimitStore.
func (SQL) DropPermits(ctx context.Context, tx engine.Tx, permits []engine.Permit) error {
	s := In(tx)
	rows := make([][]any, len(permits))
	for i, p := range permits {
		rows[i] = []any{p.Gate, s.id(p.Step)}
	}
	return deletePermitRows.send(ctx, s, rows)
}

// DropPermitsOf implements engine.OperatorLimitStore.
func (SQL) DropPermitsOf(ctx context.Context, tx engine.Tx, no int64) error {
	return In(tx).Send(ctx, `DELETE FROM tasker_limit_permits WHERE gate = $1`, no)
}

// HeldPermits implements engine.OperatorLimitStore.
func (s SQL) HeldPermits(ctx context.Context, nos []int64) (map[int64]int, error) {
	return s.countPermits(ctx, nos)
}

func scanOperatorLimit(row Row) (l task.OperatorLimit, err error) {
	var per, bucket int64
	err = row.Scan((*Text)((*string)(&l.Kind)), (*Text)(&l.Namespace), (*Text)(&l.Name), (*Text)(&l.Capabilities),
		&l.Permits, &l.Rate.Count, &per, &l.Rate.Burst, (*Text)(&l.Actor), (*Text)(&l.Reason), (*int64)(&l.At),
		(*int64)(&l.ChangedAt),
		(*int64)(&l.EndedAt), (*Text)(&l.EndedBy), (*Text)(&l.EndReason), &bucket)
	l.Rate.Per, l.Bucket = time.Duration(per)*time.Microsecond, limit.Bucket(bucket)
	return l, err
}
