package store

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// LogStore implements engine.Database.
func (s SQL) LogStore() engine.LogStore { return s }

// AddLog implements engine.LogStore.
func (SQL) AddLog(ctx context.Context, tx engine.Tx, l *task.AttemptLog, kept int) error {
	s := In(tx)
	err := s.Send(ctx, `INSERT INTO tasker_attempt_logs (step_id, token, task_id, number, at, bytes, body)
 VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (step_id, token) DO UPDATE SET number = EXCLUDED.number,
  at = EXCLUDED.at, bytes = EXCLUDED.bytes, body = EXCLUDED.body`, s.id(l.Step), l.Token, s.id(l.Task), l.Attempt,
		int64(l.At), l.Bytes, clean(l.Text))
	if err != nil {
		return err
	}
	return s.Send(ctx, `DELETE FROM tasker_attempt_logs WHERE step_id = $1 AND token <
 (SELECT min(token) FROM (SELECT token FROM tasker_attempt_logs WHERE step_id = $1 ORDER BY token DESC LIMIT $2) AS l)`,
		s.id(l.Step), kept)
}

// Logs implements engine.LogStore.
func (s SQL) Logs(ctx context.Context, step task.ID) ([]task.AttemptLog, error) {
	return collect(ctx, s, func(row Row) (l task.AttemptLog, err error) {
		err = row.Scan(s.ScanID(&l.Step), &l.Token, s.ScanID(&l.Task), &l.Attempt, &l.At, &l.Bytes, (*Text)(&l.Text))
		return l, err
	}, `SELECT step_id, token, task_id, number, at, bytes, body FROM tasker_attempt_logs WHERE step_id = $1
 ORDER BY token DESC`, s.id(step))
}
