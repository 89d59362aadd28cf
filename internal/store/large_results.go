package store

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

const largeResultColumns = `l.key, l.step_id, l.token, l.bytes, l.sha256, l.state, l.at`

// LargeResultStore implements engine.Database.
func (s SQL) LargeResultStore() engine.LargeResultStore { return s }

// AddLargeResult implements engine.LargeResultStore. The keys of a step are a range: '0' follows '/'.
func (SQL) AddLargeResult(ctx context.Context, tx engine.Tx, l *task.LargeResult, most int) (bool, error) {
	s := In(tx)
	of := l.Step.String()
	others, err := first(ctx, s, scanInt, `SELECT count(*) FROM tasker_large_results WHERE key > $1 AND key < $2
 AND key <> $3`, of+"/", of+"0", l.Key)
	if err != nil || others >= int64(most) {
		return false, err
	}
	added, err := collect(ctx, s, scanInt, `INSERT INTO tasker_large_results (key, step_id, token, bytes, sha256, state, at)
 VALUES ($1, $2, $3, $4, $5, 0, $6) ON CONFLICT (key) DO UPDATE SET at = EXCLUDED.at
 WHERE tasker_large_results.state = 0 RETURNING bytes`, l.Key, s.id(l.Step), l.Token, l.Bytes, l.SHA256, int64(l.At))
	return len(added) > 0, err
}

// TakeLargeResult implements engine.LargeResultStore.
func (SQL) TakeLargeResult(ctx context.Context, tx engine.Tx, key string) (*task.LargeResult, error) {
	s := In(tx)
	taken, err := collect(ctx, s, s.scanLargeResult, `UPDATE tasker_large_results AS l SET state = 1
 WHERE l.key = $1 AND l.state = 0 RETURNING key, step_id, token, bytes, sha256, state, at`, key)
	if err != nil || len(taken) == 0 {
		return nil, err
	}
	return &taken[0], nil
}

// FindUnusedLargeResults implements engine.LargeResultStore. Keys contain no wildcards of LIKE.
func (s SQL) FindUnusedLargeResults(ctx context.Context, sentBefore task.Instant, limit int,
) ([]task.LargeResult, error) {
	return collect(ctx, s, s.scanLargeResult, `SELECT `+largeResultColumns+` FROM tasker_large_results l
 LEFT JOIN tasker_workflow_steps s ON s.id = l.step_id
 WHERE l.state = 2
  OR l.state = 0 AND l.at < $1
   AND (s.id IS NULL OR s.token > l.token
    OR s.state IN ('complete', 'error', 'skipped', 'cancelled', 'resolved_manually'))
  OR l.state = 1 AND (s.result IS NULL OR CAST(s.result AS text) NOT LIKE '%' || l.key || '%')
 ORDER BY l.key LIMIT $2`, int64(sentBefore), limit)
}

// DoomLargeResult implements engine.LargeResultStore.
func (SQL) DoomLargeResult(ctx context.Context, tx engine.Tx, key string, from task.LargeResultState) (bool, error) {
	n, err := In(tx).Exec(ctx, `UPDATE tasker_large_results SET state = 2 WHERE key = $1 AND state = $2`, key, int64(from))
	return n > 0, err
}

// DropLargeResults implements engine.LargeResultStore.
func (SQL) DropLargeResults(ctx context.Context, tx engine.Tx, keys []string) error {
	s := In(tx)
	for _, key := range keys {
		if err := s.Send(ctx, `DELETE FROM tasker_large_results WHERE key = $1 AND state = 2`, key); err != nil {
			return err
		}
	}
	return nil
}

func (s SQL) scanLargeResult(row Row) (l task.LargeResult, err error) {
	var state int64
	err = row.Scan((*Text)(&l.Key), s.ScanID(&l.Step), &l.Token, &l.Bytes, (*Text)(&l.SHA256), &state, &l.At)
	l.State = task.LargeResultState(state)
	return l, err
}
