package store

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// AddAttempts stores ended attempts without success: a step shows its successful one. A second record of the same lease
// would be a bug of the engine, which settles a token once.
func (s SQL) AddAttempts(ctx context.Context, attempts []task.Attempt) error {
	const query = `INSERT INTO tasker_attempts (task_id, step_id, token, number, worker_no, outcome, ready_at,
  assigned_at, started_at, finished_at, after_state, failure)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
	for i := range attempts {
		a := &attempts[i]
		var failure any
		if a.Failure != nil {
			var err error
			if failure, err = jsonText(a.Failure); err != nil {
				return err
			}
		}
		if err := s.Send(ctx, query, s.id(a.TaskID), s.id(a.StepID), a.Token, a.Number, a.WorkerNo, string(a.Outcome),
			int64(a.ReadyAt), int64(a.AssignedAt), int64(a.StartedAt), int64(a.FinishedAt), string(a.After),
			failure); err != nil {
			return err
		}
	}
	return nil
}

// AddEvents stores transitions of tasks that do not follow from the states of the steps; see Backend.TaskHistory in
// local.
func (s SQL) AddEvents(ctx context.Context, events []task.Event) error {
	const query = `INSERT INTO tasker_task_events (task_id, at, from_state, to_state, cause) VALUES ($1, $2, $3, $4, $5)`
	for _, e := range events {
		if err := s.Send(ctx, query, s.id(e.TaskID), int64(e.At), string(e.From), string(e.To), e.Cause); err != nil {
			return err
		}
	}
	return nil
}

func (s SQL) scanID(row Row) (id task.ID, err error) {
	err = row.Scan(s.ScanID(&id))
	return id, err
}

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
