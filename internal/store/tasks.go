package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
)

// FindTask returns a task, or nil.
func (s SQL) FindTask(ctx context.Context, id task.ID) (*task.Task, error) {
	const query = `SELECT ` + TaskColumns + ` FROM tasker_tasks t WHERE t.id = $1`
	return firstWithID(ctx, s, id, query)
}

// firstWithID compares the whole ID: an engine may keep a part of it.
func firstWithID(ctx context.Context, s SQL, id task.ID, query string) (*task.Task, error) {
	t, err := first(ctx, s, s.ScanTask, query, s.id(id))
	if err != nil || t == nil || t.ID != id {
		return nil, err
	}
	return t, nil
}

// FindSteps returns all steps of a task by ordinal, with results; nil for no such task.
func (s SQL) FindSteps(ctx context.Context, id task.ID) ([]*task.Step, error) {
	t, err := s.FindTask(ctx, id)
	if err != nil || t == nil {
		return nil, err
	}
	// the steps of a task are a range of keys after its own
	const query = `SELECT ` + StepColumns + ` FROM tasker_workflow_steps s
 WHERE s.id > $1 AND s.id <= $2 AND s.task_id = $1 ORDER BY s.ordinal`
	last := task.MakeID(id.Seq()+int64(t.Counts.Total()), 1<<62-1)
	return collect(ctx, s, s.ScanStep, query, s.id(id), s.id(last))
}

// Depth counts the steps in a queue before a place in the order of (key, ID), up to limit, by the index of the queues
// only.
func (s SQL) Depth(ctx context.Context, queue, key int64, id task.ID, limit int) (int, error) {
	const query = `SELECT count(*) FROM (SELECT 1 FROM tasker_workflow_steps WHERE queue = $1 AND (key, id) < ($2, $3)
  LIMIT $4) AS q`
	n, err := first(ctx, s, scanInt, query, queue, key, s.id(id), limit)
	return int(n), err
}

// Ahead is Depth for several routes together. It walks the index of each, so that it does not read beyond the place.
func (s SQL) Ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error) {
	w := where{}
	w.add("queue IN " + list(&w, routes, func(r int64) any { return r }))
	w.add("(key, id) < (?, ?)", key, s.id(id))
	query := `SELECT count(*) FROM (SELECT 1 FROM tasker_workflow_steps` + w.text() + ` LIMIT ` + w.arg(limit) + `) AS q`
	n, err := first(ctx, s, scanInt, query, w.args...)
	return int(n), err
}

// ReadyAfter returns up to limit steps of a route in the order of (key, ID), after the given place.
func (s SQL) ReadyAfter(ctx context.Context, route, key int64, id task.ID, limit int) ([]*task.Step, error) {
	const query = `SELECT ` + StepColumns +
		` FROM tasker_workflow_steps s WHERE s.queue = $1 AND (s.key, s.id) > ($2, $3) ORDER BY s.key, s.id LIMIT $4`
	return collect(ctx, s, s.ScanStep, query, route, key, s.id(id), limit)
}

// First returns the step in a queue with the lowest key at or above from, or nil.
func (s SQL) First(ctx context.Context, queue, from int64) (*task.Step, error) {
	const query = `SELECT ` + StepColumns +
		` FROM tasker_workflow_steps s WHERE s.queue = $1 AND s.key >= $2 ORDER BY s.key LIMIT 1`
	return first(ctx, s, s.ScanStep, query, queue, from)
}

// FindAttempts returns the attempts of a task's steps without success, in the order of writing, which is that of their
// ends.
func (s SQL) FindAttempts(ctx context.Context, id task.ID) ([]task.Attempt, error) {
	const query = `SELECT ` + attemptColumns + ` FROM tasker_attempts WHERE task_id = $1 ORDER BY id`
	return collect(ctx, s, s.scanAttempt, query, s.id(id))
}

const attemptColumns = attemptFacts + `, failure`

const bareAttemptColumns = attemptFacts + `, NULL`

const attemptFacts = `task_id, step_id, token, number, worker_no, outcome, ready_at, assigned_at, started_at,
  finished_at, after_state`

func (s SQL) scanAttempt(row Row) (task.Attempt, error) {
	var a task.Attempt
	var failure JSON
	err := scan(row, []any{s.ScanID(&a.TaskID), s.ScanID(&a.StepID), &a.Token, &a.Number, &a.WorkerNo, (*Text)(&a.Outcome),
		&a.ReadyAt, &a.AssignedAt, &a.StartedAt, &a.FinishedAt, (*Text)(&a.After), &failure}, &a.TaskID, &a.Unread)
	if err != nil || failure == nil {
		return a, err
	}
	a.Failure = &task.Failure{}
	if err := failure.into(a.Failure); err != nil {
		unread(&a.Unread, "failure", err)
	}
	return a, nil
}

// FindEvents returns the stored transitions of a task, oldest first. Most tasks have none.
func (s SQL) FindEvents(ctx context.Context, id task.ID) ([]task.Event, error) {
	const query = `SELECT task_id, at, from_state, to_state, cause FROM tasker_task_events WHERE task_id = $1 ORDER BY id`
	return collect(ctx, s, func(row Row) (e task.Event, err error) {
		err = row.Scan(s.ScanID(&e.TaskID), &e.At, (*Text)(&e.From), (*Text)(&e.To), (*Text)(&e.Cause))
		return e, err
	}, query, s.id(id))
}

// TaskStatuses returns the statuses of tasks, in any order, without unknown tasks. A status has no context and no
// counts. It takes one query per part of the list.
func (s SQL) TaskStatuses(ctx context.Context, ids []task.ID) ([]feed.TaskStatus, error) {
	const query = `SELECT id, def_id, state, state_at, priority, correlation_id, meta FROM tasker_tasks WHERE id IN `
	asked := make(map[task.ID]struct{}, len(ids))
	for _, id := range ids {
		asked[id] = struct{}{}
	}
	found, err := collectByIDs(ctx, s, ids, func(row Row) (t feed.TaskStatus, err error) {
		var meta JSON
		var m task.Meta
		var damage string // a partly unreadable task still has a status
		dest := []any{s.ScanID(&t.ID), &t.DefID, (*Text)(&t.State), &t.StateAt, &t.Priority, (*Text)(&t.CorrelationID), &meta}
		if err = scan(row, dest, &t.ID, &damage); err == nil {
			_ = meta.into(&m)
		}
		t.Tags = m.Tags
		return t, err
	}, query, ``)
	// an engine may keep only a part of an ID
	return slices.DeleteFunc(found, func(t feed.TaskStatus) bool { _, ok := asked[t.ID]; return !ok }), err
}
