package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// identity detects a replaced database. After a failover to a standby that was behind, or after a restored backup,
// cached rows may be missing, and their numbers may be issued again.
type identity struct {
	mu    sync.Mutex
	table string // tasker_meta, with its schema once that is known
	known bool
	last  position
	// number of the last pulse that is certainly stored; 0 for none. It must be found again.
	number int64
	// called when the database is a different one, or an earlier state of it
	replaced []func()
}

// position identifies a database's state: its cluster, timeline and the length of its log, then the database in the
// cluster and the table of notes in it, and the number of this process's pulse there. A smaller log on the same
// timeline, or a smaller number, means an older state of the same database.
type position struct {
	system, timeline string
	log              int64
	database, table  int64
	number           int64
}

// A crash loses unflushed changes, and the database still counts as the same. A standby has no timeline; its queries
// fail soon enough. identityQuery reads a position without the pulse, and pulseQuery the pulse; the timeline of a
// standby is "", and the table of an empty database 0.
const identityQuery = `SELECT system_identifier::text, CASE WHEN r THEN ''
  ELSE substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8) END,
 CASE WHEN r THEN 0 ELSE pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint END,
 (SELECT d.oid::bigint FROM pg_database d WHERE d.datname = current_database()),
 coalesce(to_regclass($1)::oid::bigint, 0)
  FROM pg_control_system(), pg_is_in_recovery() AS r`

const pulseNumber = `(m.value::json ->> 'n')::bigint`

func pulseQuery(table string) string {
	return `SELECT coalesce(max(` + pulseNumber + `), 0) FROM ` + table + ` m WHERE m.key = $1`
}

// before returns the known position, with this process's stored pulse, for see. It must precede the query: another
// connection may read a newer position in between.
func (i *identity) before() (p position, table string, known bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	p = i.last
	p.number = i.number
	return p, i.table, i.known
}

func (i *identity) named(table string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.table = table
}

func (i *identity) stored(number int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.number = number
}

// follows reports whether a position may be a later state of the database than one that was known before.
// The table is 0 in the position that was read before the schema was made.
func (p position) follows(known position) bool {
	return p.system == known.system && p.timeline == known.timeline && p.log >= known.log &&
		p.database == known.database && (p.table == known.table || known.table == 0) && p.number >= known.number
}

// see compares the database's position with the one known before the query. The log of the same database only grows. It
// calls the functions without the mutex, in the order of registration, maybe more than once for one replacement.
func (i *identity) see(now, before position, known bool) {
	if now.timeline == "" {
		return
	}
	i.mu.Lock()
	other := known && !now.follows(before)
	if other || !i.known || now.log > i.last.log || now.timeline != i.last.timeline || i.last.table == 0 {
		i.last, i.known = now, true
	}
	i.mu.Unlock()
	if other {
		i.lost()
	}
}

// lost drops everything because the database lacks this process's last pulse. The next pulse begins anew.
func (i *identity) lost() {
	i.stored(0)
	i.forget()
}

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

func (s *Store) forgetAll() {
	s.rowCache.forgetAll()
	s.routes.forgetAll()
	s.sweep.set(task.ID{})
}

// checkIdentity identifies the database behind a new connection, before any other query on it.
func (s *Store) checkIdentity(ctx context.Context, c *pgx.Conn) error {
	before, table, known := s.identity.before()
	var p position
	if err := c.QueryRow(ctx, identityQuery, pgx.QueryExecModeSimpleProtocol, table).Scan(&p.system, &p.timeline,
		&p.log, &p.database, &p.table); err != nil {
		return err
	}
	if before.number != 0 && p.table != 0 {
		if err := c.QueryRow(ctx, pulseQuery(table), pgx.QueryExecModeSimpleProtocol, pulses+s.node).
			Scan(&p.number); err != nil {
			return err
		}
	}
	s.identity.see(p, before, known)
	return nil
}

// checkPool identifies the database behind the pool: with a pooler, connections outlive the database behind them, and a
// schema may be renamed.
func (s *Store) checkPool(ctx context.Context) error {
	before, table, known := s.identity.before()
	var p position
	err := s.Query(ctx, identityQuery, []any{table}, func(r store.Row) error {
		return r.Scan((*store.Text)(&p.system), (*store.Text)(&p.timeline), &p.log, &p.database, &p.table)
	})
	if err == nil && before.number != 0 && p.table != 0 {
		err = s.Query(ctx, pulseQuery(table), []any{pulses + s.node}, func(r store.Row) error {
			return r.Scan(&p.number)
		})
	}
	if err == nil {
		s.identity.see(p, before, known)
	}
	return err
}

// codeReplaced is the error code of tasker_expect_known, raised if fewer rows are found than expected.
const codeReplaced = "TK002"

// expectPulse fails the transaction with engine.ErrReplaced unless this process's last pulse is in the database. It is
// sent with the next statements.
func (t *tx) expectPulse() {
	before, _, _ := t.store.identity.before()
	if before.number == 0 {
		return
	}
	const query = `SELECT tasker_expect_known((SELECT count(*) FROM tasker_meta m WHERE m.key = $1 AND ` + pulseNumber +
		` >= $2), 1)`
	t.later(request{sql: query, args: []any{pulses + t.store.node, before.number}})
}

// ExpectKnown implements engine.Tx. It is sent with the next statements. It counts the rows with the given key and
// names: a restored database may have given the key to another template or route.
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
