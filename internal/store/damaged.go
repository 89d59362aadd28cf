package store

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// scan reads a row whose first column is its ID. It records an unreadable column in note and leaves its destination
// unchanged, unless it is the ID: one bad column must not hide others, nor other rows. The first attempt costs nothing
// extra; its error names the column.
func scan(row Row, dest []any, id *task.ID, note *string) error {
	err := row.Scan(dest...)
	if err == nil {
		return nil
	}
	loose := make([]any, len(dest))
	for i, d := range dest {
		loose[i] = &looseColumn{d, note}
	}
	// The ID is in dest too: the second attempt may have set it.
	if row.Scan(loose...) != nil || id.IsZero() {
		return err
	}
	return nil
}

func unread(note *string, part string, err error) {
	*note = strings.TrimPrefix(*note+"; "+part+" cannot be read: "+err.Error(), "; ")
}

// looseColumn accepts any value of a column, so that the driver continues with the next column.
type looseColumn struct {
	dest any
	note *string
}

var _ sql.Scanner = (*looseColumn)(nil)

func (c *looseColumn) Scan(v any) error {
	if err := c.assign(v); err != nil {
		unread(c.note, "a column", err)
	}
	return nil
}

// assign stores a value of the column's type, or returns why it cannot.
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
	// Other integer types do not occur; a new one is reported below.
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
