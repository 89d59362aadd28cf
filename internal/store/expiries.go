package store

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Expiries implements engine.ExpiryStore with an index on these few attempts.
func (s SQL) Expiries(ctx context.Context, since, until task.Instant, limit int) ([]engine.Expiry, error) {
	const query = `SELECT a.finished_at / 3600000000 AS hour, a.worker_no, t.def_id, count(*), max(a.finished_at)
 FROM tasker_attempts a JOIN tasker_tasks t ON t.id = a.task_id
 WHERE a.outcome = 'dispatch_expired' AND a.finished_at >= $1 AND a.finished_at < $2
 GROUP BY hour, a.worker_no, t.def_id ORDER BY hour DESC, a.worker_no, t.def_id LIMIT $3`
	return collect(ctx, s, func(row Row) (e engine.Expiry, err error) {
		var hour, last int64
		err = row.Scan(&hour, &e.Worker, &e.DefID, &e.Count, &last)
		e.Hour, e.Last = task.Instant(hour*3_600_000_000), task.Instant(last)
		return e, err
	}, query, int64(since), int64(until), limit)
}
