package postgres

import (
	"database/sql"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// row is one row of a result, in binary format. It is valid until the next row is read; Scan stores copies.
type row struct {
	fields []pgconn.FieldDescription
	values [][]byte
}

var _ store.Row = row{}

// Scan implements store.Row for the column types of rows.
func (r row) Scan(dest ...any) error {
	if len(dest) != len(r.values) {
		return fmt.Errorf("a row of %d columns, %d destinations", len(r.values), len(dest))
	}
	for i, v := range r.values {
		if err := assign(dest[i], r.fields[i].DataTypeOID, v); err != nil {
			return fmt.Errorf("column %s: %w", r.fields[i].Name, err)
		}
	}
	return nil
}

// assign stores a column of the types that rows use; pgx's codecs would cost an interface call per value. A Text takes
// any column: the driver does not convert.
func assign(dest any, oid uint32, v []byte) error {
	switch d := dest.(type) {
	case *store.Text:
		*d = store.Text(v)
		return nil
	case *store.JSON:
		*d = nil
		if v != nil {
			*d = append(make(store.JSON, 0, len(v)), v...)
		}
		return nil
	case *scanID:
		return d.assign(v)
	case **int64:
		*d = nil
		if v == nil {
			return nil
		}
		n, err := integer(oid, v)
		*d = &n
		return err
	}
	n, err := integer(oid, v)
	if err != nil {
		return err
	}
	switch d := dest.(type) {
	case *int64:
		*d = n
	case *int:
		*d = int(n)
	case *uint32:
		*d = uint32(n)
	case *task.Instant:
		*d = task.Instant(n)
	default:
		return fmt.Errorf("no way to scan into a %T", dest)
	}
	return nil
}

// integer decodes an integer of any width. A transaction ID is unsigned; its conversion through int32 and back to
// uint32 keeps the bits.
func integer(oid uint32, v []byte) (int64, error) {
	switch {
	case oid == pgtype.Int8OID && len(v) == 8:
		return int64(binary.BigEndian.Uint64(v)), nil
	case (oid == pgtype.Int4OID || oid == pgtype.XIDOID) && len(v) == 4:
		return int64(int32(binary.BigEndian.Uint32(v))), nil
	case oid == pgtype.Int2OID && len(v) == 2:
		return int64(int16(binary.BigEndian.Uint16(v))), nil
	default:
		return 0, fmt.Errorf("type %d with %d bytes is no integer", oid, len(v))
	}
}

// scanID sets an ID from a uuid; NULL is the zero ID.
type scanID struct{ dst *task.ID }

func (s *scanID) assign(v []byte) error {
	switch len(v) {
	case 0:
		*s.dst = task.ID{}
	case len(s.dst):
		copy(s.dst[:], v)
	default:
		return fmt.Errorf("%d bytes are no uuid", len(v))
	}
	return nil
}

func (s *scanID) Scan(v any) error {
	b, ok := v.([]byte)
	if v != nil && !ok {
		return fmt.Errorf("an ID column holds %T", v)
	}
	return s.assign(b)
}

// dialect stores an ID as a uuid, for the encoder as a task.ID.
func dialect() store.Dialect {
	return store.Dialect{
		ID:       func(id task.ID) any { return id },
		ScanID:   func(id *task.ID) sql.Scanner { return &scanID{id} },
		Lock:     " FOR UPDATE",
		Arrays:   true,
		Contains: func(column, arg string) string { return "position(" + arg + " IN " + column + ") > 0" },
		// no index contains a state of the normal path: rows that pass through it are updated in place
		StateColumn: func(st task.State) string {
			if st == task.StepsInProcess || st == task.Complete {
				return ""
			}
			return "notable_state"
		},
	}
}
