package doctor

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Checks of the work, the same on every engine.

// countLimit bounds counts: an overdue queue may be long.
const countLimit = 10_000

// who completes the advice "Make sure that ...". The first three queries stop at countLimit rows and follow an
// index, so they are cheap on a busy database.
func (p *patient) workExams(who string) []exam {
	return []exam{
		{"leases", p.overdue(overdue{
			query: `SELECT count(*), min(at) FROM (SELECT key AS at FROM tasker_workflow_steps WHERE queue = $1 AND key < $2
  ORDER BY key LIMIT 10000) AS late`,
			args:   []any{task.Leases},
			well:   "no lease expired long ago",
			broken: "%s leases have expired, the first %s ago, and no server returns their steps",
			do:     "Make sure that " + who + "; it ends such leases within a second. If one runs, look for errors in its log.",
		})},
		{"timers", p.overdue(overdue{
			query: `SELECT count(*), min(at) FROM (SELECT key AS at FROM tasker_workflow_steps WHERE queue = $1 AND key < $2
  ORDER BY key LIMIT 10000) AS late`,
			args:   []any{task.Timers},
			well:   "no retry or scheduled step is overdue",
			broken: "%s steps wait for a time that has passed, the first for %s: upkeep is not running",
			do: "Make sure that " + who +
				"; it starts what is due within a second. If one runs, look for errors in its log.",
		})},
		{"deadlines", p.overdue(overdue{
			query: `SELECT count(*), min(at) FROM (SELECT deadline_at AS at FROM tasker_tasks WHERE deadline_at > 0
  AND deadline_at < $1 ORDER BY deadline_at LIMIT 10000) AS late`,
			well:   "no task is past its deadline",
			broken: "%s tasks are past their deadline, the first by %s, and no server has ended them",
			do:     "Make sure that " + who + ". If one runs, look for errors in its log.",
		})},
		{"routes", p.routes},
		{"pauses", p.pauses},
		{"outages", p.outages},
		{"stepped", p.stepped},
		{"orphans", p.orphans},
	}
}

// overdue counts overdue items and finds the earliest. broken takes the number and the age of the earliest, in this
// order.
type overdue struct {
	query            string
	args             []any // the time is last
	well, broken, do string
}

// The time is the servers': the database's if it has a clock.
func (p *patient) overdue(o overdue) func(context.Context, *sql.Tx) ([]Check, error) {
	return func(ctx context.Context, tx *sql.Tx) ([]Check, error) {
		now, err := p.clock(ctx, tx)
		if err != nil {
			return nil, err
		}
		var n int64
		var first sql.NullInt64
		args := append(o.args[:len(o.args):len(o.args)], int64(now.Add(-p.Limits.Overdue)))
		if err := tx.QueryRowContext(ctx, o.query, args...).Scan(&n, &first); err != nil {
			return nil, err
		}
		if n == 0 {
			return ok("%s", o.well), nil
		}
		return []Check{
			{Status: Fail, Seen: fmt.Sprintf(o.broken, counted(n, countLimit), long(now.Sub(task.Instant(first.Int64)))),
				Do: o.do}}, nil
	}
}

// orphans finds tasks without their template and ready steps without their route, which exist only after the
// database lost recent commits under running servers. It reads all tasks, and may take long on a large database.
func (p *patient) orphans(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	const (
		tasks = `SELECT count(*) FROM (SELECT 1 FROM tasker_tasks t WHERE NOT EXISTS
 (SELECT 1 FROM tasker_templates d WHERE d.def_id = t.def_id) LIMIT 10000) AS o`
		steps = `SELECT count(*) FROM (SELECT 1 FROM tasker_workflow_steps s WHERE s.queue > 0 AND NOT EXISTS
 (SELECT 1 FROM tasker_routes r WHERE r.route_id = s.queue) LIMIT 10000) AS o`
		why = ": the database went back in time " +
			"(a standby that was behind took over, or a backup was restored) while nodes ran"
	)
	var checks []Check
	for query, seen := range map[string]string{tasks: "%s tasks are of templates that do not exist",
		steps: "%s steps are ready on routes that do not exist"} {
		var n int64
		if err := tx.QueryRowContext(ctx, query).Scan(&n); err != nil {
			return nil, err
		}
		if n > 0 {
			checks = append(checks, Check{Status: Fail, Seen: fmt.Sprintf(seen, counted(n, countLimit)) + why,
				Do: "Cancel them (tasker task list shows them and what is wrong with them; tasker task cancel), and submit the " +
					"work again."})
		}
	}
	if len(checks) == 0 {
		return ok("every task has its template, and every ready step its route"), nil
	}
	return checks, nil
}

