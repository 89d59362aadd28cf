package doctor

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"strings"
	"time"
)

// freshIndexes are the indexes of a fresh schema, one definition a line. A test
// compares it with what the migrations make.
//
//go:embed postgres_indexes.sql
var freshIndexes string

// ourTables restricts a query over pg_class c and pg_namespace n to this installation's tables.
const ourTables = `n.nspname = current_schema() AND c.relname LIKE 'tasker\_%' AND c.relkind IN ('r', 'p')`

// indexes compares the indexes with a fresh schema. A migration in progress shows as a difference.
func (s *server) indexes(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	have, err := schemaIndexes(ctx, tx)
	if err != nil {
		return nil, err
	}
	var want []index
	for line := range strings.Lines(freshIndexes) {
		definition := strings.TrimSpace(line)
		name, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(definition, "CREATE UNIQUE INDEX "),
			"CREATE INDEX "), " ON ")
		table, _, _ := strings.Cut(rest, " ")
		want = append(want, index{name, table, definition, true})
	}
	return compareIndexes(want, have, func(i index) string {
		return strings.Replace(i.definition, " INDEX ", " INDEX CONCURRENTLY ", 1) + "."
	}), nil
}

// schemaIndexes removes the schema's name from the definitions, which makes them comparable. An index that is being
// built, or whose build failed, is not valid.
func schemaIndexes(ctx context.Context, tx *sql.Tx) ([]index, error) {
	const query = `SELECT i.relname::text, c.relname::text, replace(pg_get_indexdef(x.indexrelid),
  ' ON ' || quote_ident(n.nspname) || '.', ' ON '), x.indisvalid AND x.indisready
 FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class c ON c.oid = x.indrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE ` + ourTables + ` ORDER BY i.relname`
	return list(ctx, tx, func(rows *sql.Rows) (i index, err error) {
		return i, rows.Scan(&i.name, &i.table, &i.definition, &i.valid)
	}, query)
}

// relation is a table or an index with its estimated size when new. The estimate is rough; only a large difference
// is reported.
type relation struct {
	name            string
	bytes, expected int64
	known           bool // statistics exist
}

// bloat reports relations with too much unused space. Without statistics, which the planner lacks then, too, a
// large relation is a separate warning.
func (s *server) bloat(kind string, all []relation, do func(name string) string) []Check {
	var checks []Check
	var bytes, waste int64
	for _, r := range all {
		bytes += r.bytes
		if !r.known {
			if r.bytes > s.Limits.WasteBytes {
				checks = append(checks, Check{Status: Warn,
					Seen: fmt.Sprintf("%s %s holds %s and has no statistics: plans may be bad", kind, r.name, size(r.bytes)),
					Do:   "Run ANALYZE; autovacuum does it where it is on."})
			}
			continue
		}
		w := max(r.bytes-r.expected, 0)
		waste += w
		// A small table is never worth the work, and a large one always has some free space.
		if w > s.Limits.WasteBytes && w*2 > r.bytes {
			checks = append(checks, Check{Status: Warn,
				Seen: fmt.Sprintf("%s %s takes %s, new it would take about %s", kind, r.name, size(r.bytes), size(r.expected)),
				Do:   do(r.name)})
		}
	}
	if len(checks) == 0 {
		return ok("%s in all, of which about %s hold nothing", size(bytes), size(waste))
	}
	return checks
}

// The estimates include the overhead per row: for a table a header of 24 bytes and a pointer of 4, for an index 8
// and 4, aligned to 8. A page has a header of 24 bytes and is filled up to the fill factor.
const (
	tableSizes = `SELECT c.relname::text, pg_relation_size(c.oid),
 coalesce(c.reltuples * (28 + ceil(w.width / 8) * 8) / ((b.size - 24) * f.fill / 100) * b.size, 0)::bigint,
  c.reltuples >= 0 AND w.width IS NOT NULL
 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 CROSS JOIN (SELECT current_setting('block_size')::float8 AS size) AS b
 CROSS JOIN LATERAL (SELECT coalesce((SELECT option_value::float8 FROM pg_options_to_table(c.reloptions)
  WHERE option_name = 'fillfactor'), 100) AS fill) AS f
 CROSS JOIN LATERAL (SELECT sum((1 - s.null_frac) * s.avg_width) AS width FROM pg_stats s
  WHERE s.schemaname = n.nspname AND s.tablename = c.relname) AS w
 WHERE ` + ourTables + ` ORDER BY c.relname`

	indexSizes = `SELECT i.relname::text, pg_relation_size(i.oid),
 coalesce(i.reltuples * (12 + ceil(w.width / 8) * 8) / ((b.size - 40) * 0.9) * b.size + 2 * b.size, 0)::bigint,
  i.reltuples >= 0 AND w.width IS NOT NULL
 FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class c ON c.oid = x.indrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 CROSS JOIN (SELECT current_setting('block_size')::float8 AS size) AS b
 CROSS JOIN LATERAL (SELECT sum((1 - s.null_frac) * s.avg_width) AS width FROM pg_attribute a
 JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = a.attname
 WHERE a.attrelid = c.oid AND a.attnum = ANY (x.indkey::int2[])) AS w
 WHERE ` + ourTables + ` ORDER BY i.relname`
)

