package store

import (
	"context"
	"encoding/json"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

var insertIntakeFailures = bulkOf(`INSERT INTO tasker_intake_failures (failure_id, task_uuid, at, tries, next_at, error)`,
	"iinnnt", ``)

// AddIntakeFailures stores failures; see engine.GroupRows.
func (letterRows) AddIntakeFailures(ctx context.Context, tx engine.Tx, failures []deadletter.IntakeFailure) error {
	s := In(tx)
	rows := make([][]any, len(failures))
	for i, f := range failures {
		rows[i] = []any{s.id(f.ID), s.id(f.Task), int64(f.At), f.Tries, int64(f.NextAt), clean(f.Error)}
	}
	return insertIntakeFailures.send(ctx, s, rows)
}

// DueIntakeFailures returns failures that are due, the longest due first; see inbox.IntakeRows.
func (s letterRows) DueIntakeFailures(ctx context.Context, now task.Instant, limit int) ([]deadletter.IntakeFailure,
	error,
) {
	list, err := collect(ctx, s, func(row Row) (*deadletter.IntakeFailure, error) {
		f := &deadletter.IntakeFailure{}
		return f, row.Scan(s.ScanID(&f.ID), s.ScanID(&f.Task), &f.At, &f.Tries, &f.NextAt, (*Text)(&f.Error))
	}, `SELECT failure_id, task_uuid, at, tries, next_at, error FROM tasker_intake_failures WHERE next_at <= $1
  ORDER BY next_at, failure_id LIMIT $2`, int64(now), limit)
	out := make([]deadletter.IntakeFailure, len(list))
	for i, f := range list {
		out[i] = *f
	}
	return out, err
}

// SaveIntakeFailures stores the tries of failures; see inbox.IntakeRows.
func (letterRows) SaveIntakeFailures(ctx context.Context, tx engine.Tx, failures []deadletter.IntakeFailure) error {
	s := In(tx)
	for _, f := range failures {
		err := s.Send(ctx, `UPDATE tasker_intake_failures SET tries = $2, next_at = $3, error = $4 WHERE failure_id = $1`,
			s.id(f.ID), f.Tries, int64(f.NextAt), clean(f.Error))
		if err != nil {
			return err
		}
	}
	return nil
}

// DropIntakeFailures removes failures whose sources have been told; see inbox.IntakeRows.
func (letterRows) DropIntakeFailures(ctx context.Context, tx engine.Tx, ids []task.ID) error {
	s := In(tx)
	for _, id := range ids {
		if err := s.Send(ctx, `DELETE FROM tasker_intake_failures WHERE failure_id = $1`, s.id(id)); err != nil {
			return err
		}
	}
	return nil
}

// CountIntakeFailures counts failures that wait, up to a limit, and returns when the oldest of these was; 0 for none.
func (s letterRows) CountIntakeFailures(ctx context.Context, limit int) (n int, oldest task.Instant, err error) {
	err = s.Query(ctx, `SELECT count(*), coalesce(min(at), 0) FROM (SELECT at FROM tasker_intake_failures
  ORDER BY failure_id LIMIT $1) f`, []any{limit}, func(row Row) error { return row.Scan(&n, &oldest) })
	return n, oldest, err
}

// intakeText is the column of an intake, "" for none.
func intakeText(in *deadletter.Intake) (any, error) {
	if in == nil {
		return "", nil
	}
	return jsonText(in)
}

// intakeOf reads the column of an intake.
func intakeOf(column Text) (*deadletter.Intake, error) {
	if column == "" {
		return nil, nil
	}
	in := &deadletter.Intake{}
	return in, json.Unmarshal([]byte(column), in)
}