type waiting struct {
	task.Route
	since task.Instant
	steps int64
}

// routes finds ready steps that no live worker can take, by namespace, handler or capabilities. Draining and
// unhealthy workers do not count.
func (p *patient) routes(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	now, err := p.clock(ctx, tx)
	if err != nil {
		return nil, err
	}
	workers, err := p.workers(ctx, tx, now)
	if err != nil {
		return nil, err
	}
	const query = `SELECT r.route_id, r.namespace, r.handler, r.capabilities,
 (SELECT s.ready_at FROM tasker_workflow_steps s WHERE s.queue = r.route_id ORDER BY s.key LIMIT 1)
  FROM tasker_routes r ORDER BY r.route_id`
	var first sql.NullInt64
	all, err := list(ctx, tx, func(rows *sql.Rows) (w waiting, err error) {
		var capabilities string
		err = rows.Scan(&w.ID, &w.Namespace, &w.Handler, &capabilities, &first)
		w.Capabilities, w.since = task.SplitCapabilities(capabilities), task.Instant(first.Int64)
		return w, err
	}, query)
	if err != nil {
		return nil, err
	}
	var alone []waiting
	for _, w := range all {
		// A route without ready steps has no time. A short wait is normal while a worker restarts.
		if w.since != 0 && w.since < now.Add(-p.Limits.Overdue) && !served(w.Route, workers) {
			alone = append(alone, w)
		}
	}
	if len(alone) == 0 {
		return ok("every route with ready steps is served by one of %d live workers", len(workers)), nil
	}
	return p.unserved(ctx, tx, now, alone)
}

// unserved reports at most 20 routes with their waiting steps.
func (p *patient) unserved(ctx context.Context, tx *sql.Tx, now task.Instant, alone []waiting) ([]Check, error) {
	const most = 20
	var checks []Check
	for i, w := range alone {
		if i == most {
			checks = append(checks, Check{Status: Warn,
				Seen: fmt.Sprintf("%d more routes are not served by any live worker", len(alone)-most),
				Do:   "Start workers for them too."})
			break
		}
		const count = `SELECT count(*) FROM (SELECT 1 AS one FROM tasker_workflow_steps WHERE queue = $1 LIMIT 10000) AS few`
		if err := tx.QueryRowContext(ctx, count, w.ID).Scan(&w.steps); err != nil {
			return nil, err
		}
		route := fmt.Sprintf("handler %s of namespace %s", w.Handler, w.Namespace)
		if len(w.Capabilities) > 0 {
			route += " with " + strings.Join(w.Capabilities, ", ")
		}
		checks = append(checks, Check{Status: Warn,
			Seen: fmt.Sprintf("%s ready steps wait for %s, for %s by now, and no live worker serves it",
				counted(w.steps, countLimit), route, long(now.Sub(w.since))),
			Do: "Start a worker that serves it, or cancel the tasks."})
	}
	return checks, nil
}

func served(r task.Route, workers []task.Worker) bool {
	for i := range workers {
		if workers[i].Serves(r) {
			return true
		}
	}
	return false
}

// workers returns the active workers with a recent heartbeat, which excludes those that only registered.
func (p *patient) workers(ctx context.Context, tx *sql.Tx, now task.Instant) ([]task.Worker, error) {
	const query = `SELECT namespaces, handlers, capabilities FROM tasker_workers WHERE state = 'active'
  AND last_heartbeat >= $1`
	return list(ctx, tx, func(rows *sql.Rows) (w task.Worker, err error) {
		var namespaces, handlers, capabilities string
		err = rows.Scan(&namespaces, &handlers, &capabilities)
		w.Namespaces, w.Handlers, w.Capabilities = task.SplitCapabilities(namespaces), task.SplitCapabilities(handlers),
			task.SplitCapabilities(capabilities)
		return w, err
	}, query, int64(now.Add(-p.Limits.Silent)))
}