// tableBloat ignores large values stored apart, which the statistics lack.
func (s *server) tableBloat(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	all, err := list(ctx, tx, scanRelation, tableSizes)
	if err != nil {
		return nil, err
	}
	return s.bloat("table", all, func(name string) string {
		return "First see to what holds vacuum back, if anything does; the room is then used again. To give it back, run " +
			"VACUUM FULL " + name + " with the servers stopped, or pg_repack."
	}), nil
}

func (s *server) indexBloat(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	all, err := list(ctx, tx, scanRelation, indexSizes)
	if err != nil {
		return nil, err
	}
	return s.bloat("index", all, func(name string) string {
		return "Run REINDEX INDEX CONCURRENTLY " + name + "; servers go on meanwhile."
	}), nil
}

func scanRelation(rows *sql.Rows) (r relation, err error) {
	return r, rows.Scan(&r.name, &r.bytes, &r.expected, &r.known)
}

// deadRows uses the server's statistics, which are estimates, perhaps some seconds old.
func (s *server) deadRows(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	const query = `SELECT relname::text, n_live_tup, n_dead_tup,
  extract(epoch FROM clock_timestamp() - greatest(last_autovacuum, last_vacuum))::float8
 FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname LIKE 'tasker\_%'
  ORDER BY n_dead_tup DESC, relname`
	type table struct {
		name       string
		live, dead int64
		vacuumed   sql.NullFloat64
	}
	all, err := list(ctx, tx, func(rows *sql.Rows) (t table, err error) {
		return t, rows.Scan(&t.name, &t.live, &t.dead, &t.vacuumed)
	}, query)
	if err != nil {
		return nil, err
	}
	var checks []Check
	var live, dead int64
	for _, t := range all {
		live, dead = live+t.live, dead+t.dead
		if t.dead <= s.Limits.DeadRows || t.dead*5 <= t.live {
			continue
		}
		last := "it was never vacuumed"
		if t.vacuumed.Valid {
			last = fmt.Sprintf("vacuumed %s ago", long(time.Duration(t.vacuumed.Float64*float64(time.Second))))
		}
		checks = append(checks, Check{Status: Warn,
			Seen: fmt.Sprintf("%s has %d dead rows beside %d live ones; %s", t.name, t.dead, t.live, last),
			Do: "If something holds vacuum back (transactions, slots), end that first. Then run VACUUM (ANALYZE) " + t.name +
				"; if it recurs, give autovacuum more workers."})
	}
	if len(checks) == 0 {
		return ok("%d dead rows beside %d live ones", dead, live), nil
	}
	return checks, nil
}

// autovacuum finds tables without it, perhaps after a forgotten maintenance. hurtful has the setting of the server.
func (s *server) autovacuum(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	const query = `SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE ` + ourTables + ` AND EXISTS (SELECT 1 FROM pg_options_to_table(c.reloptions)
  WHERE option_name = 'autovacuum_enabled' AND NOT option_value::bool) ORDER BY c.relname`
	off, err := list(ctx, tx, func(rows *sql.Rows) (name string, err error) { return name, rows.Scan(&name) }, query)
	if err != nil {
		return nil, err
	}
	var checks []Check
	for _, name := range off {
		checks = append(checks, Check{Status: Fail, Seen: "autovacuum is off for " + name + ": dead rows are never removed",
			Do: "Run ALTER TABLE " + name + " RESET (autovacuum_enabled)."})
	}
	if len(checks) == 0 {
		return ok("it is on for every table"), nil
	}
	return checks, nil
}
