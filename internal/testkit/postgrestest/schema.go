package postgrestest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	_ "github.com/taskerhq/tasker/embedded/postgres" // for nodes on its schemas
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// schema is used by tests in sequence.
type schema struct {
	name, dsn string
	conn      *pgx.Conn // for the borrower of the schema; connecting takes as long as emptying it

	made shape
	rows []string // statements that insert the rows of a new schema
	// guards are the triggers that refuse to delete rows, no matter who asks: those of the log of acts.
	guards []guard
}

// shape counts the objects of a schema. A schema with a changed one is not reused.
type shape struct{ Relations, Functions, Triggers, Guards int }

// guard is a trigger that fires in every session.
type guard struct{ Table, Trigger string }

const (
	// patience bounds making and emptying a schema, including the wait for a transaction that a test left open.
	patience = time.Minute
	// large is the size in bytes from which a table is truncated rather than deleted row by row.
	large = 256 << 10
	// prefix begins the names of schemas, with the time next. Schemas of processes that ended a lifetime ago are
	// dropped from a lasting server.
	prefix   = "kept_"
	lifetime = 3 * time.Hour
)

func create(server string) (*schema, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	name := fmt.Sprintf("%s%d_%s", prefix, time.Now().Unix(), strings.ToLower(rand.Text()[:12]))
	s := &schema{name: name, dsn: pgtest.WithSchema(server, name)}
	d, err := postgres.ParseDSN(s.dsn)
	if err != nil {
		return nil, err
	}
	m, done, err := postgres.Migrator(d)
	if err != nil {
		return nil, err
	}
	_, err = m.Up(ctx)
	if err := errors.Join(err, done()); err != nil {
		return nil, err
	}
	return s, s.on(ctx, func(tx pgx.Tx) error {
		if err := dropOutdated(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, leaveAlone); err != nil {
			return err
		}
		return s.learn(ctx, tx)
	})
}

// leaveAlone disables autovacuum: its statistics of one test would mislead the plans of the next, such as for a table
// that was empty.
const leaveAlone = `DO $$ DECLARE t regclass; BEGIN
  FOR t IN SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' LOOP
    EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', t);
  END LOOP;
END $$`

// on runs do in a transaction without our triggers and other schemas.
func (s *schema) on(ctx context.Context, do func(tx pgx.Tx) error) error {
	if s.conn == nil || s.conn.IsClosed() {
		d, err := postgres.ParseDSN(s.dsn)
		if err != nil {
			return err
		}
		if s.conn, err = pgx.ConnectConfig(ctx, d.Pool.ConnConfig); err != nil {
			return err
		}
	}
	return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		const alone = "SET LOCAL session_replication_role = replica; SET LOCAL lock_timeout = '20s'"
		if _, err := tx.Exec(ctx, alone); err != nil {
			return err
		}
		return do(tx)
	})
}

// dropOutdated drops the schemas of processes that ended long ago.
func dropOutdated(ctx context.Context, tx pgx.Tx) error {
	names, err := query(ctx, tx, pgx.RowTo[string], `SELECT nspname FROM pg_namespace
  WHERE nspname ~ $1 AND split_part(nspname, '_', 2)::bigint < $2`, "^"+prefix+"[0-9]+_", time.Now().Add(-lifetime).Unix())
	if err != nil || len(names) == 0 {
		return err
	}
	_, err = tx.Exec(ctx, "DROP SCHEMA IF EXISTS "+strings.Join(names, ", ")+" CASCADE")
	return err
}

// learn notes what the schema was made with.
func (s *schema) learn(ctx context.Context, tx pgx.Tx) error {
	tables, err := written(ctx, tx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		rows, err := query(ctx, tx, pgx.RowTo[string], `SELECT format('INSERT INTO %1$I SELECT * FROM json_populate_recordset(NULL::%1$I, %2$L)',
  $1::text, (SELECT json_agg(r) FROM (SELECT * FROM `+pgx.Identifier{t.Name}.Sanitize()+`) r))`, t.Name)
		if err != nil {
			return err
		}
		s.rows = append(s.rows, rows...)
	}
	s.guards, err = query(ctx, tx, pgx.RowToStructByName[guard], `SELECT c.relname AS table, t.tgname AS trigger
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
  WHERE c.relnamespace = current_schema()::regnamespace AND t.tgenabled = 'A' ORDER BY t.tgname`)
	if err != nil {
		return err
	}
	s.made, err = shapeOf(ctx, tx)
	return err
}

// empty restores a new schema's state. If more than rows have changed, it drops the schema and returns false.
func (s *schema) empty() (clean bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer func() {
		if s.conn != nil && (err != nil || !clean) {
			_ = s.conn.Close(ctx) // the schema is not used afterwards
		}
	}()
	err = s.on(ctx, func(tx pgx.Tx) error {
		now, err := shapeOf(ctx, tx)
		if err != nil {
			return err
		}
		if clean = now == s.made; !clean {
			_, err = tx.Exec(ctx, "DO $$ BEGIN EXECUTE format('DROP SCHEMA %I CASCADE', current_schema()); END $$")
			return err
		}
		tables, err := written(ctx, tx)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, strings.Join(append(s.emptying(tables), s.rows...), ";\n"))
		return err
	})
	return clean, err
}

type table struct {
	Name string
	Size int64
}

// written lists the tables that have, or had, rows, but for those that tell the schema's version.
func written(ctx context.Context, tx pgx.Tx) ([]table, error) {
	return query(ctx, tx, pgx.RowToStructByName[table], `SELECT relname AS name, pg_relation_size(oid) AS size FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 0
    AND relname <> 'tasker_migrations' ORDER BY relname`)
}

// emptying are the statements that empty tables and restart IDs at 1.
func (s *schema) emptying(tables []table) []string {
	var list, guarded []string
	for _, g := range s.guards {
		if slices.ContainsFunc(tables, func(t table) bool { return t.Name == g.Table }) {
			alter := "ALTER TABLE " + pgx.Identifier{g.Table}.Sanitize()
			list = append(list, alter+" DISABLE TRIGGER "+pgx.Identifier{g.Trigger}.Sanitize())
			guarded = append(guarded, alter+" ENABLE ALWAYS TRIGGER "+pgx.Identifier{g.Trigger}.Sanitize())
		}
	}
	list = append(list, `SELECT setval(quote_ident(schemaname) || '.' || quote_ident(sequencename), 1, false) FROM pg_sequences
  WHERE schemaname = current_schema() AND last_value IS NOT NULL`)
	for _, t := range tables {
		verb := "DELETE FROM "
		if t.Size > large {
			verb = "TRUNCATE "
		}
		list = append(list, verb+pgx.Identifier{t.Name}.Sanitize())
	}
	return append(list, guarded...)
}

func shapeOf(ctx context.Context, tx pgx.Tx) (shape, error) {
	list, err := query(ctx, tx, pgx.RowToStructByName[shape], `SELECT
  (SELECT count(*) FROM pg_class WHERE relnamespace = n.oid) AS relations,
  (SELECT count(*) FROM pg_proc WHERE pronamespace = n.oid) AS functions,
  (SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = n.oid) AS triggers,
  (SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = n.oid
    AND t.tgenabled = 'A') AS guards
FROM pg_namespace n WHERE nspname = current_schema()`)
	if err != nil {
		return shape{}, err
	}
	if len(list) != 1 {
		return shape{}, errors.New("the schema is gone")
	}
	return list[0], nil
}

func query[T any](ctx context.Context, tx pgx.Tx, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}
