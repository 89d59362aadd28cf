package postgres

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// Turn implements engine.Cluster. It returns whether this process has the turn of the loop until hold is over; a hold
// of 0 returns the turn. A process that is not sure of the time gets no turn, but can return one. Times are the agreed
// ones (Now), not the database clock's. A turn taken in the future is void: the clock was wrong then.
func (s *Store) Turn(ctx context.Context, loop string, hold time.Duration) (bool, error) {
	if hold > 0 {
		if err := s.sureOfTheTime(ctx); err != nil {
			return false, err
		}
	}
	const take = `INSERT INTO tasker_turns AS t (loop, node, taken_at, held_until) VALUES ($1, $2, $3, $4)
 ON CONFLICT (loop) DO UPDATE SET node = excluded.node, taken_at = excluded.taken_at, held_until = excluded.held_until
 WHERE t.node = excluded.node OR t.held_until <= excluded.taken_at OR t.taken_at > excluded.taken_at + $5`
	taken := task.At(s.Now())
	until := taken.Add(hold)
	if hold <= 0 { // returned, even by a node whose clock is a little behind
		until = taken.Add(-ahead)
	}
	n, err := s.Exec(ctx, take, loop, s.node, int64(taken), int64(until), ahead.Microseconds())
	return n > 0, err
}

// LastTurn implements engine.Cluster, in database time; 0 if no loop has ever run.
func (s *Store) LastTurn(ctx context.Context) (task.Instant, error) {
	var at task.Instant
	err := s.Query(ctx, `SELECT coalesce(max(taken_at), 0) FROM tasker_turns`, nil, func(r store.Row) error {
		return r.Scan(&at)
	})
	return at, err
}

// Turns implements engine.Cluster.
func (s *Store) Turns(ctx context.Context) ([]engine.Turn, error) {
	var out []engine.Turn
	const query = `SELECT loop, node, taken_at, held_until FROM tasker_turns ORDER BY loop`
	err := s.Query(ctx, query, nil, func(r store.Row) error {
		var t engine.Turn
		if err := r.Scan((*store.Text)(&t.Loop), (*store.Text)(&t.Node), &t.Taken, &t.Until); err != nil {
			return err
		}
		out = append(out, t)
		return nil
	})
	return out, err
}

// Occupied implements engine.Cluster. It also updates this process's view of empty routes. It omits routes without
// ready steps, and counts up to limit.
func (s *Store) Occupied(ctx context.Context, routes []int64, limit int) (map[int64]int, error) {
	if len(routes) == 0 {
		return nil, nil
	}
	const query = `SELECT r.queue, sum(c.n)::bigint FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
  AS r(queue, low, high), LATERAL (
 SELECT count(*) AS n FROM (SELECT 1 FROM tasker_workflow_steps s WHERE s.queue = r.queue AND s.key >= r.low
  AND s.key <= r.high LIMIT $4) AS f) AS c
 GROUP BY r.queue`
	asked := s.Now()
	spans, whole := s.routes.spans(routes, asked)
	ids, lows, highs := columns(spans)
	found := map[int64]int{}
	var empty []int64
	ready := map[int64]struct{}{}
	err := s.Query(ctx, query, []any{ids, lows, highs, limit}, func(r store.Row) error {
		var id int64
		var n int
		if err := r.Scan(&id, &n); err != nil {
			return err
		}
		if n == 0 {
			empty = append(empty, id)
			return nil
		}
		// A route may be read in several spans, each up to limit.
		found[id] = min(n, limit)
		ready[id] = struct{}{}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if whole {
		s.routes.noteSweep(routes, s.Now().Sub(asked))
	}
	s.routes.noteEmpty(empty, asked)
	s.routes.occupied(ready, s.Now())
	return found, nil
}

// NewestTemplates implements engine.Cluster. The last registered version has the largest number, whatever its name.
func (s *Store) NewestTemplates(ctx context.Context, names []engine.TemplateName) ([]int64, error) {
	const query = `SELECT coalesce((SELECT max(d.def_id) FROM tasker_templates d
  WHERE d.namespace = q.namespace AND d.name = q.name AND d.adhoc = 0), 0)
 FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS q(namespace, name, at) ORDER BY q.at`
	namespaces, called := make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		namespaces[i], called[i] = n.Namespace, n.Name
	}
	defs := make([]int64, 0, len(names))
	err := s.Query(ctx, query, []any{namespaces, called}, func(r store.Row) error {
		var def int64
		err := r.Scan(&def)
		defs = append(defs, def)
		return err
	})
	return defs, err
}

// Settled implements engine.Cluster. A deleted task counts as settled.
func (s *Store) Settled(ctx context.Context, ids []task.ID) ([]task.ID, error) {
	const query = `SELECT q.id FROM unnest($1::uuid[]) AS q(id) LEFT JOIN tasker_tasks t ON t.id = q.id
  WHERE t.id IS NULL OR t.state = ANY ($2::text[])`
	var settled []string
	for _, st := range task.States {
		if st.Settled() {
			settled = append(settled, string(st))
		}
	}
	var found []task.ID
	err := s.Query(ctx, query, []any{ids, settled}, func(r store.Row) error {
		var id task.ID
		err := r.Scan(&scanID{&id})
		found = append(found, id)
		return err
	})
	return found, err
}

// Publish implements engine.Cluster. It only queues the events; sendEvents sends them.
func (s *Store) Publish(n engine.PeerEvents) { s.news.add(n) }
