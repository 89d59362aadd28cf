package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/task"
)

// identity tells whether the database is still the one that this process knows. After a failover to a standby
// that was behind, or once a backup was swapped in, rows that the process remembers may be gone, and
// their numbers may be given out again.
type identity struct {
	mu    sync.Mutex
	known bool
	last  position
	// replaced is called when the database turns out to be another one, or to have gone back.
	replaced []func()
}

// position is where a database is: the cluster and the timeline that it is on, and how far its log is.
type position struct {
	system, timeline string
	log              int64
}

// What was not flushed is lost in a crash, after which the database is the same all the same.
// A standby has no timeline of its own; what it is asked fails soon enough.
const identityQuery = `SELECT system_identifier::text, CASE WHEN r THEN '' ELSE substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8) END,
 CASE WHEN r THEN 0 ELSE pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint END FROM pg_control_system(), pg_is_in_recovery() AS r`

// before returns what is known, for see.
func (i *identity) before() (position, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.last, i.known
}

// see compares the database's identity with the one known before the query. The log of a database that
// continues only grows.
func (i *identity) see(now, before position, known bool) {
	if now.timeline == "" {
		return
	}
	i.mu.Lock()
	other := known && (now.system != before.system || now.timeline != before.timeline || now.log < before.log)
	if other || !i.known || now.log > i.last.log || now.timeline != i.last.timeline {
		i.last, i.known = now, true
	}
	calls := i.replaced
	i.mu.Unlock()
	if !other {
		return
	}
	for _, forget := range calls {
		forget()
	}
}

// OnReplaced implements engine.Cluster.
func (s *Store) OnReplaced(forget func()) {
	s.identity.mu.Lock()
	defer s.identity.mu.Unlock()
	s.identity.replaced = append(s.identity.replaced, forget)
}

// forgetAll drops what this process remembers of rows and queues.
func (s *Store) forgetAll() {
	s.rowCache.forgetAll()
	s.routes.forgetAll()
	s.sweep.set(task.ID{})
}

// checkIdentity asks a new connection which database it leads to, before anything else is asked on it.
func (s *Store) checkIdentity(ctx context.Context, c *pgx.Conn) error {
	before, known := s.identity.before()
	var now position
	if err := c.QueryRow(ctx, identityQuery, pgx.QueryExecModeSimpleProtocol).Scan(&now.system, &now.timeline,
		&now.log); err != nil {
		return err
	}
	s.identity.see(now, before, known)
	return nil
}

// checkPool asks which database the pool leads to: behind a pooler connections stay while the database
// behind them changes.
func (s *Store) checkPool(ctx context.Context) error {
	before, known := s.identity.before()
	var now position
	err := s.Query(ctx, identityQuery, nil, func(r store.Row) error {
		return r.Scan((*store.Text)(&now.system), (*store.Text)(&now.timeline), &now.log)
	})
	if err == nil {
		s.identity.see(now, before, known)
	}
	return err
}

// codeReplaced is what tasker_expect_known raises.
const codeReplaced = "TK002"

// ExpectKnown implements engine.TxRegistry. It goes with the next statements.
func (t *tx) ExpectKnown(ctx context.Context, templates map[int64]*task.Template, routes map[int64]*task.Route) error {
	const query = `SELECT tasker_expect_known((SELECT count(*) FROM unnest($1::bigint[], $2::text[], $3::text[]) AS u(id, namespace, name)
 JOIN tasker_templates d ON d.def_id = u.id AND d.namespace = u.namespace AND d.name = u.name)
 + (SELECT count(*) FROM unnest($4::bigint[], $5::text[], $6::text[]) AS u(id, namespace, handler)
 JOIN tasker_routes r ON r.route_id = u.id AND r.namespace = u.namespace AND r.handler = u.handler), $7)`
	var defs, ids []int64
	var spaces, names, wheres, handlers []string
	for id, d := range templates {
		defs, spaces, names = append(defs, id), append(spaces, d.Namespace), append(names, d.Name)
	}
	for id, r := range routes {
		ids, wheres, handlers = append(ids, id), append(wheres, r.Namespace), append(handlers, r.Handler)
	}
	t.later(request{sql: query, args: []any{defs, spaces, names, ids, wheres, handlers, int64(len(defs) + len(ids))}})
	return nil
}
