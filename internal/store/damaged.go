package store

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// scan reads a row whose first column is its ID. It leaves an unreadable column unchanged and records it, unless it is
// the ID: a row without a known ID cannot be shown, but one bad column must not hide the others, nor other rows.
// The first attempt is the usual one and costs nothing extra. note gets the reasons; the error is that of the first
// attempt, which names the column.
func scan(row Row, dest []any, id *task.ID, note *string) error {
	err := row.Scan(dest...)
	if err == nil {
		return nil
	}
	loose := make([]any, len(dest))
	for i, d := range dest {
		loose[i] = &looseColumn{d, note}
	}
	// The ID is in dest too: after the second attempt it is set if it could be read.
	if row.Scan(loose...) != nil || id.IsZero() {
		return err
	}
	return nil
}

// unread records the reason why a part of a row is unreadable.
// Reasons are separated by semicolons, since a row can have several faults.
func unread(note *string, part string, err error) {
	*note = strings.TrimPrefix(*note+"; "+part+" cannot be read: "+err.Error(), "; ")
}

// looseColumn is a destination that accepts any value of a column.
// It never fails, so that the driver continues with the next column.
type looseColumn struct {
	dest any
	note *string
}

var _ sql.Scanner = (*looseColumn)(nil)

// Scan implements sql.Scanner.
func (c *looseColumn) Scan(v any) error {
	if err := c.assign(v); err != nil {
		unread(c.note, "a column", err)
	}
	return nil
}

// assign stores a value if it has the column's type; if not, it returns why.
func (c *looseColumn) assign(v any) error {
	if d, ok := c.dest.(sql.Scanner); ok {
		return d.Scan(v)
	}
	n, ok := v.(int64)
	switch d := c.dest.(type) {
	case **int64:
		if v == nil {
			*d = nil
			return nil
		}
		*d = &n
	// Other types of Go integers do not occur among the destinations; a new one is reported below.
	case *int64:
		*d = n
	case *int:
		*d = int(n)
	case *task.Instant:
		*d = task.Instant(n)
	default:
		return fmt.Errorf("no way to scan into a %T", d)
	}
	if !ok {
		return fmt.Errorf("an integer column holds %T", v)
	}
	return nil
}
