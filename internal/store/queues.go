package store

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ReadyCounts counts ready steps by route, among the first limit of all routes together, where it stops. It reads only
// the queue's index. A positive queue is the number of a route; timers and leases have negative numbers.
func (s SQL) ReadyCounts(ctx context.Context, limit int) (map[int64]int, error) {
	const query = `SELECT queue, count(*) FROM (SELECT queue FROM tasker_workflow_steps WHERE queue > 0
  ORDER BY queue, key LIMIT $1) AS q GROUP BY queue`
	type count struct {
		route int64
		n     int
	}
	counts, err := collect(ctx, s, func(row Row) (c count, err error) {
		err = row.Scan(&c.route, &c.n)
		return c, err
	}, query, limit)
	if err != nil {
		return nil, err
	}
	out := make(map[int64]int, len(counts))
	for _, c := range counts {
		out[c.route] = c.n
	}
	return out, nil
}

// CountPaused counts the parked steps of paused templates, by the queue's index only.
func (s SQL) CountPaused(ctx context.Context, limit int) (int, error) {
	above, below := task.ParkedTemplates()
	n, err := first(ctx, s, scanInt, `SELECT count(*) FROM (SELECT queue FROM tasker_workflow_steps
  WHERE queue > $1 AND queue < $2 LIMIT $3) AS q`, above, below, limit)
	return int(n), err
}

// ReadySample returns one of every stride ready steps, and skips the others in the queue's index. The sample begins in
// the middle of the first stride, so that it does not always have the first steps of a queue.
func (s SQL) ReadySample(ctx context.Context, stride, limit int) ([]engine.ReadyStep, error) {
	const query = `SELECT s.id, s.route_id, s.priority, s.key, s.ready_at
		FROM (SELECT id, row_number() OVER (ORDER BY queue, key, id) AS place FROM tasker_workflow_steps WHERE queue > 0
  ORDER BY queue, key, id LIMIT $2) AS q
		JOIN tasker_workflow_steps s ON s.id = q.id
		WHERE (q.place - 1) % $1 = $3 ORDER BY q.place`
	return collect(ctx, s, func(row Row) (r engine.ReadyStep, err error) {
		err = row.Scan(s.ScanID(&r.ID), &r.Route, &r.Priority, &r.Key, &r.ReadyAt)
		return r, err
	}, query, stride, limit, stride/2)
}

// LeasedCounts counts the first limit leased steps by route, priority and state.
func (s SQL) LeasedCounts(ctx context.Context, limit int) ([]engine.LeasedCount, error) {
	const query = `SELECT route_id, priority, state, count(*) FROM (SELECT route_id, priority, state
  FROM tasker_workflow_steps WHERE queue = -2 LIMIT $1) AS q
		GROUP BY route_id, priority, state ORDER BY route_id, priority, state`
	return collect(ctx, s, func(row Row) (c engine.LeasedCount, err error) {
		err = row.Scan(&c.Route, &c.Priority, (*Text)(&c.State), &c.Steps)
		return c, err
	}, query, limit)
}
