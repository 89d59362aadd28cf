package transfer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// database is one side of a copy, for one goroutine at a time.
type database struct {
	dialect

	reads *sql.Tx // the transaction of snapshot
	where string  // the path, or the DSN without its password
	// closers run in this order.
	closers []func() error
}

// dialect is the difference between the engines. Each writing method is one transaction, because PgBouncer gives no
// session.
type dialect interface {
	// begin starts a read-only transaction on one snapshot, without a time limit.
	begin(ctx context.Context) (*sql.Tx, error)
	// catalog describes the tables, columns sorted by name.
	catalog(ctx context.Context, tx *sql.Tx) ([]table, error)
	// read returns the expression that selects a column for decode.
	read(c column) string
	// decode converts a driver's value of read to the canonical form. An error means damage, or a wrong type.
	decode(c column, v any) (value, error)
	param(n int, c column) string
	// encode converts a canonical value to an argument. Conflict: this database cannot store it.
	encode(c column, v value) (any, error)
	// insert adds the rows with new keys in one transaction, and returns their number.
	insert(ctx context.Context, t *table, rows []row) (int64, error)
	// counter returns the last issued number for a table's key, 0 without a counter.
	counter(ctx context.Context, tx *sql.Tx, t *table) (int64, error)
	// advance raises counter to at least to, and never lowers it.
	advance(ctx context.Context, t *table, to int64) error
	// settled follows the copy of all tables.
	settled(ctx context.Context, tables []table) error
}

func (d *database) close() error {
	var errs []error
	for _, c := range d.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// All reads in fn see the same state. Snapshots of a database do not nest.
func (d *database) snapshot(ctx context.Context, fn func() error) error {
	tx, err := d.begin(ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", d.where, err)
	}
	d.reads = tx
	defer func() {
		_ = tx.Rollback() // read-only
		d.reads = nil
	}()
	return fn()
}

// page calls each with up to limit rows above the key after, in key order, and returns the last key, nil for none.
// Pages by key cost the same everywhere in a table. An error of each ends the page unchanged.
func (d *database) page(ctx context.Context, t *table, after row, limit int, each func(row) error) (row, error) {
	var conds []string
	var args []any
	if t.filter != "" {
		conds = append(conds, t.filter)
	}
	if after != nil {
		tuple, err := d.tuple(t, after, &args)
		if err != nil {
			return nil, err
		}
		conds = append(conds, "("+keys(t)+") > "+tuple)
	}
	query := d.selects(t, conds) + " ORDER BY " + keys(t) + fmt.Sprintf(" LIMIT %d", limit)
	var last row
	n := 0
	err := d.query(ctx, t, query, args, func(r row) error {
		n++
		last = r
		return each(r)
	})
	if err != nil || n == 0 {
		return nil, err
	}
	return t.keyOf(last), nil
}

// find returns the existing rows of given keys, at most lookupRows (each value is a parameter), by row.name of the
// key.
func (d *database) find(ctx context.Context, t *table, wanted []row) (map[string]row, error) {
	found := make(map[string]row, len(wanted))
	if len(wanted) == 0 {
		return found, nil
	}
	var tuples []string
	var args []any
	for _, key := range wanted {
		tuple, err := d.tuple(t, key, &args)
		if err != nil {
			return nil, err
		}
		tuples = append(tuples, tuple)
	}
	in := "(" + keys(t) + ") IN (VALUES " + strings.Join(tuples, ", ") + ")"
	err := d.query(ctx, t, d.selects(t, []string{in}), args, func(r row) error {
		found[t.keyOf(r).name()] = r
		return nil
	})
	return found, err
}

// keys qualifies the columns: in ORDER BY a bare name would mean the selected expression, which is text. They are
// in the order of the primary key's index.
func keys(t *table) string { return "t." + strings.Join(t.keyNames(), ", t.") }

func (d *database) tuple(t *table, key row, args *[]any) (string, error) {
	var params []string
	for i, k := range t.key {
		arg, err := d.encode(t.columns[k], key[i])
		if err != nil {
			return "", fmt.Errorf("%s (%s): %w", t.name, key.name(), err)
		}
		*args = append(*args, arg)
		params = append(params, d.param(len(*args), t.columns[k]))
	}
	return "(" + strings.Join(params, ", ") + ")", nil
}

// The columns are in table order, as decode expects.
func (d *database) selects(t *table, conds []string) string {
	cols := make([]string, len(t.columns))
	for i, c := range t.columns {
		cols[i] = d.read(c)
	}
	query := "SELECT " + strings.Join(cols, ", ") + " FROM " + t.name + " AS t"
	if len(conds) > 0 {
		query += " WHERE " + strings.Join(conds, " AND ")
	}
	return query
}

func (d *database) query(ctx context.Context, t *table, query string, args []any, each func(row) error) error {
	rows, err := d.reads.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", t.name, d.where, err)
	}
	defer rows.Close()
	raw := make([]any, len(t.columns))
	dest := make([]any, len(t.columns))
	for i := range raw {
		dest[i] = &raw[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return fmt.Errorf("read %s of %s: %w", t.name, d.where, err)
		}
		r := make(row, len(t.columns))
		for i, c := range t.columns {
			if r[i], err = d.decode(c, raw[i]); err != nil {
				return fmt.Errorf("read %s.%s of %s: %w", t.name, c.name, d.where, err)
			}
		}
		if err := each(r); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read %s of %s: %w", t.name, d.where, err)
	}
	return nil
}

// each pages within the snapshot, so concurrent writes do not appear.
func (d *database) each(ctx context.Context, t *table, fn func(row) error) error {
	var after row
	for {
		last, err := d.page(ctx, t, after, pageRows, fn)
		if err != nil || last == nil {
			return err
		}
		after = last
	}
}

func (d *database) sum(ctx context.Context, t *table) (*digest, error) {
	sum := &digest{}
	err := d.each(ctx, t, func(r row) error {
		sum.add(r)
		return nil
	})
	return sum, err
}

// number returns 0 for no row or NULL.
func number(ctx context.Context, tx *sql.Tx, query string, args ...any) (int64, error) {
	var n sql.NullInt64
	err := one(ctx, tx, query, args, &n)
	return n.Int64, err
}

func one(ctx context.Context, tx *sql.Tx, query string, args []any, dest ...any) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
	}
	return rows.Err()
}
