package store

import (
	"context"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// TaskColumns are the columns that ScanTask reads, in its order.
const TaskColumns = `t.id, t.def_id, t.state, t.priority, t.steps_pending, t.steps_active, t.steps_waiting,
  t.steps_done, t.steps_failed, t.steps_cancelled, t.manual_ends, t.created_at, t.state_at, t.run_at, t.finished_at,
  t.deadline_at, t.correlation_id, t.idempotency_key, t.meta, t.context`

var bareTask = strings.Replace(TaskColumns, "t.context", "NULL", 1)

// StepColumns are the columns that ScanStep reads, in its order.
const StepColumns = `s.id, s.task_id, s.ordinal, s.def_id, s.route_id, s.priority, s.state, s.open_parents, s.queue,
  s.key, s.attempts, s.max_attempts, s.timeout_ms, s.token, s.worker_no, s.ready_at, s.assigned_at, s.started_at,
  s.finished_at, s.lease_until, s.progress, s.note, s.result`

var bareStep = strings.Replace(StepColumns, "s.result", "NULL", 1)

// taskRow scans one task in two steps: dest gives the destinations, and finish converts them once filled.
type taskRow struct {
	t             *task.Task
	state         Text
	meta, context JSON
}

func (r *taskRow) dest(d Dialect) []any {
	t := r.t
	return []any{d.ScanID(&t.ID), &t.DefID, &r.state, &t.Priority, &t.Counts.Pending, &t.Counts.Active, &t.Counts.Waiting,
		&t.Counts.Done,
		&t.Counts.Failed, &t.Counts.Cancelled, &t.Counts.ManualEnds, &t.CreatedAt, &t.StateAt, &t.RunAt, &t.FinishedAt,
		&t.DeadlineAt,
		(*Text)(&t.CorrelationID), (*Text)(&t.IdempotencyKey), &r.meta, &r.context}
}

// finish converts the rest. An unreadable meta marks the task as unread.
func (r *taskRow) finish() {
	r.t.State = task.State(r.state)
	r.t.Context = r.context
	if err := r.meta.into(&r.t.Meta); err != nil {
		unread(&r.t.Unread, "meta", err)
	}
}

// ScanTask reads TaskColumns.
func (d Dialect) ScanTask(row Row) (*task.Task, error) {
	r := taskRow{t: &task.Task{}}
	if err := scan(row, r.dest(d), &r.t.ID, &r.t.Unread); err != nil {
		return nil, err
	}
	r.finish()
	return r.t, nil
}

// stepRow scans one step. queue and key are NULL outside of every queue.
type stepRow struct {
	s          *task.Step
	state      Text
	queue, key *int64
	timeoutMS  int64
	result     JSON
}

func (r *stepRow) dest(d Dialect) []any {
	s := r.s
	return []any{d.ScanID(&s.ID), d.ScanID(&s.TaskID), &s.Ordinal, &s.DefID, &s.RouteID, &s.Priority, &r.state,
		&s.OpenParents, &r.queue, &r.key,
		&s.Attempts, &s.MaxAttempts, &r.timeoutMS, &s.Token, &s.WorkerNo, &s.ReadyAt, &s.AssignedAt, &s.StartedAt,
		&s.FinishedAt,
		&s.LeaseUntil, &s.Progress, (*Text)(&s.Note), &r.result}
}

// finish converts the rest. The time-out is in milliseconds, all times in microseconds.
func (r *stepRow) finish() {
	s := r.s
	s.State = task.StepState(r.state)
	if r.queue != nil && r.key != nil {
		s.Queue, s.Key = *r.queue, *r.key
	}
	s.Timeout = time.Duration(r.timeoutMS) * time.Millisecond
	s.Result = r.result
}

// ScanStep reads StepColumns.
func (d Dialect) ScanStep(row Row) (*task.Step, error) {
	r := stepRow{s: &task.Step{}}
	if err := scan(row, r.dest(d), &r.s.ID, &r.s.Unread); err != nil {
		return nil, err
	}
	r.finish()
	return r.s, nil
}

// collect scans every row of a query. It returns the rows before an error too; callers discard them.
func collect[T any](ctx context.Context, c Conn, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	var list []T
	err := c.Query(ctx, query, args, func(row Row) error {
		v, err := scan(row)
		if err == nil {
			list = append(list, v)
		}
		return err
	})
	return list, err
}

// first scans the first row of a query; it returns the zero value without one, so callers use pointers, or values whose
// zero is harmless. The query should have LIMIT 1, because all rows are read.
func first[T any](ctx context.Context, c Conn, scan func(Row) (T, error), query string, args ...any) (T, error) {
	list, err := collect(ctx, c, scan, query, args...)
	if err != nil || len(list) == 0 {
		var none T
		return none, err
	}
	return list[0], nil
}

func scanInt(row Row) (int64, error) {
	var n int64
	err := row.Scan(&n)
	return n, err
}

// ScanWork reads StepColumns followed by TaskColumns, for claims and settlements, which need both in one query.
func (d Dialect) ScanWork(row Row) (*task.Step, *task.Task, error) {
	sr, tr := stepRow{s: &task.Step{}}, taskRow{t: &task.Task{}}
	if err := scan(row, append(sr.dest(d), tr.dest(d)...), &sr.s.ID, &sr.s.Unread); err != nil {
		return nil, nil, err
	}
	sr.finish()
	tr.finish()
	return sr.s, tr.t, nil
}

// ShareTasks makes steps of one task in works share it, and returns works. A join returns the task once per step: two
// copies would each be changed and saved, and the second would undo the first.
func ShareTasks(works []engine.Work) []engine.Work {
	tasks := make(map[task.ID]*task.Task, len(works))
	for i, w := range works {
		if w.Step == nil {
			continue
		}
		if k, ok := tasks[w.Step.TaskID]; ok {
			works[i].Task = k
		} else {
			tasks[w.Step.TaskID] = w.Task
		}
	}
	return works
}
