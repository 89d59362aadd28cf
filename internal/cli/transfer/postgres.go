package transfer

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/model/task"
)

// pg exchanges all values as text, which the server converts.
type pg struct {
	db     *sql.DB
	schema string // set for each transaction; "" if the session has it
}

var _ dialect = (*pg)(nil)

// Parameters are cast to the first type of a kind.
var pgTypes = map[kind][]string{
	integers: {"int8", "int4", "int2"}, texts: {"text"}, documents: {"json"}, ids: {"uuid"},
	blobs: {"bytea"},
}

// catalog skips generated columns and partitions, which the target computes.
func (p *pg) catalog(ctx context.Context, tx *sql.Tx) ([]table, error) {
	kinds := map[string]kind{}
	for k, types := range pgTypes {
		for _, typ := range types {
			kinds[typ] = k
		}
	}
	const query = `SELECT c.relname::text, a.attname::text, t.typname::text, coalesce(array_position(i.indkey::int2[],
  a.attnum), -1)
 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
 JOIN pg_type t ON t.oid = a.atttypid
 LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
 WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname LIKE 'tasker\_%'
 ORDER BY c.relname`
	return readCatalog(ctx, tx, query, kinds)
}

// REPEATABLE READ takes its snapshot with the first statement.
func (p *pg) begin(ctx context.Context) (*sql.Tx, error) {
	return p.transaction(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
}

// transaction has no time-out. Key order must use the index, whatever the statistics of a recently empty table say.
func (p *pg) transaction(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error) {
	tx, err := p.db.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	const settings = `SELECT set_config('statement_timeout', '0', true),
  set_config('idle_in_transaction_session_timeout', '0', true),
 set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
  set_config('enable_mergejoin', 'off', true), set_config('search_path', coalesce(nullif($1::text, ''),
  current_setting('search_path')), true)`
	if _, err := tx.ExecContext(ctx, settings, p.schema); err != nil {
		_ = tx.Rollback() // the first failure matters
		return nil, err
	}
	return tx, nil
}

// In one transaction an interrupted insert leaves nothing.
func (p *pg) write(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := p.transaction(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		_ = tx.Rollback() // the first failure matters
		return err
	}
	return tx.Commit()
}

// PostgreSQL's text of an integer or a UUID is canonical, and a json column keeps its text.
func (p *pg) read(c column) string {
	switch c.kind {
	case texts:
		return c.name
	case blobs:
		return "encode(" + c.name + ", 'hex')"
	default:
		return c.name + "::text"
	}
}

func (p *pg) decode(_ column, v any) (value, error) {
	switch v := v.(type) {
	case nil:
		return value{null: true}, nil
	case string:
		return value{text: v}, nil
	}
	return value{}, fmt.Errorf("the driver returns %T", v)
}

func (p *pg) param(n int, c column) string {
	return cast("$"+strconv.Itoa(n)+"::text", c.kind)
}

func cast(text string, k kind) string {
	if k == blobs {
		return "decode(" + text + ", 'hex')"
	}
	return text + "::" + pgTypes[k][0]
}

// SQLite accepts any bytes as text; PostgreSQL refuses NUL and invalid UTF-8, which stops the copy with the row's
// key.
func (p *pg) encode(_ column, v value) (any, error) {
	switch {
	case v.null:
		return nil, nil
	case strings.IndexByte(v.text, 0) >= 0:
		return nil, task.Errorf(task.Conflict, "the text holds a NUL character, which PostgreSQL cannot keep")
	case !utf8.ValidString(v.text):
		return nil, task.Errorf(task.Conflict, "the text is not UTF-8, which PostgreSQL insists on")
	}
	return v.text, nil
}

// insert sends each column as an array: two parameters per column instead of per value.
func (p *pg) insert(ctx context.Context, t *table, rows []row) (int64, error) {
	names, places := make([]string, len(t.columns)), make([]string, len(t.columns))
	fields, args := make([]string, len(t.columns)), make([]any, len(t.columns))
	for i, c := range t.columns {
		list := make([]*string, len(rows))
		for j, r := range rows {
			if _, err := p.encode(c, r[i]); err != nil {
				return 0, fmt.Errorf("%s of (%s): %w", c.name, t.keyOf(r).name(), err)
			}
			if !r[i].null {
				list[j] = &r[i].text
			}
		}
		names[i], args[i] = c.name, list
		places[i] = fmt.Sprintf("$%d::text[]", i+1)
		fields[i] = cast("u."+c.name, c.kind)
	}
	cols := strings.Join(names, ", ")
	query := "INSERT INTO " + t.name + " (" + cols + ") OVERRIDING SYSTEM VALUE SELECT " + strings.Join(fields, ", ") +
		" FROM unnest(" + strings.Join(places, ", ") + ") AS u(" + cols + ") ON CONFLICT DO NOTHING"
	var added int64
	err := p.write(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, query, args...)
		if err == nil {
			added, err = res.RowsAffected()
		}
		return err
	})
	return added, err
}

// sequence returns the quoted, qualified sequence of an identity column, "" for none.
func (p *pg) sequence(ctx context.Context, tx *sql.Tx, t *table) (string, error) {
	if len(t.key) != 1 || t.columns[t.key[0]].kind != integers {
		return "", nil
	}
	var name sql.NullString
	err := one(ctx, tx, `SELECT pg_get_serial_sequence($1::text, $2::text)`, []any{t.name, t.keyNames()[0]}, &name)
	return name.String, err
}

// is_called marks whether last_value was issued.
func (p *pg) counter(ctx context.Context, tx *sql.Tx, t *table) (int64, error) {
	seq, err := p.sequence(ctx, tx, t)
	if err != nil || seq == "" {
		return 0, err
	}
	return number(ctx, tx, `SELECT last_value FROM `+seq+` WHERE is_called`) // the name comes quoted
}

func (p *pg) advance(ctx context.Context, t *table, to int64) error {
	return p.write(ctx, func(tx *sql.Tx) error {
		seq, err := p.sequence(ctx, tx, t)
		if err != nil || seq == "" {
			return err
		}
		// Not every engine counts apart from the rows.
		query := `SELECT greatest(max(` + t.keyNames()[0] + `), $1::bigint, (SELECT last_value FROM ` + seq +
			` WHERE is_called)) FROM ` + t.name
		last, err := number(ctx, tx, query, to)
		// A sequence starts at 1; without rows it stays.
		if err != nil || last < 1 {
			return err
		}
		_, err = tx.ExecContext(ctx, `SELECT setval($1::text::regclass, $2::bigint)`, seq, last)
		return err
	})
}

// settled runs ANALYZE: without statistics the planner would read whole tables until autovacuum.
func (p *pg) settled(ctx context.Context, tables []table) error {
	return p.write(ctx, func(tx *sql.Tx) error {
		for _, t := range tables {
			if _, err := tx.ExecContext(ctx, "ANALYZE "+t.name); err != nil {
				return fmt.Errorf("analyze %s: %w", t.name, err)
			}
		}
		return nil
	})
}

// aliveNodes counts processes with a turn, which every running server has.
func aliveNodes(ctx context.Context, tx *sql.Tx) (int64, error) {
	const query = `SELECT count(DISTINCT node) FROM tasker_turns
  WHERE held_until > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
	n, err := number(ctx, tx, query)
	if err != nil {
		return 0, fmt.Errorf("look for servers: %w", err)
	}
	return n, nil
}
