package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// conn is the writer's connection. It uses the driver below database/sql, whose bookkeeping costs as much as a small
// statement. One goroutine at a time uses it. It keeps every statement prepared: the code has a bounded number of
// constants. All statements share args, so no two may be bound together.
type conn struct {
	c     driver.Conn
	stmts map[string]*stmt
	args  []driver.NamedValue
}

type stmt struct {
	s    driver.Stmt
	dest []driver.Value
}

func dial(d driver.Driver, dsn string) (*conn, error) {
	c, err := d.Open(dsn)
	if err != nil {
		return nil, classify(err)
	}
	return &conn{c: c, stmts: map[string]*stmt{}}, nil
}

// close finalizes the statements; otherwise SQLite would keep the file open.
func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.s.Close())
	}
	return errors.Join(append(errs, c.c.Close())...)
}

func (c *conn) prepare(query string) (*stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	s, err := c.c.(driver.ConnPrepareContext).PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	p := &stmt{s: s}
	c.stmts[query] = p
	return p, nil
}

// bind numbers the arguments. Their types are a closed list, so that a mistake fails the first test and is not
// converted. The slice is reused: the driver does not keep it.
func (c *conn) bind(args []any) ([]driver.NamedValue, error) {
	c.args = c.args[:0]
	for i, a := range args {
		switch v := a.(type) {
		case int:
			a = int64(v)
		case int64, string, nil, []byte, bool, float64:
		default:
			return nil, fmt.Errorf("argument %d is a %T", i+1, a)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args, nil
}

// Exec implements store.Conn. It ignores ctx: an interrupted statement would roll back the whole batch of writes.
func (c *conn) Exec(_ context.Context, query string, args ...any) (int64, error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, classify(err)
	}
	values, err := c.bind(args)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", query, err)
	}
	r, err := s.s.(driver.StmtExecContext).ExecContext(context.Background(), values)
	if err != nil {
		return 0, classify(err)
	}
	return r.RowsAffected()
}

// Send implements store.Conn. There is no round trip to save, so it does not wait for a later statement.
func (c *conn) Send(ctx context.Context, query string, args ...any) error {
	_, err := c.Exec(ctx, query, args...)
	return err
}

// errEnough ends a Query early, without a failure, instead of a LIMIT.
var errEnough = errors.New("enough rows")

// Query implements store.Conn. each must neither run the same statement again, whose rows are still being read, nor
// keep the row.
func (c *conn) Query(_ context.Context, query string, args []any, each func(store.Row) error) error {
	s, err := c.prepare(query)
	if err != nil {
		return classify(err)
	}
	values, err := c.bind(args)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	rows, err := s.s.(driver.StmtQueryContext).QueryContext(context.Background(), values)
	if err != nil {
		return classify(err)
	}
	defer rows.Close()
	// The columns of a statement never change, so one buffer serves all its runs.
	if s.dest == nil {
		s.dest = make([]driver.Value, len(rows.Columns()))
	}
	for {
		switch err := rows.Next(s.dest); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return classify(err)
		}
		if err := each(row(s.dest)); err != nil {
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		}
	}
}

type row []driver.Value

// Scan implements store.Row for the column types of rows.
func (r row) Scan(dest ...any) error {
	if len(dest) != len(r) {
		return fmt.Errorf("a row of %d columns, %d destinations", len(r), len(dest))
	}
	for i, v := range r {
		if err := assign(dest[i], v); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

// assign stores a column of the types that rows use; database/sql would use reflection.
func assign(dest any, v driver.Value) error {
	switch d := dest.(type) {
	case sql.Scanner:
		return d.Scan(v)
	case **int64:
		if v == nil {
			*d = nil
			return nil
		}
		n, ok := v.(int64)
		*d = &n
		return mustBeInt(ok, v)
	}
	n, ok := v.(int64)
	switch d := dest.(type) {
	case *int64:
		*d = n
	case *int:
		*d = int(n)
	case *task.Instant:
		*d = task.Instant(n)
	default:
		return fmt.Errorf("no way to scan into a %T", dest)
	}
	return mustBeInt(ok, v)
}

// mustBeInt reports a column that is no integer: SQLite stores any type in any column.
func mustBeInt(ok bool, v driver.Value) error {
	if !ok {
		return fmt.Errorf("an integer column holds %T", v)
	}
	return nil
}
