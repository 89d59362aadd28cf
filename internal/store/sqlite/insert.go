package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// InsertTasks implements engine.Tx. Rows of the usual shape are inserted many at a time, the others one by one.
func (t *tx) InsertTasks(ctx context.Context, tasks []*task.Task, steps []*task.Step) error {
	plain, room := rowsOf{shape: plainTasks}, t.rows.hasRoom()
	for _, k := range tasks {
		if err := t.insertTask(ctx, &plain, k); err != nil {
			return err
		}
		if room { // new rows are cached: a worker usually claims them next
			t.rows.putTask(k)
			t.rows.putContext(k)
		}
	}
	if err := plain.flush(ctx, t.conn); err != nil {
		return err
	}
	ready := rowsOf{shape: readySteps}
	for _, s := range steps {
		if err := t.insertStep(ctx, &ready, s); err != nil {
			return err
		}
		if room {
			t.rows.putStep(s)
		}
		t.queued(s)
	}
	return ready.flush(ctx, t.conn)
}

// Common values are written in the statement: a parameter costs far more than a constant.
const (
	insertTask = `INSERT INTO tasker_tasks (id, def_id, state, priority, steps_pending, steps_active, steps_waiting,
  steps_done, steps_failed, steps_cancelled, manual_ends, created_at, state_at, run_at, finished_at, deadline_at,
  correlation_id, idempotency_key, meta, context) VALUES `
	plainTask = `(?, ?, 'steps_in_process', ?, 0, ?, 0, 0, 0, 0, 0, ?, ?, 0, 0, 0, NULL, NULL, NULL, ?)`
	anyTask   = `(?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	insertStep = `INSERT INTO tasker_workflow_steps (id, task_id, ordinal, def_id, route_id, priority, state,
  open_parents, queue, key, attempts, max_attempts, timeout_ms, token, worker_no, ready_at, assigned_at, started_at,
  finished_at, lease_until, progress, note, result) VALUES `
	readyStep  = `(?, ?, ?, ?, ?, ?, 'enqueued', 0, ?, ?, 0, ?, ?, 0, 0, ?, 0, 0, 0, 0, 0, NULL, NULL)`
	leasedStep = `(?, ?, ?, ?, ?, ?, ?, 0, -2, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, 0, NULL, NULL)`
	otherStep  = `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, 0, 0, ?, 0, 0, 0, 0, 0, NULL, NULL)`
)

func (t *tx) insertTask(ctx context.Context, plain *rowsOf, k *task.Task) error {
	id := k.ID.Seq()
	if k.State == task.StepsInProcess && k.Counts.Pending == 0 && k.RunAt == 0 && k.DeadlineAt == 0 &&
		k.CorrelationID == "" && k.IdempotencyKey == "" && k.Meta.Empty() {
		return plain.add(ctx, t.conn, id, k.DefID, k.Priority, k.Counts.Active, int64(k.CreatedAt), int64(k.StateAt),
			jsonText(k.Context))
	}
	meta, err := encodeMeta(k.Meta)
	if err != nil {
		return err
	}
	if _, err := t.conn.Exec(ctx, insertTask+anyTask, id, k.DefID, string(k.State), k.Priority, k.Counts.Pending,
		k.Counts.Active,
		int64(k.CreatedAt), int64(k.StateAt), int64(k.RunAt), int64(k.FinishedAt), int64(k.DeadlineAt), text(k.CorrelationID),
		text(k.IdempotencyKey), meta, jsonText(k.Context)); err != nil {
		return err
	}
	const tag = `INSERT INTO tasker_task_tags (tag, task_id) VALUES (?, ?) ON CONFLICT DO NOTHING`
	for _, v := range k.Meta.Tags {
		if _, err := t.conn.Exec(ctx, tag, v, id); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) insertStep(ctx context.Context, ready *rowsOf, s *task.Step) error {
	id, timeout := s.ID.Seq(), s.Timeout.Milliseconds()
	switch {
	case s.State == task.StepEnqueued:
		return ready.add(ctx, t.conn, id, s.TaskID.Seq(), s.Ordinal, s.DefID, s.RouteID, s.Priority, s.Queue, s.Key,
			s.MaxAttempts, timeout, int64(s.ReadyAt))
	case s.State.Leased():
		_, err := t.conn.Exec(ctx, insertStep+leasedStep, id, s.TaskID.Seq(), s.Ordinal, s.DefID, s.RouteID, s.Priority,
			string(s.State),
			s.Key, s.Attempts, s.MaxAttempts, timeout, s.Token, s.WorkerNo, int64(s.ReadyAt), int64(s.AssignedAt),
			int64(s.StartedAt), int64(s.LeaseUntil))
		return err
	}
	queue, key := queueOf(s)
	_, err := t.conn.Exec(ctx, insertStep+otherStep, id, s.TaskID.Seq(), s.Ordinal, s.DefID, s.RouteID, s.Priority,
		string(s.State),
		s.OpenParents, queue, key, s.MaxAttempts, timeout, int64(s.ReadyAt))
	return err
}

// encodeMeta returns nil for an empty meta, which takes no space.
func encodeMeta(m task.Meta) (any, error) {
	if m.Empty() {
		return nil, nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode meta: %w", err)
	}
	return string(b), nil
}

// together is the number of rows in one insert statement. More gain little, since binding then dominates.
const together = 16

// shape holds the statements that insert rows of one shape.
type shape struct{ one, few, many string }

// shapeOf builds the statements for 1 row, a quarter of together and together rows.
func shapeOf(into, row string) shape {
	rows := func(n int) string { return into + row + strings.Repeat(", "+row, n-1) }
	return shape{rows(1), rows(together / 4), rows(together)}
}

var (
	plainTasks = shapeOf(insertTask, plainTask)
	readySteps = shapeOf(insertStep, readyStep)
)

type rowsOf struct {
	shape
	args []any
	n    int
}

func (r *rowsOf) add(ctx context.Context, c *conn, args ...any) error {
	r.args = append(r.args, args...)
	if r.n++; r.n < together {
		return nil
	}
	_, err := c.Exec(ctx, r.many, r.args...)
	r.args, r.n = r.args[:0], 0
	return err
}

// flush inserts the rest, a quarter at a time and then one by one: every number of rows needs a prepared statement.
func (r *rowsOf) flush(ctx context.Context, c *conn) error {
	for r.n > 0 {
		n, query := 1, r.one
		if r.n >= together/4 {
			n, query = together/4, r.few
		}
		width := len(r.args) / r.n
		if _, err := c.Exec(ctx, query, r.args[:n*width]...); err != nil {
			return err
		}
		r.args, r.n = r.args[n*width:], r.n-n
	}
	return nil
}
