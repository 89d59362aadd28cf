package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/task"
)

// identity detects whether the database has been replaced. After a failover to a standby that was behind, or after a
// restored backup, cached rows may no longer exist, and their numbers may be issued again.
type identity struct {
	mu    sync.Mutex
	known bool
	last  position
	// replaced are called when the database is a different one, or an earlier state of it.
	replaced []func()
}

// position is the place of a database: its cluster and timeline, and the length of its log.
// A smaller log on the same timeline means an older state of the same database.
type position struct {
	system, timeline string
	log              int64
}

// Unflushed changes are lost in a crash, after which the database still counts as the same. A standby has no timeline
// of its own; its queries fail soon enough.
// identityQuery reads a position; the timeline of a standby is "".
const identityQuery = `SELECT system_identifier::text, CASE WHEN r THEN ''
  ELSE substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8) END,
 CASE WHEN r THEN 0 ELSE pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint END
  FROM pg_control_system(), pg_is_in_recovery() AS r`

// before returns the known position, for see.
// The position must be read before the query: a reading of another connection in between may be newer than this one.
func (i *identity) before() (position, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.last, i.known
}

// see compares the database's position with the one known before the query. The log of a database that continues only
// grows.
// It calls the functions without holding the mutex, in the order of registration. They may be called more than once for
// one replacement.
func (i *identity) see(now, before position, known bool) {
	if now.timeline == "" {
		return
	}
	i.mu.Lock()
	other := known && (now.system != before.system || now.timeline != before.timeline || now.log < before.log)
	if other || !i.known || now.log > i.last.log || now.timeline != i.last.timeline {
		i.last, i.known = now, true
	}
	i.mu.Unlock()
	if other {
		i.forget()
	}
}

// forget drops everything that this process remembers of the database.
func (i *identity) forget() {
	i.mu.Lock()
	calls := i.replaced
	i.mu.Unlock()
	for _, forget := range calls {
		forget()
	}
}

// OnReplaced implements engine.Cluster. forget must not query the database: it is called while a connection is being
// opened.
func (s *Store) OnReplaced(forget func()) {
	s.identity.mu.Lock()
	defer s.identity.mu.Unlock()
	s.identity.replaced = append(s.identity.replaced, forget)
}

// forgetAll drops this process's cached rows and queues.
func (s *Store) forgetAll() {
	s.rowCache.forgetAll()
	s.routes.forgetAll()
	s.sweep.set(task.ID{})
}

// checkIdentity identifies the database behind a new connection, before any other query on it.
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

// checkPool identifies the database behind the pool: with a pooler, connections stay while the database behind them
// changes.
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

// codeReplaced is the error code of tasker_expect_known.
// The function raises it if fewer rows are found than expected.
const codeReplaced = "TK002"

// ExpectKnown implements engine.Tx. It is sent with the next statements.
// It counts the rows that have the given key together with the given names: a restored database may have given the key
// to another template or route.
func (t *tx) ExpectKnown(ctx context.Context, templates map[int64]*task.Template, routes map[int64]*task.Route) error {
	const query = `SELECT tasker_expect_known((SELECT count(*) FROM unnest($1::bigint[],
  $2::text[], $3::text[]) AS u(id, namespace, name)
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
