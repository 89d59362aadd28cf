package postgres

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/store"
)

// IDs grow with time, so an index by ID never reuses old places: only empty pages are used again. One task in a
// thousand that is in error, and therefore stays, keeps a page of each such index: 8 KiB instead of 28 bytes. Only a
// rebuild of the index helps, no vacuum.

const (
	// sparse is how many times the size of its entries an index may have. Deletions once a minute, and vacuum some time
	// later, make it two.
	sparse = 3
	// sparseFloor is a small index's allowance: no gain is worth a rebuild there.
	sparseFloor = 4 << 20
	// rebuildPatience bounds the wait for older transactions to end, which a rebuild needs. Meanwhile it keeps vacuum
	// away from the table.
	rebuildPatience = "3s"
)

// sparseIndex finds our index with the most room to gain. Only its owner can rebuild it. The number of entries is that
// of the last vacuum, or of the table's growth since.
const sparseIndex = `SELECT c.relname::text FROM (
 SELECT i.relname, pg_relation_size(i.oid) AS bytes,
  i.reltuples::float8 * greatest(1, pg_stat_get_live_tuples(t.oid) / nullif(t.reltuples, 0)::float8)
   * (12 + ceil(w.width / 8.0) * 8) AS dense
 FROM pg_class t JOIN pg_index x ON x.indrelid = t.oid JOIN pg_class i ON i.oid = x.indexrelid, LATERAL (
  SELECT sum(CASE WHEN a.attlen > 0 THEN a.attlen ELSE coalesce((SELECT max(p.avg_width) FROM pg_stats p
   WHERE p.schemaname = $1::text AND p.attname = a.attname AND p.tablename IN (t.relname, i.relname)), 32) END) AS width
  FROM pg_attribute a WHERE a.attrelid = i.oid) w
 WHERE t.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1::text) AND t.relkind = 'r'
  AND t.relname LIKE 'tasker\_%' AND i.reltuples >= 0 AND t.reltuples >= 0 AND x.indisvalid
  AND pg_has_role(i.relowner, 'USAGE')) c
 WHERE c.bytes > $2::bigint * c.dense + $3::bigint ORDER BY c.bytes - c.dense DESC LIMIT 1`

// brokenIndexes finds the remains of interrupted rebuilds.
const brokenIndexes = `SELECT i.relname::text FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
 WHERE i.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1::text) AND NOT x.indisvalid
  AND i.relname LIKE 'tasker\_%\_ccnew%' AND pg_has_role(i.relowner, 'USAGE')`

// RebuildIndex rebuilds one index that is mostly empty, and returns its name; "" for none. Readers and writers
// continue. An error leaves the index as it was. It does nothing behind a pooler, whose sessions are not ours to set.
func (s *Store) RebuildIndex(ctx context.Context) (string, error) {
	if s.settings != nil {
		return "", nil
	}
	broken, err := s.names(ctx, brokenIndexes, s.schema)
	if err != nil {
		return "", fmt.Errorf("look for broken indexes: %w", err)
	}
	for _, name := range broken {
		if err := s.patiently(ctx, "DROP INDEX CONCURRENTLY IF EXISTS "+quote(s.schema)+"."+quote(name)); err != nil {
			return "", fmt.Errorf("drop index %s: %w", name, err)
		}
	}
	found, err := s.names(ctx, sparseIndex, s.schema, sparse, sparseFloor)
	if err != nil {
		return "", fmt.Errorf("look for sparse indexes: %w", err)
	}
	if len(found) == 0 {
		return "", nil
	}
	name := found[0]
	if err := s.patiently(ctx, "REINDEX INDEX CONCURRENTLY "+quote(s.schema)+"."+quote(name)); err != nil {
		return "", fmt.Errorf("rebuild index %s: %w", name, err)
	}
	return name, nil
}

func (s *Store) names(ctx context.Context, query string, args ...any) ([]string, error) {
	var out []string
	err := s.Query(ctx, query, args, func(r store.Row) error {
		var name store.Text
		err := r.Scan(&name)
		out = append(out, string(name))
		return err
	})
	return out, err
}

// patiently runs a long statement outside of a transaction, on its own connection instead of the pool's.
func (s *Store) patiently(ctx context.Context, statement string) error {
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("get a connection: %w", err)
	}
	own := c.Hijack()
	defer hangUp(own)
	for _, sql := range []string{"SET lock_timeout = '" + rebuildPatience + "'", "SET statement_timeout = 0", statement} {
		if _, err := own.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
			return classify(err)
		}
	}
	return nil
}
